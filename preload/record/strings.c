/* Strings of the session: kernel and range names, streams. Each stands once in the capture file's string area
 * and is known by its number. Looking one up takes no lock; adding one does. */
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/event_table.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"

enum { TABLE_SLOTS = 1 << 17, ALLOCATE_BYTES = 256 << 10 };

/* Open addressing, linear probing; a slot is hash << 32 | number, 0 when empty. Slots are only ever filled.
 */
static _Atomic uint64_t *table;
static uint32_t table_used;
static uint64_t allocated; /* bytes of the area that the file system has promised */

bool strings_reset(void)
{
    if (table) munmap(table, TABLE_SLOTS * sizeof *table);
    table =
        mmap(NULL, TABLE_SLOTS * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) table = NULL;
    table_used = 0;
    allocated = 0;
    return table != NULL;
}

/* What the last part of a path such as trainer/update-10/forward says about a training step. */
static unsigned step_of(const char *name, size_t length)
{
    size_t begin = length;

    while (begin > 0 && name[begin - 1] != '/')
        begin--;
    for (unsigned step = 0; step < CG_STEP_COUNT; step++)
        if (length - begin == strlen(cg_name_STEP[step]) &&
            memcmp(name + begin, cg_name_STEP[step], length - begin) == 0)
            return step + 1;
    return 0;
}

static bool equals(uint32_t number, const char *bytes, size_t length)
{
    uint32_t head;

    memcpy(&head, session.strings + (uint64_t)number * 8, 4);
    return CAP_STRING_LENGTH(head) == length &&
           memcmp(session.strings + (uint64_t)number * 8 + 4, bytes, length) == 0;
}

/* The number, or 0 and *at the empty slot where the string would go. */
static uint32_t find(uint32_t hash, const char *bytes, size_t length, uint32_t *at)
{
    for (uint32_t i = hash & (TABLE_SLOTS - 1);; i = (i + 1) & (TABLE_SLOTS - 1)) {
        /* Acquire: the string's bytes were stored before the slot that tells of them. */
        uint64_t slot = atomic_load_explicit(&table[i], memory_order_acquire);

        if (!slot) {
            *at = i;
            return 0;
        }
        if (slot >> 32 == hash && equals((uint32_t)slot, bytes, length)) return (uint32_t)slot;
    }
}

/* Has the file system promise the area up to end. */
static bool allocate(uint64_t end)
{
    uint64_t more = end - allocated > ALLOCATE_BYTES ? end - allocated : ALLOCATE_BYTES;

    if (end <= allocated) return true;
    if (more > session.header->strings_bytes - allocated) more = session.header->strings_bytes - allocated;
    if (file_allocate(&session.capture, session.header->strings_offset + allocated, more)) return false;
    allocated += more;
    return true;
}

static void remember(uint32_t hash, uint32_t at, uint32_t number)
{
    table_used++;
    /* Release: the string's bytes come before the slot that tells of them. */
    atomic_store_explicit(&table[at], (uint64_t)hash << 32 | number, memory_order_release);
}

bool strings_inherit(const char *strings, uint64_t bytes)
{
    uint32_t head, at;

    if (!allocate(bytes)) return false;
    memcpy(session.strings, strings, bytes);
    atomic_store_explicit(&session.header->strings_used, bytes, memory_order_release);
    for (uint64_t offset = 0; offset < bytes && table_used < TABLE_SLOTS / 2;
         offset += CAP_STRING_BYTES(CAP_STRING_LENGTH(head))) {
        const char *string = session.strings + offset + 4;

        memcpy(&head, session.strings + offset, 4);
        uint32_t hash = (uint32_t)XXH64(string, CAP_STRING_LENGTH(head), 0);
        if (offset > 0 && !find(hash, string, CAP_STRING_LENGTH(head), &at))
            remember(hash, at, (uint32_t)(offset / 8));
    }
    return true;
}

uint32_t strings_append(const char *bytes, size_t length, unsigned step)
{
    uint64_t offset = atomic_load_explicit(&session.header->strings_used, memory_order_relaxed);
    uint64_t end = offset + CAP_STRING_BYTES(length);
    uint32_t head = CAP_STRING_HEAD(length, step);

    if (end > session.header->strings_bytes || !allocate(end)) return 0;
    memcpy(session.strings + offset, &head, 4);
    memcpy(session.strings + offset + 4, bytes, length);
    /* Release: the bytes come before the length of the area that holds them. */
    atomic_store_explicit(&session.header->strings_used, end, memory_order_release);
    return (uint32_t)(offset / 8);
}

uint32_t record_string(const char *bytes, size_t length)
{
    uint32_t hash, at, number;

    if (!length || atomic_load_explicit(&record_page->state, memory_order_acquire) != SESSION_OPEN) return 0;
    if (length > CAP_STRING_MAX) length = CAP_STRING_MAX;
    hash = (uint32_t)XXH64(bytes, length, 0);
    if ((number = find(hash, bytes, length, &at)) != 0) return number;
    lock_take(&record_page->strings_lock);
    number = find(hash, bytes, length, &at);
    if (!number && table_used < TABLE_SLOTS / 2) {
        number = strings_append(bytes, length, step_of(bytes, length));
        if (number) remember(hash, at, number);
    }
    lock_give(&record_page->strings_lock);
    return number;
}

/* What the thread has met lately, by address. The bytes there may have changed since: they are compared. */
enum { RECENT = 32 };
static _Thread_local struct {
    const char *text;
    uint32_t generation; /* low bits of the session's */
    uint32_t number;
} recent[RECENT] __attribute__((tls_model("initial-exec")));

uint32_t record_text(const char *text)
{
    uint32_t generation = (uint32_t)atomic_load_explicit(&record_page->generation, memory_order_relaxed);
    unsigned at = (unsigned)((uintptr_t)text >> 2 ^ (uintptr_t)text >> 9) % RECENT;
    uint32_t head;
    size_t length;

    if (!text) return 0;
    if (likely(recent[at].text == text && recent[at].generation == generation)) {
        const char *known = session.strings + (uint64_t)recent[at].number * 8;

        memcpy(&head, known, 4);
        length = CAP_STRING_LENGTH(head);
        /* Reads no further than to the end of either. */
        if (likely(strncmp(text, known + 4, length) == 0 && text[length] == '\0')) return recent[at].number;
    }
    recent[at].number = record_string(text, strnlen(text, CAP_STRING_MAX));
    recent[at].generation = generation;
    recent[at].text = recent[at].number ? text : NULL;
    return recent[at].number;
}

void record_string_copy(uint32_t number, char *out, size_t size)
{
    const char *known = session.strings + (uint64_t)number * 8;
    uint32_t head;
    size_t length;

    memcpy(&head, known, 4);
    length = CAP_STRING_LENGTH(head) < size ? CAP_STRING_LENGTH(head) : size - 1;
    memcpy(out, known + 4, length);
    out[length] = '\0';
}
