/* What the parts of the decoder share: layouts, faults, and the steps that are taken for every member. */
#ifndef CGTRACE_ANALYZER_TRACE_DECODE_INTERNAL_H
#define CGTRACE_ANALYZER_TRACE_DECODE_INTERNAL_H

#include "analyzer/trace/decode.h"

/* `,"key":` or `"value"`, to be compared with the text at once. */
enum { PATTERN_MAX = 32 };
#define NO_MATCH (UINT32_C(1) << 16) /* a mask for a byte that no comparison of 16 finds equal */
struct pattern {
    char text[PATTERN_MAX];
    uint32_t low, high; /* masks of the bytes that count: of the first 16 and of the others */
    unsigned length;
};

/* The value that a string field had last, as it stands in the text: when the same bytes follow again, which
 * they do for most fields, it need not be scanned, hashed and looked up again. Never more than the padding of
 * the text. */
enum { MEMO_MAX = 48 };
struct memo {
    char text[MEMO_MAX]; /* from quote to quote */
    uint32_t low;        /* mask of the first 16 bytes; NO_MATCH: none */
    unsigned length;
    uint32_t string, batch;
};

/* What the loop over the members does itself; all that is rarer or irregular is ACTION_OTHER's. */
enum action { ACTION_OTHER, ACTION_STR, ACTION_U64, ACTION_ENUM, ACTION_U64_LIST, ACTION_SKIP };

/* The fields of one object, and the order in which the producer writes them: the field that followed field n
 * last time is tried first the next time, by one comparison with its whole key. */
struct layout {
    const struct object_schema *schema;
    uint32_t known, required; /* masks of fields */
    uint32_t single;          /* may not come twice */
    uint32_t defaults;        /* enums whose default is not 0 */
    uint32_t stored;          /* fields that anybody reads */
    uint8_t first;            /* the field that came first */
    struct slot {
        struct pattern key;                                     /* its comma first */
        uint8_t follower;                                       /* the field that came next */
        uint8_t action;                                         /* enum action */
        uint8_t values;                                         /* of an enum: enum value_set */
    } __attribute__((aligned(64))) slot[SCHEMA_MAX_FIELDS + 1]; /* the last one never matches */
    struct memo memo[SCHEMA_MAX_FIELDS];
};
/* An edge has another set of known fields for each edge_kind. */
enum { LAYOUT_EDGE_DATA = OBJECT_COUNT, LAYOUT_COUNT };
/* Instead of a field: a key that is unknown here; the `kind` of a record; the closing brace. */
enum { NO_FIELD = SCHEMA_MAX_FIELDS, KIND_KEY, OBJECT_END };
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
const char *decode_u64_list(struct decoder *decoder, const char *at, struct cg_list *list);
const char *decode_str_list(struct decoder *decoder, const char *at, struct cg_list *list);
const char *decode_map(struct decoder *decoder, const char *at, struct pair_list **map);
/* A key and its colon: the value. */
const char *decode_key(struct decoder *decoder, const char *at, const char **bytes, size_t *length);

/* Bit n: byte n of a and b is the same, n < 16. */
static inline unsigned equal_bytes(const char *a, const char *b)
{
#ifdef __SSE2__
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)a),
                                                      _mm_loadu_si128((const __m128i *)(const void *)b)));
#else
    unsigned equal = 0;
    for (unsigned i = 0; i < 16; i++)
        equal |= (unsigned)(a[i] == b[i]) << i;
    return equal;
#endif
}

/* Reads up to PATTERN_MAX bytes, which the padding of the text allows everywhere. ignored: a mask of bytes
 * among the first 16 that may be different. */
static inline bool pattern_here(const struct pattern *pattern, const char *at, uint32_t ignored)
{
    if ((~equal_bytes(pattern->text, at) & pattern->low & ~ignored) != 0) return false;
    return pattern->high == 0 || (~equal_bytes(pattern->text + 16, at + 16) & pattern->high) == 0;
}

static inline uint32_t mask_of(size_t length)
{
    return length < 16 ? (UINT32_C(1) << length) - 1 : 0xFFFF;
}

/* These bytes stand here. Both are read to the next multiple of 16 bytes. */
static inline bool same_text(const char *text, uint32_t low, unsigned length, const char *at)
{
    if ((~equal_bytes(text, at) & low) != 0) return false;
    for (unsigned done = 16; done < length; done += 16)
        if ((~equal_bytes(text + done, at + done) & mask_of(length - done)) != 0) return false;
    return true;
}

/* A string whose text is that of the same field in the record before, or that of the string before it, as
 * tensor_id is often the storage_id: behind it. NULL when it must be scanned, or begins no string. Three of
 * four strings end here. */
static inline const char *decode_string_again(struct decoder *decoder, const char *at,
                                              const struct memo *memo, uint32_t *string)
{
    if (memo->batch == decoder->batch && same_text(memo->text, memo->low, memo->length, at)) {
        *string = memo->string;
        return at + memo->length;
    }
    if (same_text(decoder->last_string.text, decoder->last_string.low, decoder->last_string.length, at)) {
        *string = decoder->last_string.position;
        return at + decoder->last_string.length;
    }
    return NULL;
}

/* Where a list is looked for that stands here in at most LIST_TEXT bytes; *length is set to its length, 0
 * when it has more. */
static inline struct list_memo *list_memo(struct decoder *decoder, const char *at, unsigned *length)
{
    static const char brackets[] = "]]]]]]]]]]]]]]]]";
    unsigned ends = equal_bytes(brackets, at);
    *length = ends != 0 ? (unsigned)__builtin_ctz(ends) + 1 : 0;
    uint64_t word = 0;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (*length < 8) word <<= (8 - *length) % 8 * 8;
#else
    if (*length < 8) word >>= (8 - *length) % 8 * 8;
#endif
    return &decoder->list_memos[word * UINT64_C(0x9E3779B97F4A7C15) >> (64 - LIST_MEMO_BITS)];
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
