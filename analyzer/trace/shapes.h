/* Shapes of lines: a line that differs from an earlier one only inside of numbers and strings, all as long as
 * there, is not parsed. Its bytes are held against what may stand at each place, and its values are taken
 * from their known places: 490,000 records took 19.9 ms instead of 26.4, all but 1,100 of them in this way.
 *
 * For decoders with wide vectors; the portable one parses every line, and tests hold the others against it.
 */
#ifndef CGTRACE_ANALYZER_TRACE_SHAPES_H
#define CGTRACE_ANALYZER_TRACE_SHAPES_H

#include "analyzer/trace/decode_internal.h"

/* SHAPE_TEXT: the longest line that is remembered, with its line feed; a multiple of the widest vector. */
enum { SHAPE_TEXT = 512, SHAPE_BITS = 6, SHAPE_WAYS = 4, SHAPE_PARTS = 16 };
#define SHAPE_EACH(part, parts)                                                                              \
    for (struct shape_part *part = (parts)->part, *end_ = part + (parts)->count; part < end_; part++)

/* A value in the line. */
struct shape_part {
    uint64_t string;     /* the last one's position in the texts of its batch */
    uint16_t at, length; /* of strings with their quotes */
    uint8_t field;
};
struct shape_parts {
    unsigned count;
    struct shape_part part[SHAPE_PARTS];
};

/* What lines of one kind and length look like. */
struct shape {
    /* Of each byte: the lowest that may stand there, how far above that it may be, and a bit where it is
     * neither a quote nor a backslash. Behind the line anything may stand. */
    unsigned char low[SHAPE_TEXT], above[SHAPE_TEXT];
    uint64_t plain[SHAPE_TEXT / 64];

    /* What stays the same, and where the rest stands. Strings and lists are known by positions in what the
     * decoder holds of a batch: in another one they are looked up again. */
    union value value[SCHEMA_MAX_FIELDS];
    struct shape_parts same_strings, same_lists, numbers, strings, lists;
    uint64_t batch;
    const char *line; /* the last one in it that fitted */

    uint32_t present;
    uint16_t length;        /* with the line feed; 0: nothing was learned */
    uint16_t end;           /* behind the closing brace */
    uint8_t kind, values;   /* values: fields of the kind */
    uint8_t wait, patience; /* lines that must miss until another shape is learned here: left, at first */
    uint32_t hits;          /* lines that fitted, of late */
} __attribute__((aligned(64)));

/* A line was parsed that fitted none of the SHAPE_WAYS shapes that it may have: it may be learned in place of
 * one of them. layout: of its members; end: behind its closing brace. */
void shape_missed(struct decoder *decoder, struct shape *shapes, const struct layout *layout,
                  const char *line, const char *end, enum cg_kind kind, const struct record *record);

#ifdef __AVX2__
/* The steps of 64 bytes that looking at a line takes, and what a step tells: a bit for each byte. */
#ifdef __AVX512BW__
typedef __m512i shape_bytes;
static inline shape_bytes shape_load(const void *at)
{
    return _mm512_loadu_si512(at);
}
static inline void shape_store(void *at, shape_bytes bytes)
{
    _mm512_storeu_si512(at, bytes);
}
static inline uint64_t shape_equal(shape_bytes bytes, char c)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
}
static inline uint64_t shape_outside(shape_bytes bytes, shape_bytes low, shape_bytes above)
{
    return _mm512_cmpgt_epu8_mask(_mm512_sub_epi8(bytes, low), above);
}
#else
typedef struct {
    __m256i half[2];
} shape_bytes;
static inline shape_bytes shape_load(const void *at)
{
    const __m256i *halves = at;
    return (shape_bytes){{_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)}};
}
static inline void shape_store(void *at, shape_bytes bytes)
{
    __m256i *halves = at;
    _mm256_storeu_si256(halves, bytes.half[0]);
    _mm256_storeu_si256(halves + 1, bytes.half[1]);
}
static inline uint64_t shape_mask(__m256i first, __m256i second)
{
    return (uint32_t)_mm256_movemask_epi8(first) | (uint64_t)(uint32_t)_mm256_movemask_epi8(second) << 32;
}
static inline uint64_t shape_equal(shape_bytes bytes, char c)
{
    __m256i all = _mm256_set1_epi8(c);
    return shape_mask(_mm256_cmpeq_epi8(bytes.half[0], all), _mm256_cmpeq_epi8(bytes.half[1], all));
}
static inline __m256i shape_inside(__m256i bytes, __m256i low, __m256i above)
{
    __m256i distance = _mm256_sub_epi8(bytes, low);
    return _mm256_cmpeq_epi8(_mm256_min_epu8(distance, above), distance);
}
static inline uint64_t shape_outside(shape_bytes bytes, shape_bytes low, shape_bytes above)
{
    return ~shape_mask(shape_inside(bytes.half[0], low.half[0], above.half[0]),
                       shape_inside(bytes.half[1], low.half[1], above.half[1]));
}
#endif

/* Bytes up to the line feed, if less than SHAPE_TEXT; else SHAPE_TEXT. */
static inline size_t shape_line_length(const char *line)
{
    for (size_t at = 0; at < SHAPE_TEXT; at += 64) {
        uint64_t feeds = shape_equal(shape_load(line + at), '\n');
        if (feeds != 0) return at + (unsigned)__builtin_ctzll(feeds);
    }
    return SHAPE_TEXT;
}

/* The SHAPE_WAYS shapes that a line of this length may have. Its kind is told by what follows `{"kind":"`. */
static inline struct shape *shapes_for(struct decoder *decoder, const char *line, size_t length)
{
    uint64_t word;
    memcpy(&word, line + sizeof "{\"kind\":\"" - 1, sizeof word);
    size_t set = ((word ^ length) * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - SHAPE_BITS);
    return &decoder->shapes[set * SHAPE_WAYS];
}

/* length: of the line, without its line feed. */
static inline bool shape_fits(const struct shape *shape, const char *line, size_t length)
{
    uint64_t wrong = 0;
    if (shape->length != length + 1) return false;
    for (size_t at = 0; at <= length; at += 64) {
        shape_bytes bytes = shape_load(line + at);
        wrong |= shape_outside(bytes, shape_load(shape->low + at), shape_load(shape->above + at)) |
                 ((shape_equal(bytes, '"') | shape_equal(bytes, '\\')) & shape->plain[at / 64]);
    }
    return wrong == 0;
}

/* The list at a bracket: false with a fault. */
static inline bool shape_list(struct decoder *decoder, const char *at, union value *value)
{
    unsigned length;
    const struct list_memo *memo = list_memo(decoder, at, &length);
    if (length == 0 || (~equal_bytes(memo->text, at) & mask_of(length)) != 0)
        return decode_u64_list(decoder, at, &value->numbers) != NULL;
    value->numbers = memo->list;
    return true;
}

/* The plain string at a quote, length: with both quotes. False with a fault. */
static inline uint32_t shape_string(struct decoder *decoder, const char *at, size_t length)
{
    bool last = (differing_bytes(decoder->last_string.text, at) & decoder->last_string.mask) == 0;
    return last ? decoder->last_string.position : decode_plain(decoder, at, length);
}

static inline bool shape_same_text(const char *a, const char *b, size_t length)
{
    return length <= PATTERN_MAX ? (differing_bytes(a, b) & mask_of(length)) == 0 : memcmp(a, b, length) == 0;
}

/* The first line of a batch: what the values of the shape stand for is looked up again. */
static __attribute__((noinline)) bool shape_renew(struct decoder *decoder, struct shape *shape,
                                                  const char *line)
{
    SHAPE_EACH(part, &shape->same_strings)
    if ((shape->value[part->field].string = shape_string(decoder, line + part->at, part->length)) == 0)
        return false;
    SHAPE_EACH(part, &shape->strings)
    if ((part->string = shape_string(decoder, line + part->at, part->length)) == 0) return false;
    SHAPE_EACH(part, &shape->same_lists)
    if (!shape_list(decoder, line + part->at, &shape->value[part->field])) return false;
    shape->batch = decoder->batch;
    shape->line = line;
    return true;
}

/* The record of a line that fits; false when it must be parsed to say what is wrong. */
static inline bool shape_take(struct decoder *decoder, struct shape *shape, const char *line,
                              struct record *record)
{
    if (__builtin_expect(shape->batch != decoder->batch, 0) && !shape_renew(decoder, shape, line))
        return false;
    record->present = shape->present;
    /* Whole vectors: a record that is being read has room for all fields. The shape's own values were not
     * stored lately, so that these loads need not wait for narrower stores. */
    for (unsigned i = 0; i < shape->values; i += 8)
        shape_store(&record->value[i], shape_load(&shape->value[i]));
    SHAPE_EACH(part, &shape->numbers)
    record->value[part->field].u = json_digits_known(line + part->at, part->length);
    SHAPE_EACH(part, &shape->strings)
    {
        const char *at = line + part->at;
        if (!shape_same_text(shape->line + part->at, at, part->length) &&
            (part->string = shape_string(decoder, at, part->length)) == 0)
            return false;
        record->value[part->field].string = part->string;
    }
    SHAPE_EACH(part, &shape->lists)
    if (!shape_list(decoder, line + part->at, &record->value[part->field])) return false;
    shape->line = line;
    shape->hits++;
    return true;
}
#endif

#endif
