/* Interned strings: each text once, named by a number from 1. */
#ifndef CGTRACE_ANALYZER_TRACE_STRINGS_H
#define CGTRACE_ANALYZER_TRACE_STRINGS_H

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "analyzer/trace/trace.h"

struct cg_strings {
    char *bytes; /* all texts, one after the other */
    size_t used, size;
    uint64_t *offset; /* text n is bytes[offset[n - 1]] up to bytes[offset[n]] */
    uint32_t count, capacity;
    union {
        /* Open addressing, linear probing from the begin of a cache line on, so that a line is full from its
         * front: low half of the hash << 32 | number; 0 is free. */
        uint64_t *slots;
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

enum { STRINGS_LINE = 8 }; /* slots */

/* The first slot where a text with this hash may be. */
static inline size_t strings_slot(const struct cg_strings *strings, uint32_t hash)
{
    return hash & strings->slot_mask & ~(size_t)(STRINGS_LINE - 1);
}

/* Bit n: the upper half of slot n of a line, where the hash is, is this; or the lower half, where the number
 * is. */
static inline unsigned strings_equal(const uint64_t *line, bool upper, uint32_t half)
{
#ifdef __SSE2__
    const float *floats = (const float *)(const void *)line; /* which shuffling is made for */
    __m128 a = _mm_load_ps(floats), b = _mm_load_ps(floats + 4), c = _mm_load_ps(floats + 8),
           d = _mm_load_ps(floats + 12);
    __m128 ab = upper ? _mm_shuffle_ps(a, b, 0xDD) : _mm_shuffle_ps(a, b, 0x88);
    __m128 cd = upper ? _mm_shuffle_ps(c, d, 0xDD) : _mm_shuffle_ps(c, d, 0x88);
    __m128i wanted = _mm_set1_epi32((int)half);
    __m128i equal = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_castps_si128(ab), wanted),
                                    _mm_cmpeq_epi32(_mm_castps_si128(cd), wanted));
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128()));
#else
    unsigned equal = 0;
    for (unsigned i = 0; i < STRINGS_LINE; i++)
        equal |= (unsigned)((uint32_t)(line[i] >> (upper ? 32 : 0)) == half) << i;
    return equal;
#endif
}

/* Looking up many texts, each step for several of them before the next one: the cache misses of a large table
 * then overlap. Asks for where the search begins; */
static inline void strings_prefetch(const struct cg_strings *strings, uint32_t hash)
{
    __builtin_prefetch(&strings->slots[strings_slot(strings, hash)]);
}
/* the text that is found there first, which may be another one with this hash; CG_ABSENT: none; */
static inline cg_str strings_candidate(const struct cg_strings *strings, uint32_t hash)
{
    const uint64_t *line = &strings->slots[strings_slot(strings, hash)];
    unsigned equal = strings_equal(line, true, hash);
    cg_str candidate = equal != 0 ? (cg_str)line[__builtin_ctz(equal)] : CG_ABSENT;
    __builtin_prefetch(&strings->offset[candidate]);
    return candidate;
}
/* its bytes. */
static inline void strings_prefetch_text(const struct cg_strings *strings, cg_str candidate)
{
    if (candidate != CG_ABSENT) __builtin_prefetch(strings->bytes + strings->offset[candidate - 1]);
}
/* Whether it is the text; else strings_intern() must look for it. */
bool strings_is(const struct cg_strings *strings, cg_str candidate, const char *bytes, size_t length);

static inline struct cg_text strings_text(const struct cg_strings *strings, cg_str string)
{
    if (string == CG_ABSENT) return (struct cg_text){NULL, 0};
    uint64_t begin = strings->offset[string - 1];
    return (struct cg_text){strings->bytes + begin, strings->offset[string] - begin};
}

#endif
