/* One line to one record: values in the order of the event table, checked by it (doc/spec/trace.md 2, 3, 4).
 */
#ifndef CGTRACE_ANALYZER_TRACE_DECODE_H
#define CGTRACE_ANALYZER_TRACE_DECODE_H

#include "analyzer/trace/interned.h"
#include "analyzer/trace/schema.h"
#include "common/json_scan.h"

/* STR, OPT_STR: string; U64, OPT_U64, BOOL, ENUM: u; OPT_ENUM: u, value + 1; F64, OPT_F64: f; U64_LIST:
 * numbers; STR_LIST: strings; OBJECT, STACK: object, NULL when absent; OBJECT_LIST: objects; MAP: pairs. All
 * bits are zero where a field is absent. */
union value {
    uint64_t u;
    double f;
    /* Position in decoder->texts, 0 when absent. As wide as the union: four bytes stored and eight read back
     * held up the processor for 20 cycles. */
    uint64_t string;
    uint64_t numbers;       /* position in decoder->lists, 0 when absent or empty */
    struct cg_list strings; /* in decoder->str_pool */
    struct record *object;
    struct record_list *objects;
    struct pair_list *pairs;
};
struct record {
    uint32_t present; /* bit n: field n was there and not null */
    union value value[SCHEMA_MAX_FIELDS];
};
struct record_list {
    size_t count, capacity;
    struct record *records;
};
struct text_pair {
    uint32_t key, value; /* positions in decoder->texts */
};
struct pair_list {
    size_t count, capacity;
    struct text_pair *pairs; /* in order of the text, keys may repeat */
};

/* A string that the records of a batch hold. */
struct text {
    const char *bytes;
    size_t length;
    uint32_t hash;
    cg_str number; /* CG_ABSENT until decoder_resolve() */
};
struct texts {
    struct text *text;
    size_t count, capacity;
};

/* A list of numbers: its place in decoder->u64_pool and, from decoder_resolve() on, what stands for it in the
 * trace. */
struct decoded_list {
    struct cg_list here, interned;
};

/* Why a line was refused. */
struct decode_fault {
    const char *at;    /* in the line; NULL: the whole record */
    const char *field; /* NULL when it is none of a field */
    char text[160];
    bool no_memory;
};

/* Shapes that came before, found by their text: shapes alternate, so that one memo a field does not do.
 * Shapes took 208 instructions a record and take 40. */
enum { LIST_TEXT = 16, LIST_MEMO_BITS = 9, KIND_MEMO_BITS = 8 };
struct list_memo {
    char text[LIST_TEXT]; /* from bracket to bracket; zeros: none */
    uint32_t list;        /* position in decoder->lists */
};

struct slot;    /* what is learned of a field, and */
struct layout;  /* what is learned of an object while reading: decode_internal.h */
struct shape;   /* and of a whole line: shapes.h */
struct pattern; /* a key or value as it usually stands in the text */

struct decoder;
typedef const char *record_decoder(struct decoder *decoder, const char *line, enum cg_kind *kind,
                                   struct record *record);

struct decoder {
    struct json_scan scan;
    record_decoder *decode_record; /* for this processor */
    bool extras;
    struct decode_fault fault;
    const char *field; /* that is being decoded */

    /* What a batch refers to is looked up when it is resolved: by then it is this decoder's turn, and the
     * cache misses of the look-ups overlap. */
    struct texts texts, last_texts; /* of this batch and the one before it */
    uint32_t *str_pool;             /* lists of strings of this batch: positions in texts */
    size_t str_count, str_capacity;
    size_t str_first; /* of them in the trace's str_pool, when resolved */

    struct decoded_list *lists; /* of several batches */
    size_t list_count, list_capacity, lists_resolved;
    uint64_t *u64_pool;
    size_t u64_count, u64_capacity;
    struct list_memo *list_memos;

    struct {
        const char *text; /* in the input, from quote to quote */
        uint64_t mask;    /* as in struct pattern */
        size_t length;
        uint32_t position;
    } last_string; /* that was scanned in this batch */

    struct slot **string_slots; /* whose value is a position in texts */
    size_t string_slot_count;

    struct layout *layouts;
    struct shape *shapes;           /* found by kind and length; NULL in the first batch */
    uint64_t batch;                 /* number of this one, from 1 */
    struct pattern *patterns;       /* of the values of each enum, then of the kinds */
    struct pattern *starts;         /* of the records of each kind: `{"kind":"op"` */
    uint8_t *kind_memos;            /* kinds, found by the text behind `{"kind":"` */
    struct allocation *allocations; /* what the values of this batch point to */
    size_t allocated;               /* bytes of them */
};

/* Of the options extras, portable and narrow count. False when memory is short; decoder_free() frees what was
 * made. */
bool decoder_init(struct decoder *decoder, const struct cg_load_options *options);
void decoder_free(struct decoder *decoder);

/* Begins a batch: the records before, which were resolved, are no longer valid. False when memory is short.
 */
bool decoder_begin(struct decoder *decoder);

/* Decodes the object at the start of line, to be kept unchanged until the batch is resolved: the byte behind
 * it, and *kind and *record are filled. On failure NULL, decoder->fault is filled, and *kind when it was
 * known.
 */
static inline const char *decode_record(struct decoder *decoder, const char *line, enum cg_kind *kind,
                                        struct record *record)
{
    return decoder->decode_record(decoder, line, kind, record);
}

/* Interns what the batch refers to, in the order of the text. Only now the functions below may be asked.
 * False when memory is short. */
bool decoder_resolve(struct decoder *decoder, struct interned *interned);

static inline cg_str decoder_string(const struct decoder *decoder, union value value)
{
    return decoder->texts.text[value.string].number;
}
static inline struct cg_list decoder_numbers(const struct decoder *decoder, union value value)
{
    return decoder->lists[value.numbers].interned;
}
static inline struct cg_list decoder_strings(const struct decoder *decoder, union value value)
{
    struct cg_list list = value.strings;
    list.first += (uint32_t)decoder->str_first;
    return list;
}

#endif
