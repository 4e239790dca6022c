#include "analyzer/planes/rank_columns.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"

bool rank_begins(struct cg_text name, const char *prefix)
{
    size_t length = strlen(prefix);
    return length <= name.length && memcmp(name.bytes, prefix, length) == 0;
}

bool rank_is_collective(struct cg_text name, const char *more)
{
#define PREFIX(text) text,
    static const char *const prefixes[] = {RANK_COLLECTIVES(PREFIX)};
#undef PREFIX
    bool is = more && rank_begins(name, more);

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        is = is || rank_begins(name, prefixes[i]);
    return is;
}

/* While the columns are made. */
struct maker {
    const struct cg_trace *trace;
    struct cg_strings *labels;
    cg_str region;      /* the source of the region that is the whole process */
    uint32_t *label_of; /* of a string of the trace; CG_ABSENT: not looked up yet */
    uint64_t *covered;  /* by span row: how much of it lies within its children */
    uint64_t *reached;  /* by span row: end of the children seen so far */
    uint64_t *device;   /* by span row */
    uint32_t *by_start; /* rows of all spans by start, then id */
    uint32_t *first_of; /* by label: where its occurrences begin, then end */
    size_t label_room;  /* of first_of */
    struct rank_columns *columns;
};

static int compare_starts(const void *left, const void *right, void *context)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const uint64_t *start = ((const struct cg_trace *)context)->span.start_ns;

    if (start[a] != start[b]) return start[a] < start[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* Children come in the order of their starts, so that what they cover together is the sum of what each adds.
 */
static void cover_parents(struct maker *maker)
{
    const struct cg_spans *spans = &maker->trace->span;

    for (size_t i = 0; i < spans->rows; i++) {
        uint32_t row = maker->by_start[i], parent = spans->parent[row];
        if (parent == CG_NONE || !spans->closed[row]) continue;
        uint64_t start = spans->start_ns[row], end = trace_span_end(maker->trace, row);
        uint64_t limit = trace_span_end(maker->trace, parent);
        if (start < maker->reached[parent]) start = maker->reached[parent];
        if (start < spans->start_ns[parent]) start = spans->start_ns[parent];
        if (end > limit) end = limit;
        if (end <= start) continue;
        maker->covered[parent] += end - start;
        maker->reached[parent] = end;
    }
}

static void sum_device(struct maker *maker, const char *collective)
{
    const struct cg_trace *trace = maker->trace;
    const struct cg_device_intervals *intervals = &trace->device_interval;

    for (size_t i = 0; i < intervals->rows; i++) {
        uint32_t row = trace_span(trace, intervals->span_id[i]);
        if (row == CG_NONE) continue;
        if (intervals->name && intervals->name[i] != CG_ABSENT &&
            rank_is_collective(trace_text(trace, intervals->name[i]), collective))
            maker->columns->device_collectives++;
        else
            maker->device[row] = cg_sat_add(maker->device[row], intervals->duration_ns[i]);
    }
}

static bool label_of(struct maker *maker, uint32_t row, uint32_t *label)
{
    cg_str name = maker->trace->span.name[row];

    if (maker->label_of[name] == CG_ABSENT) {
        struct cg_text text = trace_text(maker->trace, name);
        maker->label_of[name] =
            strings_intern(maker->labels, strings_hash(text.bytes, text.length), text.bytes, text.length);
    }
    *label = maker->label_of[name];
    return *label != CG_ABSENT;
}

/* Not open spans, nor those that stand for the capture and not for work of the program: its root, and the
 * region that is the whole process. These last as long as the rank was recorded. */
static bool is_compared(const struct maker *maker, uint32_t row)
{
    const struct cg_spans *spans = &maker->trace->span;
    bool capture = spans->parent[row] == CG_NONE ||
                   (spans->source && spans->source[row] != CG_ABSENT && spans->source[row] == maker->region);

    return spans->closed[row] && !capture;
}

/* Counts the spans of each label; fills what is said of open ones. */
static bool count_labels(struct maker *maker)
{
    const struct cg_spans *spans = &maker->trace->span;
    struct rank_columns *columns = maker->columns;
    uint32_t label;

    for (size_t i = 0; i < spans->rows; i++)
        if (!label_of(maker, (uint32_t)i, &label)) return false;
    maker->label_room = (size_t)maker->labels->count + 2;
    maker->first_of = array_zeroed(maker->label_room, sizeof *maker->first_of);
    if (!maker->first_of) return false;
    for (size_t i = 0; i < spans->rows; i++) {
        uint32_t row = maker->by_start[i];
        label = maker->label_of[spans->name[row]];
        if (is_compared(maker, row)) {
            maker->first_of[label + 1]++;
            columns->occurrence_count++;
        } else if (!spans->closed[row]) {
            columns->open_spans++;
            columns->open_label = label;
            columns->open_since_ns = spans->start_ns[row];
        }
    }
    for (label = 1; label < maker->label_room - 1; label++)
        columns->label_count += maker->first_of[label + 1] > 0;
    return true;
}

static bool fill(struct maker *maker)
{
    const struct cg_spans *spans = &maker->trace->span;
    struct rank_columns *columns = maker->columns;
    struct rank_label *next;

    columns->occurrences = array_raw(columns->occurrence_count, sizeof *columns->occurrences);
    columns->labels = next = array_raw(columns->label_count, sizeof *columns->labels);
    if (!columns->occurrences || !columns->labels) return false;
    for (uint32_t label = 1; label < maker->label_room - 1; label++) {
        uint32_t count = maker->first_of[label + 1];
        maker->first_of[label + 1] += maker->first_of[label];
        if (count > 0) *next++ = (struct rank_label){label, count, maker->first_of[label]};
    }
    for (size_t i = 0; i < spans->rows; i++) {
        uint32_t row = maker->by_start[i];
        if (!is_compared(maker, row)) continue;
        columns->occurrences[maker->first_of[maker->label_of[spans->name[row]]]++] =
            (struct rank_occurrence){.start_ns = spans->start_ns[row],
                                     .duration_ns = spans->duration_ns[row],
                                     .self_ns = cg_sat_sub(spans->duration_ns[row], maker->covered[row]),
                                     .device_ns = maker->device[row]};
    }
    return true;
}

bool rank_columns_make(const struct cg_trace *trace, const char *collective, struct cg_strings *labels,
                       struct rank_columns *columns)
{
    size_t rows = trace->span.rows;
    struct maker maker = {.trace = trace,
                          .labels = labels,
                          .columns = columns,
                          .region = trace_find(trace, "region", strlen("region")),
                          .label_of = array_zeroed((size_t)trace_string_count(trace) + 1, sizeof(uint32_t)),
                          .covered = array_zeroed(rows, sizeof(uint64_t)),
                          .reached = array_zeroed(rows, sizeof(uint64_t)),
                          .device = array_zeroed(rows, sizeof(uint64_t)),
                          .by_start = array_raw(rows, sizeof(uint32_t))};
    bool enough = maker.label_of && maker.covered && maker.reached && maker.device && maker.by_start;

    *columns = (struct rank_columns){0};
    if (enough) {
        for (size_t i = 0; i < rows; i++)
            maker.by_start[i] = (uint32_t)i;
        qsort_r(maker.by_start, rows, sizeof *maker.by_start, compare_starts, (void *)(uintptr_t)trace);
        cover_parents(&maker);
        sum_device(&maker, collective);
        enough = count_labels(&maker) && fill(&maker);
    }
    free(maker.label_of);
    free(maker.covered);
    free(maker.reached);
    free(maker.device);
    free(maker.by_start);
    free(maker.first_of);
    if (!enough) rank_columns_free(columns);
    return enough;
}

void rank_columns_free(struct rank_columns *columns)
{
    free(columns->occurrences);
    free(columns->labels);
    *columns = (struct rank_columns){0};
}
