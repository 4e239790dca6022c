/* What the parts of the decoder share: layouts, faults, and the steps that are taken for every member. */
#ifndef CGTRACE_ANALYZER_TRACE_DECODE_INTERNAL_H
#define CGTRACE_ANALYZER_TRACE_DECODE_INTERNAL_H

#include "analyzer/trace/decode.h"

/* A text of at most PATTERN_MAX bytes, to be compared with what stands in the input at once. */
enum { PATTERN_MAX = 32 };
#define NO_MATCH (UINT64_C(1) << PATTERN_MAX) /* a mask that no comparison satisfies */
struct pattern {
    char text[PATTERN_MAX];
    uint64_t mask; /* of the bytes that count */
    unsigned length;
};

/* What the loop over the members does itself; all that is rarer or irregular is left to others, who do
 * ACTION_KEEP's values once and ACTION_OTHER's each time. */
enum action { ACTION_OTHER, ACTION_KEEP, ACTION_STR, ACTION_U64, ACTION_ENUM, ACTION_U64_LIST, ACTION_SKIP };

/* A field as it stood last in the text, from its comma on: the bytes that were read once are compared with
 * those that come, and what they said holds again. Blanks of the producer are part of it. */
struct slot {
    char text[PATTERN_MAX]; /* `,"key":"value"` */
    uint64_t member;        /* mask of the whole member; NO_MATCH when it is longer or must be read anew */
    union value value;      /* of that member */
    uint64_t key;           /* mask of what stands before the value; NO_MATCH: not known */
    uint8_t length, key_length; /* of the member and of what stands before its value */
    uint8_t next;               /* in the order of the text: a field, OBJECT_END, or NOT_LINKED */
    uint8_t action;             /* enum action */
    uint8_t values;             /* of an enum: enum value_set */
    bool listed;                /* among the decoder's string_slots */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct slot) == 64, "a slot is one cache line");

/* A field beyond the format that is read though such fields are not kept: failures for want of memory are
 * always counted. */
static inline bool decoder_watches(const struct field *field)
{
    return field == &schema_objects[OBJECT_OP].fields[OP_FIELD_error];
}

/* The fields of one object, linked in the order in which the producer writes them. Each is in the list at
 * most once, and a reader only goes forward in it, so that no field is taken twice without a look. */
struct layout {
    struct slot slot[SCHEMA_MAX_FIELDS + 2]; /* of the fields; OBJECT_END; LIST_HEAD, of which next counts */
    const struct object_schema *schema;
    uint32_t known, required; /* masks of fields */
    uint32_t single;          /* may not come twice */
    uint32_t defaults;        /* enums whose default is not 0 */
    uint32_t stored;          /* fields that anybody reads */
};
/* An edge has another set of known fields for each edge_kind. */
enum { LAYOUT_EDGE_DATA = OBJECT_COUNT, LAYOUT_COUNT };
/* Instead of a field: the closing brace, the head of the list, a key that is unknown here, the `kind` of a
 * record, no place in the list. */
enum { OBJECT_END = SCHEMA_MAX_FIELDS, LIST_HEAD, NO_FIELD, KIND_KEY, NOT_LINKED };
/* No enum and no list of kinds is longer. */
enum { VALUES_MAX = 16 };

/* Of the field with this key that the layout knows; NO_FIELD when there is none. */
unsigned layout_field(const struct layout *layout, const char *key, size_t length);

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

/* Room for one more text; false with a fault. */
bool decode_grow_texts(struct decoder *decoder);
/* Bytes that live as long as the batch; NULL with a fault. */
const char *decode_copy(struct decoder *decoder, const char *bytes, size_t length);

/* Strings that are known in the last batch become known in this one; false when memory is short. */
bool decoder_keep_strings(struct decoder *decoder);

/* Values: from their first byte to what follows them; NULL with a fault. */
const char *decode_f64(struct decoder *decoder, const char *at, double *value);
const char *decode_bool(struct decoder *decoder, const char *at, uint64_t *value);
/* patterns: of the values, in their order. */
const char *decode_enum(struct decoder *decoder, const char *at, const struct values *values,
                        const struct pattern *patterns, uint64_t *value);
const char *decode_u64_list(struct decoder *decoder, const char *at, uint64_t *position);
const char *decode_str_list(struct decoder *decoder, const char *at, struct cg_list *list);
const char *decode_map(struct decoder *decoder, const char *at, struct pair_list **map);
/* A key and its colon: the value. */
const char *decode_key(struct decoder *decoder, const char *at, const char **bytes, size_t *length);

/* decode_record() for any processor, and for those with AVX2. */
record_decoder decode_record_as, decode_record_avx2, decode_record_avx512;

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

/* Bit n: byte n of a and b differs, n < PATTERN_MAX; all the higher bits, so that NO_MATCH is never clear.
 * Reads PATTERN_MAX bytes, which the padding of the text allows everywhere. */
static inline uint64_t differing_bytes(const char *a, const char *b)
{
#ifdef __AVX2__
    __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)a),
                                      _mm256_loadu_si256((const __m256i *)(const void *)b));
    return ~(uint64_t)(uint32_t)_mm256_movemask_epi8(equal);
#else
    return ~(uint64_t)(equal_bytes(a, b) | equal_bytes(a + 16, b + 16) << 16);
#endif
}

/* One store where the comparison is one load: two halves would not be there in time for the next record. */
static inline void copy_pattern(char *to, const char *from)
{
#ifdef __AVX2__
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_loadu_si256((const __m256i *)(const void *)from));
#else
    memcpy(to, from, PATTERN_MAX);
#endif
}

static inline bool pattern_here(const struct pattern *pattern, const char *at)
{
    return (differing_bytes(pattern->text, at) & pattern->mask) == 0;
}

/* Of the first length bytes, length <= PATTERN_MAX. */
static inline uint64_t mask_of(size_t length)
{
    return (UINT64_C(1) << length) - 1;
}

/* The patterns of the values of an enum; VALUES_COUNT: of the kinds. */
static inline const struct pattern *patterns_of(const struct decoder *decoder, unsigned set)
{
    return decoder->patterns + set * VALUES_MAX;
}

/* Its position in decoder->texts; 0 with a fault. */
static inline uint32_t add_text(struct decoder *decoder, struct text text)
{
    struct texts *texts = &decoder->texts;
    size_t position = texts->count;
    if (__builtin_expect(position == texts->capacity, 0) && !decode_grow_texts(decoder)) return 0;
    texts->text[position] = text;
    texts->count = position + 1;
    return (uint32_t)position;
}

/* A text that may be new; bytes live as long as the batch. */
static inline uint32_t decode_text(struct decoder *decoder, const char *bytes, size_t length)
{
    return add_text(decoder, (struct text){bytes, length, strings_hash(bytes, length), CG_ABSENT});
}

/* The string at a quote, with what the next functions leave out. */
const char *decode_unusual_string(struct decoder *decoder, const char *at, uint32_t *string);

/* The plain string at a quote, length: with both quotes. Its position; 0 with a fault. */
static inline __attribute__((always_inline)) uint32_t decode_plain(struct decoder *decoder, const char *at,
                                                                   size_t length)
{
    uint32_t position = decode_text(decoder, at + 1, length - 2);
    decoder->last_string.text = at;
    decoder->last_string.mask = length <= PATTERN_MAX ? mask_of(length) : NO_MATCH;
    decoder->last_string.length = length;
    decoder->last_string.position = position;
    return position;
}

/* The string at a quote. Where its text is that of the string before it, as tensor_id is often the
 * storage_id, it is the same string. */
static inline __attribute__((always_inline)) const char *decode_quoted(struct decoder *decoder,
                                                                       const char *at, uint32_t *string)
{
    if ((differing_bytes(decoder->last_string.text, at) & decoder->last_string.mask) == 0) {
        *string = decoder->last_string.position;
        return at + decoder->last_string.length;
    }
    const char *end = json_plain_run(at + 1);
    if (__builtin_expect(*end != '"', 0)) return decode_unusual_string(decoder, at, string);
    *string = decode_plain(decoder, at, (size_t)(++end - at));
    return *string != 0 ? end : NULL;
}

static inline const char *decode_string(struct decoder *decoder, const char *at, uint32_t *string)
{
    return __builtin_expect(*at == '"', 1) ? decode_quoted(decoder, at, string)
                                           : decode_wrong_type(decoder, at, "a string");
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
