/* One line to one record: values in the order of the event table, checked by it (doc/spec/trace.md 2, 3, 4).
 */
#ifndef CGTRACE_ANALYZER_TRACE_DECODE_H
#define CGTRACE_ANALYZER_TRACE_DECODE_H

#include "analyzer/trace/schema.h"
#include "analyzer/trace/strings.h"
#include "common/json_scan.h"

/* STR, OPT_STR, U64, OPT_U64, BOOL, ENUM: u; OPT_ENUM: u, value + 1; F64, OPT_F64: f; lists: list; OBJECT:
 * object, NULL when absent; OBJECT_LIST: objects; MAP: pairs. */
union value {
    uint64_t u;
    double f;
    struct cg_list list;
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
struct pair_list {
    size_t count, capacity;
    struct cg_pair *pairs; /* in order of the text, keys may repeat */
};

/* What is learned of one object while reading; see decode.c. */
struct layout;

/* Why a line was refused. */
struct decode_fault {
    const char *at;    /* in the line; NULL: the whole record */
    const char *field; /* NULL when it is none of a field */
    char text[160];
    bool no_memory;
};

struct decoder {
    struct json_scan scan;
    struct cg_strings *strings; /* not owned */
    bool extras;
    struct decode_fault fault;
    const char *field; /* that is being decoded */

    uint64_t *u64_pool;
    size_t u64_count, u64_capacity;
    cg_str *str_pool;
    size_t str_count, str_capacity;

    struct layout *layouts;
    struct allocation *allocations; /* what the values of the last record point to */
};

bool decoder_init(struct decoder *decoder, struct cg_strings *strings, bool extras);
/* Leaves the pools, which the trace takes over. */
void decoder_free(struct decoder *decoder);

/* Decodes the object at the start of line; on success *kind and *record are filled and *end is the byte after
 * it. What record points to is valid until the next call. On failure decoder->fault is filled. */
bool decode_record(struct decoder *decoder, const char *line, enum cg_kind *kind, struct record *record,
                   const char **end);

#endif
