#include "analyzer/cmd/ranks_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/command_input.h"

static bool intern(struct cg_strings *names, struct cg_text text, cg_str *number)
{
    *number = CG_ABSENT;
    if (!text.bytes) return true;
    *number = strings_intern(names, strings_hash(text.bytes, text.length), text.bytes, text.length);
    return *number != CG_ABSENT;
}

static void name_run(struct rank_run *run)
{
    const char *host = run->origin.host[0] ? run->origin.host : "?";

    if (run->origin.rank_known)
        snprintf(run->name, sizeof run->name, "rank %lld", (long long)run->origin.rank);
    else if (run->origin.pid_known)
        snprintf(run->name, sizeof run->name, "%s:%lld", host, (long long)run->origin.pid);
    else
        snprintf(run->name, sizeof run->name, "%s", host);
}

static bool keep_memory(const struct command_input *source, struct cg_strings *names,
                        struct rank_memory *memory)
{
    struct logical_memory logical = {0};
    struct physical_memory physical = {0};
    bool enough = evidence_logical(&source->evidence, source->trace, &logical);

    if (!enough) return false;
    enough = physical_memory_make(source->trace, &physical) &&
             rank_memory_make(source->trace, &logical, &physical, names, memory);
    physical_memory_free(&physical);
    evidence_logical_free(&source->evidence, &logical);
    return enough;
}

/* What outlives the trace. */
static int keep(const struct command_input *source, const char *collective, struct ranks_input *input,
                struct rank_run *run, struct rank *rank, struct cg_error *error)
{
    const struct cg_trace *trace = source->trace;

    if (!trace->origin || !trace->origin->clock_known)
        return cg_fail(error, CG_EXIT_INPUT,
                       "%s: its meta record has no clock anchors (clock.first with tick, monotonic_ns, "
                       "realtime_ns and spread_ticks): its times cannot be put on one axis with those of "
                       "other ranks",
                       run->path);
    run->origin = *trace->origin;
    name_run(run);
    run->outcome = trace->terminal.outcome;
    run->end_ns = trace->terminal.timestamp_ns;
    run->out_of_memory = source->out_of_memory_count;
    run->trace_path = strdup(source->trace_path);
    run->bundle_root = source->bundle_root ? strdup(source->bundle_root) : NULL;
    rank->complete = run->outcome == CG_OUTCOME_COMPLETE;
    return run->trace_path && (run->bundle_root || !source->bundle_root) &&
                   intern(input->names, trace_text(trace, trace->run.run_id), &run->run_id) &&
                   intern(input->names, trace_text(trace, trace->terminal.reason), &run->reason) &&
                   rank_columns_make(trace, collective, input->names, &rank->columns) &&
                   keep_memory(source, input->names, &run->memory)
               ? 0
               : cg_out_of_memory(error);
}

static int read_rank(const char *path, const char *collective, struct input_needs needs,
                     struct ranks_input *input, struct cg_error *error)
{
    struct rank_run *run = &input->runs[input->count];
    struct rank *rank = &input->ranks[input->count];
    struct command_input source;

    if (strcmp(path, "-") == 0)
        return cg_fail(error, CG_EXIT_USAGE, "ranks: each rank is a file or a bundle, not standard input");
    input->count++;
    run->path = path;
    int status = command_input_open(path, needs, &source, error);
    if (status != 0) return status;
    status = keep(&source, collective, input, run, rank, error);
    command_input_close(&source);
    return status;
}

/* A run with what goes along with it, to be sorted. */
struct entry {
    struct rank_run run;
    struct rank rank;
    size_t position;
};

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    const struct cg_origin *x = &a->run.origin, *y = &b->run.origin;
    int order = strcmp(x->host, y->host);

    if (x->rank_known != y->rank_known) return x->rank_known ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (order) return order;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

static bool sort_runs(struct ranks_input *input)
{
    struct entry *entries = calloc(input->count, sizeof *entries);

    if (!entries) return false;
    for (size_t i = 0; i < input->count; i++)
        entries[i] = (struct entry){input->runs[i], input->ranks[i], i};
    qsort(entries, input->count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < input->count; i++) {
        input->runs[i] = entries[i].run;
        input->ranks[i] = entries[i].rank;
    }
    free(entries);
    return true;
}

static bool one_rank(const struct cg_origin *one, const struct cg_origin *other)
{
    return one->rank_known && other->rank_known && one->rank == other->rank;
}

/* The captures of one process have run ids of their own: what they share is the process. Where ranks are said
 * they decide, since processes in containers may have one number on one host. */
static bool one_process(const struct cg_origin *one, const struct cg_origin *other)
{
    return !one->rank_known && !other->rank_known && one->pid_known && other->pid_known &&
           one->pid == other->pid && rank_axis_one_machine(one, other);
}

static int refuse(const struct rank_run *one, const struct rank_run *other, const char *what,
                  struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_INPUT, "%s and %s are both of %s: give one trace of each rank", one->path,
                   other->path, what);
}

/* Whether it is of a rank or a process that one of those before it is of, in their order: these are then next
 * to each other, but for processes of other machines with this host name. */
static int refuse_same(const struct ranks_input *input, size_t index, struct cg_error *error)
{
    const struct rank_run *run = &input->runs[index];
    char what[sizeof run->name + sizeof "one process, "];

    for (size_t i = index; i-- > 0;) {
        const struct rank_run *before = &input->runs[i];
        if (one_rank(&before->origin, &run->origin)) return refuse(before, run, run->name, error);
        snprintf(what, sizeof what, "one process, %s", run->name);
        if (one_process(&before->origin, &run->origin)) return refuse(before, run, what, error);
        if (strcmp(before->name, run->name) != 0) break;
    }
    return 0;
}

/* Two traces of one rank would be held against each other as if they were two. */
static int refuse_doubles(const struct ranks_input *input, struct cg_error *error)
{
    const struct rank_run **seen = calloc((size_t)input->names->count + 1, sizeof(struct rank_run *));
    int status = seen ? 0 : cg_out_of_memory(error);

    for (size_t i = 0; status == 0 && i < input->count; i++) {
        const struct rank_run *run = &input->runs[i];
        status = refuse_same(input, i, error);
        if (status == 0 && seen[run->run_id])
            status = refuse(seen[run->run_id], run, "one capture, with one run_id", error);
        seen[run->run_id] = run;
    }
    free(seen);
    return status;
}

int ranks_input_open(const char *const *paths, size_t count, const char *collective, struct input_needs needs,
                     struct ranks_input *input, struct cg_error *error)
{
    *input = (struct ranks_input){.runs = calloc(count + 1, sizeof *input->runs),
                                  .ranks = calloc(count + 1, sizeof *input->ranks),
                                  .names = strings_new()};
    int status = input->runs && input->ranks && input->names ? 0 : cg_out_of_memory(error);
    for (size_t i = 0; status == 0 && i < count; i++)
        status = read_rank(paths[i], collective, needs, input, error);
    if (status == 0 && !sort_runs(input)) status = cg_out_of_memory(error);
    if (status == 0) status = refuse_doubles(input, error);
    if (status != 0) ranks_input_close(input);
    return status;
}

void ranks_input_close(struct ranks_input *input)
{
    for (size_t i = 0; i < input->count; i++) {
        rank_columns_free(&input->ranks[i].columns);
        rank_memory_free(&input->runs[i].memory);
        free(input->runs[i].trace_path);
        free(input->runs[i].bundle_root);
    }
    free(input->runs);
    free(input->ranks);
    strings_free(input->names);
    *input = (struct ranks_input){0};
}
