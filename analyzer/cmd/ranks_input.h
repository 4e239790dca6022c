/* The traces of a job's ranks, read one after the other; what is kept of each, and where it is written. */
#ifndef CGTRACE_ANALYZER_CMD_RANKS_INPUT_H
#define CGTRACE_ANALYZER_CMD_RANKS_INPUT_H

#include "analyzer/cmd/command_input.h"
#include "analyzer/planes/rank_memory.h"
#include "analyzer/planes/ranks.h"
#include "common/json_doc.h"

/* One rank. */
struct rank_run {
    const char *path;  /* as given */
    char *trace_path;  /* that was read */
    char *bundle_root; /* NULL: a raw trace */
    struct cg_origin origin;
    char name[sizeof((struct cg_origin *)NULL)->host + 32]; /* "rank 3"; "host:pid" where there is no rank */
    cg_str run_id, reason;                                  /* in the table of names; reason may be absent */
    enum cg_value_OUTCOME outcome;
    uint64_t end_ns; /* the trace's last time */
    uint64_t out_of_memory;
    struct rank_memory memory;
};

struct ranks_input {
    struct rank_run *runs;    /* by rank, then host, process id and order on the command line */
    struct rank *ranks;       /* likewise */
    struct cg_strings *names; /* labels, devices, run ids, reasons */
    size_t count;
};

/* Reads them, as needs says and with their extra fields; memory is that of the largest trace and of what is
 * kept. 0 or the status of *error: also for traces without clock anchors, and for two of one rank,
 * process or capture. */
int ranks_input_open(const char *const *paths, size_t count, const char *collective, struct input_needs needs,
                     struct ranks_input *input, struct cg_error *error);
void ranks_input_close(struct ranks_input *input);

/* What is written of them. */
struct ranks_view {
    const struct ranks_input *input;
    const struct rank_axis *axis;
    const struct ranks *ranks;
    const struct ranks_criteria *criteria;
};
struct query;
/* object: a struct query whose state is the view, and whose pages are ranks_labels. */
void emit_ranks(struct json_doc *doc, const void *object);
extern const struct query_kind ranks_labels;

#endif
