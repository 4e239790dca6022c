/* What the parts of the decoder share: layouts, faults, and the steps that are taken for every member. */
#ifndef CGTRACE_ANALYZER_TRACE_DECODE_INTERNAL_H
#define CGTRACE_ANALYZER_TRACE_DECODE_INTERNAL_H

#include "analyzer/trace/decode.h"

/* `"key":` or `"value"`, to be compared with the text at once. */
enum { PATTERN_MAX = 32 };
#define PATTERN_NEVER (UINT64_C(1) << PATTERN_MAX) /* a bit that no comparison sets */
struct pattern {
    char text[PATTERN_MAX];
    uint64_t mask; /* the bytes that count */
    unsigned length;
};

/* The value that a string or list field had last, as it stands in the text: when the same bytes follow again,
 * which they do for most fields, it need not be scanned, hashed and looked up again. Never more than the
 * padding of the text. */
enum { MEMO_MAX = 48 };
struct memo {
    char text[MEMO_MAX]; /* to the closing quote or bracket */
    unsigned length;     /* 0: none */
    uint32_t string, batch;
    struct cg_list list;
};

/* The fields of one object, and the order in which the producer writes them: the field that followed field n
 * last time is tried first the next time, by one comparison with its whole key. */
struct layout {
    const struct object_schema *schema;
    uint32_t known, required;                  /* masks of fields */
    uint32_t defaults;                         /* enums whose default is not 0 */
    unsigned stored;                           /* fields that anybody reads */
    uint8_t follower[SCHEMA_MAX_FIELDS + 1];   /* of field n - 1; [0]: the first field */
    struct pattern key[SCHEMA_MAX_FIELDS + 1]; /* of field n; the last one never matches */
    uint8_t action[SCHEMA_MAX_FIELDS];         /* enum field_type, or ACTION_OTHER */
    struct memo memo[SCHEMA_MAX_FIELDS];
};
/* An edge has another set of known fields for each edge_kind. */
enum { LAYOUT_EDGE_DATA = OBJECT_COUNT, LAYOUT_COUNT };
/* Instead of a field: a key that is unknown here; the `kind` of a record. */
enum { NO_FIELD = SCHEMA_MAX_FIELDS, KIND_KEY };
/* Not decoded in the loop over the members itself. */
enum { ACTION_OTHER = 0xFF };
/* No enum and no list of kinds is longer. */
enum { VALUES_MAX = 16 };

/* faults; all return NULL */

const char *decode_fail(struct decoder *decoder, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
const char *decode_no_memory(struct decoder *decoder) __attribute__((cold));
const char *decode_scan_failed(struct decoder *decoder) __attribute__((cold));
/* "expected a string, found null" */
const char *decode_wrong_type(struct decoder *decoder, const char *at, const char *expected)
    __attribute__((cold));

/* Passes on what the scanner answered. */
static inline const char *scanned(struct decoder *decoder, const char *at)
{
    return __builtin_expect(at != NULL, 1) ? at : decode_scan_failed(decoder);
}

/* Zeroed memory that lives as long as the batch; NULL when memory is short. */
void *decode_allocate(struct decoder *decoder, size_t size);

/* Values: from their first byte to what follows them; NULL with a fault. memo may be NULL for strings. */
const char *decode_string(struct decoder *decoder, const char *at, struct memo *memo, uint32_t *string);
const char *decode_f64(struct decoder *decoder, const char *at, double *value);
const char *decode_bool(struct decoder *decoder, const char *at, uint64_t *value);
/* patterns: of the values, in their order. */
const char *decode_enum(struct decoder *decoder, const char *at, const struct values *values,
                        const struct pattern *patterns, uint64_t *value);
const char *decode_u64_list(struct decoder *decoder, const char *at, struct memo *memo, struct cg_list *list);
const char *decode_str_list(struct decoder *decoder, const char *at, struct cg_list *list);
const char *decode_map(struct decoder *decoder, const char *at, struct pair_list **map);
/* A key and its colon: the value. */
const char *decode_key(struct decoder *decoder, const char *at, const char **bytes, size_t *length);

/* Reads PATTERN_MAX bytes, which the padding of the text allows everywhere. */
static inline bool pattern_here(const struct pattern *pattern, const char *at)
{
#ifdef __SSE2__
    const __m128i *text = (const __m128i *)(const void *)pattern->text,
                  *here = (const __m128i *)(const void *)at;
    unsigned low = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text), _mm_loadu_si128(here)));
    unsigned high =
        (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text + 1), _mm_loadu_si128(here + 1)));
    return (((uint64_t)high << 16 | low) & pattern->mask) == pattern->mask;
#else
    return pattern->length != 0 && memcmp(pattern->text, at, pattern->length) == 0;
#endif
}

static inline const char *decode_u64(struct decoder *decoder, const char *at, uint64_t *value)
{
    if (__builtin_expect(*at != '-' && (unsigned char)(*at - '0') > 9, 0))
        return decode_wrong_type(decoder, at, "an unsigned integer");
    return scanned(decoder, json_u64(&decoder->scan, at, value));
}

/* Behind an element of a list or a member of an object: the next one, or what follows the closing bracket. */
static inline const char *list_goes_on(struct decoder *decoder, const char *at, char close, bool *more)
{
    if (__builtin_expect(*at <= ' ', 0)) at = json_space(at);
    *more = *at == ',';
    if (*more) return *++at <= ' ' ? json_space(at) : at;
    if (*at == close) return at + 1;
    return decode_fail(decoder, at, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
}

/* The first element, or what follows the closing bracket. */
static inline const char *list_begins(struct decoder *decoder, const char *at, char open, char close,
                                      bool *more)
{
    if (__builtin_expect(*at != open, 0))
        return decode_wrong_type(decoder, at, open == '[' ? "a list" : "an object");
    at++;
    if (*at <= ' ') at = json_space(at);
    *more = *at != close;
    return *more ? at : at + 1;
}

#endif
