/* Interned strings: each text once, named by a number from 1. */
#ifndef CGTRACE_ANALYZER_TRACE_STRINGS_H
#define CGTRACE_ANALYZER_TRACE_STRINGS_H

#include <string.h>

#include "analyzer/trace/trace.h"

struct cg_strings {
    char *bytes; /* all texts, one after the other */
    size_t used, size;
    uint64_t *offset; /* text n is bytes[offset[n - 1]] up to bytes[offset[n]] */
    uint32_t count, capacity;
    union {
        uint64_t *slots; /* open addressing, linear probing: low half of the hash << 32 | number; 0 is free */
        cg_str *numbers; /* the same table without the hashes, once it is finished */
    };
    size_t slot_mask;
    bool finished;
    bool
        borrowed; /* all arrays belong to somebody else until something new is interned; only when finished */
};

/* NULL when memory is short. */
struct cg_strings *strings_new(void);
void strings_free(struct cg_strings *strings);

/* What a table of strings or lists is searched by. Up to 16 bytes, as nearly all have, it is the folded
 * product of their two ends, which overlap (Wang Yi, wyhash): 12 instructions where XXH3 took 31. */
uint32_t strings_hash_long(const void *bytes, size_t length);
static inline uint32_t strings_hash(const void *bytes, size_t length)
{
    const char *begin = bytes;
    uint64_t head = 0, tail = 0;
    if (length >= 8 && length <= 16) {
        memcpy(&head, begin, 8);
        memcpy(&tail, begin + length - 8, 8);
    } else if (length >= 4 && length < 8) {
        uint32_t half;
        memcpy(&half, begin, 4);
        head = half;
        memcpy(&half, begin + length - 4, 4);
        tail = half;
    } else {
        return strings_hash_long(bytes, length);
    }
    unsigned __int128 product = (unsigned __int128)(head ^ UINT64_C(0x9E3779B97F4A7C15)) *
                                (tail ^ UINT64_C(0xE7037ED1A0B428DB) ^ length);
    return (uint32_t)((uint64_t)product ^ (uint64_t)(product >> 64));
}

/* The number of the text with this hash, new if need be; CG_ABSENT when memory is short or 2^32-2 strings are
 * there. */
cg_str strings_intern(struct cg_strings *strings, uint32_t hash, const char *bytes, size_t length);
cg_str strings_find(const struct cg_strings *strings, const char *bytes, size_t length);

/* No more strings for now: gives back what was reserved for growth and what only interning needs. The next
 * strings_intern() makes that again from all texts. */
void strings_finish(struct cg_strings *strings);

/* Asks for the place where the search will begin, which in a large table is a cache miss. */
static inline void strings_prefetch(const struct cg_strings *strings, uint32_t hash)
{
    __builtin_prefetch(&strings->slots[hash & strings->slot_mask]);
}

static inline struct cg_text strings_text(const struct cg_strings *strings, cg_str string)
{
    if (string == CG_ABSENT) return (struct cg_text){NULL, 0};
    uint64_t begin = strings->offset[string - 1];
    return (struct cg_text){strings->bytes + begin, strings->offset[string] - begin};
}

#endif
