/* Strings: kernel and range names, streams. Each stands once in the process' own memory, under a number that
 * it keeps there for good: so what is remembered of it stays right from one session to the next, in a forked
 * child, and for a thread that a session has ended under. An open session's capture file has them all too,
 * under the same numbers. Looking one up takes no lock; adding one does. */
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/event_table.h"
#include "preload/record/lock.h"
#include "preload/record/recent.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/unnoticed.h"

enum { TABLE_SLOTS = 1 << 17, ALLOCATE_BYTES = 256 << 10 };

/* Open addressing, linear probing; a slot is hash << 32 | number, 0 when empty. Slots are only ever filled.
 */
static _Atomic uint64_t *table;
static uint32_t table_used;
/* Under strings_lock, as all that changes below. */
static char *area;    /* STRINGS_BYTES of address space; what is used of it takes memory */
static uint64_t used; /* bytes */
/* The capture file of the session, while record_page->strings_in_file: never the parent's of a forked child,
 * which may meet strings before it has a session. Bytes that the file system has promised. */
static char *file_area;
static uint64_t promised;

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

/* Has the file system promise the file's area up to end. */
static bool promise(uint64_t end)
{
    uint64_t more = end - promised > ALLOCATE_BYTES ? end - promised : ALLOCATE_BYTES;

    if (end <= promised) return true;
    if (more > STRINGS_BYTES - promised) more = STRINGS_BYTES - promised;
    if (file_allocate(&session.capture, session.header->strings_offset + promised, more)) return false;
    promised += more;
    return true;
}

static void remember(uint32_t hash, uint32_t at, uint32_t number)
{
    table_used++;
    /* Release: the string's bytes come before the slot that tells of them. */
    atomic_store_explicit(&table[at], (uint64_t)hash << 32 | number, memory_order_release);
}

/* Appends without looking whether it is known; 0: no room. Called with strings_lock held. */
static uint32_t append(const char *bytes, size_t length, unsigned step)
{
    uint64_t offset = used, end = offset + CAP_STRING_BYTES(length);
    uint32_t head = CAP_STRING_HEAD(length, step);

    if (end > STRINGS_BYTES || (record_page->strings_in_file && !promise(end))) return 0;
    memcpy(area + offset, &head, 4);
    memcpy(area + offset + 4, bytes, length);
    used = end;
    if (record_page->strings_in_file) {
        memcpy(file_area + offset, area + offset, end - offset);
        /* Release: the bytes come before the length of the area that holds them. */
        atomic_store_explicit(&session.header->strings_used, end, memory_order_release);
    }
    return (uint32_t)(offset / 8);
}

static void *map(size_t bytes)
{
    ERRNO_KEPT;
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static bool make(void)
{
    bool made = true;

    if (!table) table = map(TABLE_SLOTS * sizeof *table);
    if (!area) area = map(STRINGS_BYTES);
    if (!table || !area) return false;
    append("", 0, 0);
    session.api_first = (uint32_t)(used / 8);
    for (uint32_t i = 0; made && i < hook_api_count; i++)
        made = append(hook_api_names[i], strlen(hook_api_names[i]), 0) != 0;
    /* Release: what record_text() and span_step() read there. */
    if (made) atomic_store_explicit(&session.strings, area, memory_order_release);
    return made;
}

bool strings_ready(void)
{
    bool ready = atomic_load_explicit(&session.strings, memory_order_acquire) != NULL;

    if (ready) return true;
    lock_take(&record_page->strings_lock);
    ready = session.strings != NULL || make();
    lock_give(&record_page->strings_lock);
    return ready;
}

bool strings_attach(void)
{
    bool room;

    lock_take(&record_page->strings_lock);
    promised = 0;
    room = promise(used);
    record_page->strings_in_file = room;
    if (room) {
        file_area = (char *)session.header + session.header->strings_offset;
        memcpy(file_area, area, used);
        atomic_store_explicit(&session.header->strings_used, used, memory_order_release);
    }
    lock_give(&record_page->strings_lock);
    return room;
}

void strings_detach(void)
{
    lock_take(&record_page->strings_lock);
    record_page->strings_in_file = false;
    lock_give(&record_page->strings_lock);
}

/* Whether there is, or may be, a use for strings. */
static bool wanted(void)
{
    return atomic_load_explicit(&record_page->state, memory_order_acquire) <= SESSION_LAST_LIVE &&
           !session.settings.disable && session.settings_good && strings_ready();
}

uint32_t record_string(const char *bytes, size_t length)
{
    uint32_t hash, at, number;

    if (!length || !wanted()) return 0;
    if (length > CAP_STRING_MAX) length = CAP_STRING_MAX;
    hash = (uint32_t)XXH64(bytes, length, 0);
    if ((number = find(hash, bytes, length, &at)) != 0) return number;
    lock_take(&record_page->strings_lock);
    number = find(hash, bytes, length, &at);
    if (!number && table_used < TABLE_SLOTS / 2) {
        number = append(bytes, length, step_of(bytes, length));
        if (number) remember(hash, at, number);
    }
    lock_give(&record_page->strings_lock);
    return number;
}

_Thread_local struct record_recent record_recent[RECORD_RECENT] __attribute__((tls_model("initial-exec")));

uint32_t record_recent_compare(const struct record_recent *recent, const char *text)
{
    uint32_t number = record_recent_number(recent), head;
    const char *known;
    size_t length;

    if (!number) return 0;
    known = session.strings + (uint64_t)number * 8;
    memcpy(&head, known, 4);
    length = CAP_STRING_LENGTH(head);
    /* Reads no further than to the end of either. */
    return strncmp(text, known + 4, length) == 0 && text[length] == '\0' ? number : 0;
}

/* The next time it is known. Inside of a call only: a handler's, which comes between, writes none then. */
static void remember_text(const char *text, size_t length, uint32_t number)
{
    struct record_recent recent = {.number = number}, *place = record_recent_place(text);

    if (RECORD_RECENT_WIDE && length < sizeof recent.bytes) {
        /* Not from the text, which may be another by now. */
        memcpy(recent.bytes, session.strings + (uint64_t)number * 8 + 4, length);
        recent.behind = (uint16_t)(~0u << (length + 1));
        recent.how = (signed char)recent.bytes[0] > ' ' ? RECORD_RECENT_CERTAIN : RECORD_RECENT_AT_ONCE;
        recent.own_step = span_step(number);
    }
    place->text = record_recent_none(place);
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(place->bytes, recent.bytes, sizeof place->bytes);
    place->behind = recent.behind;
    place->how = recent.how;
    place->own_step = recent.own_step;
    place->number = number;
    atomic_signal_fence(memory_order_seq_cst);
    place->text = text;
}

uint32_t record_text(const char *text)
{
    uint32_t number;
    size_t length;

    if (!text) return 0;
    if (likely((number = record_text_known(text)) != 0)) return number;
    length = strnlen(text, CAP_STRING_MAX);
    number = record_string(text, length);
    if (number) remember_text(text, length, number);
    return number;
}

void record_string_copy(uint32_t number, char *out, size_t size)
{
    const char *known = strings_ready() ? session.strings + (uint64_t)number * 8 : "\0\0\0";
    uint32_t head;
    size_t length;

    memcpy(&head, known, 4);
    length = CAP_STRING_LENGTH(head) < size ? CAP_STRING_LENGTH(head) : size - 1;
    memcpy(out, known + 4, length);
    out[length] = '\0';
}
