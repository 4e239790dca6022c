/* ranks: many ranks of one job on one time axis. A command beyond the format's. */
#include <stdlib.h>

#include "analyzer/cmd/output.h"
#include "analyzer/cmd/query.h"
#include "analyzer/cmd/ranks_input.h"

/* Outputs must not damage any of the inputs. */
static int check_outputs(const struct arguments *arguments, const struct ranks_input *input,
                         struct cg_error *error)
{
    const char *output = argument(arguments, "output")->text;
    int status = 0;

    for (size_t i = 0; status == 0 && i < input->count; i++) {
        const char *const files[] = {input->runs[i].trace_path};
        status = output_check(output, input->runs[i].bundle_root, files, 1, error);
    }
    return status;
}

static int answer(const struct arguments *arguments, const struct ranks_criteria *criteria,
                  const struct ranks_input *input, struct query *query, struct cg_error *error)
{
    const struct cg_origin **origins = calloc(input->count, sizeof *origins);
    uint64_t *end_ns = calloc(input->count, sizeof *end_ns);
    struct rank_axis axis = {0};
    struct ranks ranks = {0};
    struct ranks_view view = {input, &axis, &ranks, criteria};
    struct document document = {
        .order = DOC_DECLARED, .emit = emit_ranks, .people = emit_ranks, .rows = "*", .object = query};
    bool enough = origins != NULL && end_ns != NULL;

    for (size_t i = 0; enough && i < input->count; i++) {
        origins[i] = &input->runs[i].origin;
        end_ns[i] = input->runs[i].end_ns;
    }
    enough = enough && rank_axis_make(origins, end_ns, input->count, &axis) &&
             ranks_make(input->ranks, input->count, &axis, input->names, criteria, &ranks);
    int status = enough ? check_outputs(arguments, input, error) : cg_out_of_memory(error);
    query->state = &view;
    if (status == 0) {
        query_suggest(query);
        status = document_write(arguments, NULL, &document, error);
    }
    ranks_free(&ranks);
    rank_axis_free(&axis);
    free(origins);
    free(end_ns);
    return status;
}

enum { SLOWER_PERCENT = 10, MIN_EXCESS_NS = 100000 };

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const struct option_value *slower = argument(arguments, "slower-percent"),
                              *excess = argument(arguments, "min-excess-ns"),
                              *clock = argument(arguments, "clock-error-ns");
    struct ranks_criteria criteria = {.slower_percent =
                                          slower->given ? (unsigned)slower->number : SLOWER_PERCENT,
                                      .min_excess_ns = excess->given ? excess->number : MIN_EXCESS_NS,
                                      .collective = argument(arguments, "collective")->text,
                                      .clock_error_known = clock->given,
                                      .clock_error_ns = clock->number};
    struct input_needs needs = {.extras = true,
                                .trace_alone = true,
                                .threads = argument_threads(arguments),
                                .index = command_index_use(arguments)};
    struct query query = {.kind = &ranks_labels};
    struct ranks_input input;

    query_read_page(arguments, &query);
    if (arguments->input_count < 2)
        return cg_fail(error, CG_EXIT_USAGE, "ranks: give the traces of two ranks or more");
    int status = ranks_input_open(arguments->inputs, arguments->input_count, criteria.collective, needs,
                                  &input, error);
    if (status != 0) return status;
    status = answer(arguments, &criteria, &input, &query, error);
    ranks_input_close(&input);
    return status;
}

static const struct option_spec options[] = {
    QUERY_PAGE_OPTIONS(" (labels)"),
    {.name = "slower-percent",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "a rank is a straggler where its median is N percent or more above that of the others; 10 "
              "without it",
     .minimum = 1,
     .maximum = 1000000},
    {.name = "min-excess-ns",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "leave out stragglers that cost less than N nanoseconds in sum; 100000 without it",
     .maximum = INT64_MAX},
    {.name = "collective",
     .type = OPTION_TEXT,
     .argument = "PREFIX",
     .about =
         "spans whose names begin with PREFIX are collectives too, and end only when all ranks have come: "
         "they bound how far the clocks of hosts are apart"},
    {.name = "clock-error-ns",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "the hosts' real-time clocks agree within N nanoseconds, as their time service tells",
     .maximum = INT64_MAX},
    OPTION_OUTPUT,
    OPTION_FORMAT,
    OPTION_THREADS,
    OPTION_INDEX,
};
static const struct command_example examples[] = {
    {"cg-analyze ranks cgtrace.*.r*.jsonl", "which rank is slow, and where"},
    {"cg-analyze ranks job/*.jsonl --label-prefix layer. --limit 20", "the skew of some labels"},
    {"cg-analyze ranks job/*.jsonl --collective barrier --clock-error-ns 50000 --format csv -o ranks.csv",
     "on hosts whose clocks agree within 50 microseconds"},
};

const struct command command_ranks = {
    .name = "ranks",
    .positional = "TRACE",
    .positional_many = true,
    .about = "compare the ranks of one job: skew, stragglers, memory",
    .description =
        "Puts the traces of one job's ranks on one time axis and says which rank is slow in which label, who "
        "comes last to collectives and how long the others wait, how far apart the ranks begin and end each "
        "label, and what memory each rank had (cgtrace/ranks/1). A TRACE is what other commands take: a "
        "trace, also of a rank that failed, a bundle, or a capture file. One is read at a time. Two of one "
        "rank are refused, and so are two captures of one process without a rank, such as those of two "
        "regions: give one region's trace of each process.\n"
        "The axis comes from the clock anchors in meta, and traces without them are refused. Ranks of one "
        "machine share its monotonic clock. Between machines there are only their real-time clocks. The "
        "collectives that --collective names bound how far these are apart, since no rank leaves one before "
        "all have come; of what they allow, and --clock-error-ns, the axis takes the offset that has the "
        "ranks leave together. Where neither is given, what compares times of several machines is null, and "
        "durations are compared all the same. The uncertainty of a machine's own clock is that of reading "
        "the anchors "
        "and how much the trace's clock and the monotonic clock parted in the capture; behind the last "
        "anchor it grows by 122 ppm.\n"
        "Spans are matched by name and number: the first forward of one rank with the first forward of the "
        "others; those of the capture itself, its root and the region that is the whole process, are left "
        "out. Names that the complete ranks do not have equally often are listed and not compared. A "
        "straggler is a rank whose median over a label's spans is above the median of the other ranks' "
        "medians by --slower-percent, which was so in at least half of the spans, and cost --min-excess-ns. "
        "Host time is the span's own, without the spans in it; device time is the sum of its own intervals, "
        "without those of collectives. Excess is the sum of what the rank took more than the median of the "
        "others.\n"
        "Collectives are spans whose names begin as the criteria say, and those that show it by their "
        "times: in five spans or more, with at least nine tenths of the time their own, the ranks begin ten "
        "times further apart than they end. They are no stragglers' labels, since time in them is waiting. "
        "delay_ns is what the job had gained if the last rank had come with the one before it.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
