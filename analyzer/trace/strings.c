#include "analyzer/trace/strings.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/block.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_BYTES = 1 << 16, FIRST_STRINGS = 1 << 10, FIRST_SLOTS = 1 << 11 };

struct cg_strings *strings_new(void)
{
    struct cg_strings *strings = calloc(1, sizeof *strings);
    if (strings == NULL) return NULL;
    strings->size = FIRST_BYTES;
    strings->bytes = block_resize(NULL, FIRST_BYTES);
    strings->capacity = FIRST_STRINGS;
    strings->offset = block_resize(NULL, (FIRST_STRINGS + 1) * sizeof *strings->offset);
    strings->slots = block_zeroed(FIRST_SLOTS * sizeof *strings->slots);
    strings->slot_mask = FIRST_SLOTS - 1;
    if (strings->bytes == NULL || strings->offset == NULL || strings->slots == NULL) {
        strings_free(strings);
        return NULL;
    }
    strings->offset[0] = 0;
    return strings;
}

void strings_free(struct cg_strings *strings)
{
    if (strings == NULL) return;
    if (strings->borrowed) {
        free(strings);
        return;
    }
    block_free(strings->bytes);
    block_free(strings->offset);
    block_free(strings->slots);
    free(strings);
}

uint32_t strings_hash_long(const void *bytes, size_t length)
{
    return (uint32_t)XXH3_64bits(bytes, length);
}

static inline uint64_t eight(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint32_t four(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Without a call, since nearly all texts are short and the search would have to keep its registers from it.
 * The last comparison overlaps the one before. */
static inline bool same_bytes(const char *a, const char *b, size_t length)
{
    if (length < 8) {
        if (length >= 4) return four(a) == four(b) && four(a + length - 4) == four(b + length - 4);
        while (length > 0 && a[length - 1] == b[length - 1])
            length--;
        return length == 0;
    }
    size_t last = length - 8;
    for (size_t at = 0; at < last; at += 8)
        if (eight(a + at) != eight(b + at)) return false;
    return eight(a + last) == eight(b + last);
}

static inline bool same_text(const struct cg_strings *strings, cg_str number, const char *bytes,
                             size_t length)
{
    const uint64_t *end = &strings->offset[number];
    return end[0] - end[-1] == length && same_bytes(strings->bytes + end[-1], bytes, length);
}

bool strings_is(const struct cg_strings *strings, cg_str candidate, const char *bytes, size_t length)
{
    return candidate != CG_ABSENT && same_text(strings, candidate, bytes, length);
}

/* The slot that holds the text, or the free one where it belongs. A line at a time: from slot to slot, each
 * miss of a branch cost as much as all of that. */
static inline size_t probe(const struct cg_strings *strings, uint32_t hash, const char *bytes, size_t length)
{
    for (size_t first = strings_slot(strings, hash);; first = (first + STRINGS_LINE) & strings->slot_mask) {
        const uint64_t *line = &strings->slots[first];
        for (unsigned equal = strings_equal(line, true, hash); equal != 0; equal &= equal - 1) {
            unsigned slot = (unsigned)__builtin_ctz(equal);
            cg_str number = (cg_str)line[slot];
            if (number != CG_ABSENT && same_text(strings, number, bytes, length)) return first + slot;
        }
        if (line[STRINGS_LINE - 1] == 0)
            return first + (unsigned)__builtin_ctz(strings_equal(line, false, CG_ABSENT));
    }
}

/* Where one that is not there belongs. */
static inline size_t free_slot(const uint64_t *slots, size_t mask, uint32_t hash)
{
    size_t slot = hash & mask & ~(size_t)(STRINGS_LINE - 1);
    while (slots[slot] != 0)
        slot = (slot + 1) & mask;
    return slot;
}

/* A new text needs no comparison in the larger table: the texts of the old one differ. */
static bool grow_slots(struct cg_strings *strings)
{
    size_t size = (strings->slot_mask + 1) * 2;
    uint64_t *slots = block_zeroed(size * sizeof *slots);
    if (slots == NULL) return false;
    for (size_t old = 0; old <= strings->slot_mask; old++) {
        if (strings->slots[old] == 0) continue;
        slots[free_slot(slots, size - 1, (uint32_t)(strings->slots[old] >> 32))] = strings->slots[old];
    }
    block_free(strings->slots);
    strings->slots = slots;
    strings->slot_mask = size - 1;
    return true;
}

/* Copies of its own of the texts and where they stand. */
static bool own_texts(struct cg_strings *strings)
{
    size_t offsets = ((size_t)strings->count + 1) * sizeof *strings->offset;
    char *bytes = block_resize(NULL, strings->used + 1);
    uint64_t *offset = block_resize(NULL, offsets);
    if (bytes == NULL || offset == NULL) {
        block_free(bytes);
        block_free(offset);
        return false;
    }
    memcpy(bytes, strings->bytes, strings->used);
    memcpy(offset, strings->offset, offsets);
    strings->bytes = bytes;
    strings->size = strings->used + 1;
    strings->offset = offset;
    strings->capacity = strings->count;
    return true;
}

/* The table with its hashes again. */
static bool reopen(struct cg_strings *strings)
{
    uint64_t *slots = block_zeroed((strings->slot_mask + 1) * sizeof *slots);
    if (slots == NULL) return false;
    for (cg_str string = 1; string <= strings->count; string++) {
        struct cg_text text = strings_text(strings, string);
        uint32_t hash = strings_hash(text.bytes, text.length);
        slots[free_slot(slots, strings->slot_mask, hash)] = (uint64_t)hash << 32 | string;
    }
    if (strings->borrowed && !own_texts(strings)) {
        block_free(slots);
        return false;
    }
    if (!strings->borrowed) block_free(strings->numbers);
    strings->slots = slots;
    strings->finished = false;
    strings->borrowed = false;
    return true;
}

static bool reserve(struct cg_strings *strings, size_t length)
{
    if (length > strings->size - strings->used) {
        size_t size = strings->size * 2 > strings->used + length ? strings->size * 2 : strings->used + length;
        char *bytes = block_resize(strings->bytes, size);
        if (bytes == NULL) return false;
        strings->bytes = bytes;
        strings->size = size;
    }
    if (strings->count == strings->capacity) {
        uint32_t capacity = strings->capacity > UINT32_MAX / 2 ? UINT32_MAX - 1 : strings->capacity * 2;
        if (strings->count == capacity) return false;
        uint64_t *offset = block_resize(strings->offset, ((size_t)capacity + 1) * sizeof *offset);
        if (offset == NULL) return false;
        strings->offset = offset;
        strings->capacity = capacity;
    }
    return true;
}

/* A text that is new, for the free slot where it belongs. Out of the way of those that are known. */
static __attribute__((noinline)) cg_str add(struct cg_strings *strings, size_t slot, uint32_t hash,
                                            const char *bytes, size_t length)
{
    if (!reserve(strings, length)) return CG_ABSENT;
    /* At most half full. */
    if (strings->count > strings->slot_mask / 2) {
        if (!grow_slots(strings)) return CG_ABSENT;
        slot = probe(strings, hash, bytes, length);
    }
    memcpy(strings->bytes + strings->used, bytes, length);
    strings->used += length;
    strings->count++;
    strings->offset[strings->count] = strings->used;
    strings->slots[slot] = (uint64_t)hash << 32 | strings->count;
    return strings->count;
}

static __attribute__((noinline, cold)) cg_str intern_again(struct cg_strings *strings, uint32_t hash,
                                                           const char *bytes, size_t length)
{
    return reopen(strings) ? strings_intern(strings, hash, bytes, length) : CG_ABSENT;
}

cg_str strings_intern(struct cg_strings *strings, uint32_t hash, const char *bytes, size_t length)
{
    if (__builtin_expect(strings->finished, 0)) return intern_again(strings, hash, bytes, length);
    size_t slot = probe(strings, hash, bytes, length);
    cg_str number = (cg_str)strings->slots[slot];
    return number != CG_ABSENT ? number : add(strings, slot, hash, bytes, length);
}

cg_str strings_find(const struct cg_strings *strings, const char *bytes, size_t length)
{
    if (strings->finished) {
        size_t slot = strings_slot(strings, strings_hash(bytes, length));
        for (; strings->numbers[slot] != CG_ABSENT; slot = (slot + 1) & strings->slot_mask) {
            struct cg_text text = strings_text(strings, strings->numbers[slot]);
            if (text.length == length && memcmp(text.bytes, bytes, length) == 0) break;
        }
        return strings->numbers[slot];
    }
    return (cg_str)strings->slots[probe(strings, strings_hash(bytes, length), bytes, length)];
}

void strings_finish(struct cg_strings *strings)
{
    char *bytes = block_resize(strings->bytes, strings->used + 1);
    if (bytes != NULL) {
        strings->bytes = bytes;
        strings->size = strings->used + 1;
    }
    uint64_t *offset = block_resize(strings->offset, ((size_t)strings->count + 1) * sizeof *offset);
    if (offset != NULL) {
        strings->offset = offset;
        strings->capacity = strings->count;
    }
    if (strings->finished) return;
    /* Without the hashes the same table takes half: each number moves to the front or stays. */
    size_t slots = strings->slot_mask + 1;
    for (size_t i = 0; i < slots; i++)
        strings->numbers[i] = (cg_str)strings->slots[i];
    strings->finished = true;
    cg_str *numbers = block_resize(strings->numbers, slots * sizeof *numbers);
    if (numbers != NULL) strings->numbers = numbers;
}
