/* Kinds of query: what each asks of its input, and how its result is written (doc/spec/cli.md 6). */
#ifndef CGTRACE_ANALYZER_CMD_QUERY_H
#define CGTRACE_ANALYZER_CMD_QUERY_H

#include "analyzer/cmd/document.h"
#include "analyzer/evidence/bounded.h"

enum { QUERY_ROWS = 50, QUERY_LABELS = 100, QUERY_DIAGNOSTICS = 50, QUERY_PAGE = 50, QUERY_PAGE_MAX = 1000 };

struct query {
    const struct query_kind *kind;
    const struct command_input *input;
    const struct arguments *arguments; /* for the options that only some kinds have */
    const char *label, *label_prefix;  /* NULL: not given */
    bool all;
    uint64_t offset, limit;
    void *state; /* of the kind: made by prepare, given back by release */
};

/* The rows of a kind with pages, and the names that --label is compared with. */
struct query_rows {
    uint64_t (*count)(const struct query *query);
    struct cg_text (*name)(const struct query *query, uint64_t row);
    bool (*matches)(const struct query *query, uint64_t row);
    void (*emit)(struct json_doc *doc, const struct query *query, uint64_t row);
};

struct query_kind {
    const char *name;
    const char *about;              /* one sentence without a final stop */
    bool graph;                     /* needs a complete and valid capture */
    const struct query_rows *pages; /* NULL: no filter and no pages */
    const char *const *options; /* names of options that only some kinds have, ended by NULL; NULL: none */
    struct input_needs needs;
    const char *rows; /* as in struct document */
    /* May be NULL. Works out what the result holds; 0 or the status of *error. */
    int (*prepare)(struct query *query, struct cg_error *error);
    void (*release)(struct query *query);
    document_emitter *emit;   /* object: the query; writes the member `result` */
    document_emitter *people; /* the same facts laid out for a table; NULL: as they are */
};

#define KIND(name) extern const struct query_kind query_##name;
#include "analyzer/cmd/query_kinds.def"
#undef KIND
/* The words of --by. */
option_words storage_grouping_words;
extern const struct query_kind *const query_kinds[];
extern const size_t query_kind_count;
option_words query_kind_words;

/* What of the rows is shown. */
struct page {
    const struct query *query;
    uint64_t total, matched, displayed;
};
struct page page_of(const struct query *query);
/* Members of a page for doc_members(): P(key, emitter); object: the struct page. */
document_emitter page_displayed, page_limit, page_matched, page_next_offset, page_offset, page_rows,
    page_total, page_truncated;
#define PAGE_MEMBERS                                                                                         \
    {"displayed", page_displayed, NULL}, {"limit", page_limit, NULL}, {"matched", page_matched, NULL},       \
        {"next_offset", page_next_offset, NULL}, {"offset", page_offset, NULL}, {"total", page_total, NULL}, \
        {"truncated", page_truncated, NULL},                                                                 \
    {                                                                                                        \
        "rows", page_rows, NULL                                                                              \
    }

/* Does the filter keep this name? It is the parts joined together. True without a filter. */
bool query_keeps(const struct query *query, const struct cg_text *parts, size_t count);
/* The device that --device names, CG_ABSENT without it; CG_EXIT_INPUT when the trace's memory has no such
 * device. */
int query_device(const struct query *query, cg_str *device, struct cg_error *error);
/* The name of spans that an option gives, CG_ABSENT without it; CG_EXIT_INPUT when no span has it. */
int query_span_name(const struct query *query, const char *option, cg_str *name, struct cg_error *error);
/* Does the kind have this option? */
bool query_kind_has(const struct query_kind *kind, const char *option);
bool query_filtered(const struct query *query);
/* Says on standard error which name --label may have meant, when no row has that name; the answer, which is
 * empty, is written all the same. */
void query_suggest(const struct query *query);

/* The options of pages; of tells of what, and may be "". */
#define QUERY_PAGE_OPTIONS(of)                                                                               \
    {.name = "label",                                                                                        \
     .type = OPTION_TEXT,                                                                                    \
     .argument = "TEXT",                                                                                     \
     .about = "keep the rows of this name" of,                                                               \
     .conflicts = {"label-prefix"}},                                                                         \
        {.name = "label-prefix",                                                                             \
         .type = OPTION_TEXT,                                                                                \
         .argument = "TEXT",                                                                                 \
         .about = "keep the rows whose names begin so" of},                                                  \
        {.name = "offset",                                                                                   \
         .type = OPTION_NUMBER,                                                                              \
         .argument = "N",                                                                                    \
         .about = "skip N rows; next_offset of a page leads to the next one",                                \
         .maximum = UINT64_MAX},                                                                             \
        {.name = "limit",                                                                                    \
         .type = OPTION_NUMBER,                                                                              \
         .argument = "N",                                                                                    \
         .about = "rows of a page, 1 to 1000; 50 without it",                                                \
         .minimum = 1,                                                                                       \
         .maximum = QUERY_PAGE_MAX},                                                                         \
    {                                                                                                        \
        .name = "all", .type = OPTION_FLAG, .about = "write every row; needs --output",                      \
        .conflicts = {"offset", "limit"}, .needs = "output"                                                  \
    }
/* Fills what they say into a query. */
void query_read_page(const struct arguments *arguments, struct query *query);

#endif
