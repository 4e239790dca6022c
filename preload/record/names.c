/* What the program calls its threads, streams and devices: for the first line of the trace. */
#include <string.h>

#include "common/jsonl_text.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"

enum { NAMES_MAX = 1024, NAME_BYTES = 128, IDENTITY_BYTES = 40, FRAME_BYTES = 48 };

static struct given_name {
    const char *kind;
    char identity[IDENTITY_BYTES];
    uint32_t length;
    char name[NAME_BYTES];
} names[NAMES_MAX];
static uint32_t count;
static bool frozen;

void names_reset(void)
{
    lock_take(&record_page->names_lock);
    frozen = false;
    lock_give(&record_page->names_lock);
}

void names_freeze(void)
{
    lock_take(&record_page->names_lock);
    frozen = true;
    lock_give(&record_page->names_lock);
}

void record_name(const char *kind, const char *identity, const char *name, size_t length)
{
    uint32_t i = 0;

    if (strlen(identity) >= IDENTITY_BYTES) return;
    length = jsonl_prefix(name, length, NAME_BYTES);
    lock_take(&record_page->names_lock);
    while (i < count && (strcmp(names[i].kind, kind) != 0 || strcmp(names[i].identity, identity) != 0))
        i++;
    if (!frozen && i < NAMES_MAX) {
        if (i == count) {
            names[i].kind = kind;
            strcpy(names[i].identity, identity);
        }
        /* A child that is forked in between has no name of it, not half of one. */
        names[i].length = 0;
        atomic_signal_fence(memory_order_release);
        memcpy(names[i].name, name, length);
        atomic_signal_fence(memory_order_release);
        names[i].length = (uint32_t)length;
        if (i == count) count++;
    }
    lock_give(&record_page->names_lock);
}

size_t names_bound(void)
{
    return 16 + count * (size_t)(6 * NAME_BYTES + 6 * IDENTITY_BYTES + FRAME_BYTES);
}

char *names_write(char *out)
{
    *out++ = '[';
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) *out++ = ',';
        out = jsonl_literal(out, "{\"kind\":");
        out = jsonl_string(out, names[i].kind, strlen(names[i].kind));
        out = jsonl_literal(out, ",\"id\":");
        out = jsonl_string(out, names[i].identity, strlen(names[i].identity));
        out = jsonl_literal(out, ",\"name\":");
        out = jsonl_string(out, names[i].name, names[i].length);
        *out++ = '}';
    }
    *out++ = ']';
    return out;
}
