#include "analyzer/evidence/nsight_columns.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

/* ---- names of reports ---- */

const char *const nsight_title[GPU_REPORT_COUNT] = {[GPU_REPORT_KERNELS] = "kernel summary",
                                                    [GPU_REPORT_RUNTIME_CALLS] = "runtime summary",
                                                    [GPU_REPORT_MEMORY_OPERATIONS] = "memory-time summary",
                                                    [GPU_REPORT_NVTX_RANGES] = "NVTX projection",
                                                    [GPU_REPORT_TIMELINE] = "GPU timeline"};
/* Names of nsys before 2022. */
static const char *const old_name[GPU_REPORT_COUNT] = {[GPU_REPORT_KERNELS] = "gpukernsum",
                                                       [GPU_REPORT_RUNTIME_CALLS] = "cudaapisum",
                                                       [GPU_REPORT_MEMORY_OPERATIONS] = "gpumemtimesum",
                                                       [GPU_REPORT_TIMELINE] = "gputrace"};

static bool bounds_word(char byte)
{
    return byte == '\0' || byte == '_' || byte == '-' || byte == '.';
}

static bool holds_word(const char *name, const char *word)
{
    for (const char *at = name; (at = strstr(at, word)); at++)
        if ((at == name || bounds_word(at[-1])) && bounds_word(at[strlen(word)])) return true;
    return false;
}

enum gpu_report nsight_report_of_file(const char *name)
{
    for (unsigned report = 0; report < GPU_REPORT_COUNT; report++)
        if (strstr(name, gpu_report_kind[report])) return report;
    for (unsigned report = 0; report < GPU_REPORT_COUNT; report++)
        if (old_name[report] && holds_word(name, old_name[report])) return report;
    return NSIGHT_NO_REPORT;
}

static bool is_text(struct cg_text text, const char *literal)
{
    return text.length == strlen(literal) && memcmp(text.bytes, literal, text.length) == 0;
}

enum gpu_report nsight_report_of_word(struct cg_text word)
{
    for (unsigned report = 0; report < GPU_REPORT_COUNT; report++)
        if (is_text(word, gpu_report_kind[report]) || (old_name[report] && is_text(word, old_name[report])))
            return report;
    return NSIGHT_NO_REPORT;
}

static bool begins(struct cg_text line, const char *prefix)
{
    return line.length >= strlen(prefix) && memcmp(line.bytes, prefix, strlen(prefix)) == 0;
}

bool nsight_title_line(struct cg_text line, struct cg_text *word)
{
    if (!begins(line, " ** ")) return false;
    utf8_trim(&line.bytes, &line.length);
    if (line.length < 2 || line.bytes[line.length - 1] != ':' || line.bytes[line.length - 2] != ')')
        return false;
    const char *end = line.bytes + line.length - 2, *open = memrchr(line.bytes, '(', line.length);
    if (!open || open > end) return false;
    *word = (struct cg_text){open + 1, (size_t)(end - open - 1)};
    return true;
}

bool nsight_preamble(struct cg_text line)
{
    static const char *const prefixes[] = {"Generating SQLite file", "NOTICE:", "Processing [", "SKIPPED:"};
    struct cg_text word;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(line, prefixes[i])) return true;
    return nsight_title_line(line, &word);
}

/* ---- columns ---- */

enum row_shape { SUMMARY_ROW = 1, PROJECTION_ROW = 2, TIMELINE_ROW = 4 };
#define TIMELINE_ROWS (PROJECTION_ROW | TIMELINE_ROW)
#define ALL_ROWS      (SUMMARY_ROW | TIMELINE_ROWS)

enum column_type { COLUMN_PLAIN, COLUMN_TIME };

/* One line a field and row shape: aliases after normalisation, the first that the header has wins. */
static const struct column {
    enum nsight_field field;
    unsigned rows, required; /* row shapes */
    enum column_type type;
    const char *aliases[5];
} column_table[] = {
    {NSIGHT_NAME, ALL_ROWS, ALL_ROWS, COLUMN_PLAIN, {"name", "operation", "range", "kernel_name"}},
    {NSIGHT_TOTAL, SUMMARY_ROW, SUMMARY_ROW, COLUMN_TIME, {"total_time_ns", "total_ns"}},
    {NSIGHT_COUNT, SUMMARY_ROW, 0, COLUMN_PLAIN, {"instances", "num_calls", "operations", "count"}},
    {NSIGHT_AVERAGE, SUMMARY_ROW, 0, COLUMN_TIME, {"avg_ns", "average_ns", "average"}},
    {NSIGHT_MINIMUM, SUMMARY_ROW, 0, COLUMN_TIME, {"min_ns", "minimum_ns", "minimum"}},
    {NSIGHT_MAXIMUM, SUMMARY_ROW, 0, COLUMN_TIME, {"max_ns", "maximum_ns", "maximum"}},
    {NSIGHT_CATEGORY, SUMMARY_ROW, 0, COLUMN_PLAIN, {"category"}},
    {NSIGHT_CORRELATION_ID, TIMELINE_ROWS, 0, COLUMN_PLAIN, {"correlation_id", "corrid", "corr_id"}},
    {NSIGHT_DEVICE, TIMELINE_ROWS, 0, COLUMN_PLAIN, {"device", "device_id"}},
    {NSIGHT_CONTEXT, TIMELINE_ROWS, 0, COLUMN_PLAIN, {"context", "context_id", "ctx"}},
    {NSIGHT_STREAM, TIMELINE_ROWS, 0, COLUMN_PLAIN, {"stream", "stream_id", "strm"}},
    {NSIGHT_START,
     PROJECTION_ROW,
     PROJECTION_ROW,
     COLUMN_TIME,
     {"orig_start_ns", "orig_start", "start_ns", "start"}},
    {NSIGHT_START, TIMELINE_ROW, TIMELINE_ROW, COLUMN_TIME, {"start_ns", "start"}},
    {NSIGHT_DURATION,
     PROJECTION_ROW,
     PROJECTION_ROW,
     COLUMN_TIME,
     {"orig_duration_ns", "orig_duration", "duration_ns", "duration", "dur_ns"}},
    {NSIGHT_DURATION, TIMELINE_ROW, TIMELINE_ROW, COLUMN_TIME, {"duration_ns", "duration", "dur_ns"}},
    {NSIGHT_PROJECTED_START,
     TIMELINE_ROWS,
     PROJECTION_ROW,
     COLUMN_TIME,
     {"projected_start_ns", "projected_start", "proj_start_ns"}},
    {NSIGHT_PROJECTED_DURATION,
     TIMELINE_ROWS,
     PROJECTION_ROW,
     COLUMN_TIME,
     {"projected_duration_ns", "projected_duration", "proj_dur_ns"}},
    {NSIGHT_OPERATIONS, TIMELINE_ROWS, 0, COLUMN_PLAIN, {"numgpuops", "num_gpu_ops", "gpu_operations"}},
};

const char *const nsight_field_name[NSIGHT_FIELD_COUNT] = {[NSIGHT_NAME] = "name",
                                                           [NSIGHT_TOTAL] = "total time",
                                                           [NSIGHT_COUNT] = "count",
                                                           [NSIGHT_AVERAGE] = "average",
                                                           [NSIGHT_MINIMUM] = "minimum",
                                                           [NSIGHT_MAXIMUM] = "maximum",
                                                           [NSIGHT_CATEGORY] = "category",
                                                           [NSIGHT_CORRELATION_ID] = "correlation id",
                                                           [NSIGHT_DEVICE] = "device",
                                                           [NSIGHT_CONTEXT] = "context",
                                                           [NSIGHT_STREAM] = "stream",
                                                           [NSIGHT_START] = "start",
                                                           [NSIGHT_DURATION] = "duration",
                                                           [NSIGHT_PROJECTED_START] = "projected start",
                                                           [NSIGHT_PROJECTED_DURATION] = "projected duration",
                                                           [NSIGHT_OPERATIONS] = "GPU operations"};

static unsigned shape_of(enum gpu_report report)
{
    if (report == GPU_REPORT_NVTX_RANGES) return PROJECTION_ROW;
    return report == GPU_REPORT_TIMELINE ? TIMELINE_ROW : SUMMARY_ROW;
}

/* A header cell, normalised. Names longer than any alias are cut: they match none. */
struct column_name {
    char text[64], base[64]; /* whole, and without its unit */
    enum { UNIT_NONE, UNIT_KNOWN, UNIT_OTHER } unit;
    unsigned scale;
};

static void normalise(struct cg_text cell, char out[64])
{
    char *to = out;
    utf8_trim(&cell.bytes, &cell.length);
    for (size_t i = 0; i < cell.length && to < out + 63; i++) {
        char byte = cell.bytes[i];
        if (byte == '(' || byte == ')' || byte == '%') continue;
        if (byte == ' ' || byte == '-' || byte == '/') byte = '_';
        *to++ = (char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
    }
    while (to > out && to[-1] == '_')
        to--;
    *to = '\0';
    size_t lead = strspn(out, "_");
    memmove(out, out + lead, strlen(out + lead) + 1);
}

static const struct {
    const char *name;
    unsigned scale;
} units[] = {{"ns", 0}, {"nsec", 0}, {"us", 3}, {"usec", 3}, {"ms", 6}, {"msec", 6}, {"s", 9}, {"sec", 9}};

static void name_column(struct cg_text cell, struct column_name *name)
{
    char unit[64];
    normalise(cell, name->text);
    name->unit = UNIT_NONE;
    name->scale = 0;
    name->base[0] = '\0';
    utf8_trim(&cell.bytes, &cell.length);
    if (cell.length == 0 || cell.bytes[cell.length - 1] != ')') return;
    const char *open = memrchr(cell.bytes, '(', cell.length);
    if (!open) return;
    name->unit = UNIT_OTHER;
    normalise((struct cg_text){cell.bytes, (size_t)(open - cell.bytes)}, name->base);
    normalise((struct cg_text){open, cell.length - (size_t)(open - cell.bytes)}, unit);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].name, unit) != 0) continue;
        name->unit = UNIT_KNOWN;
        name->scale = units[i].scale;
    }
}

static bool matches(const struct column_name *name, const char *alias, enum column_type type)
{
    size_t length = strlen(alias);
    if (type == COLUMN_PLAIN || name->unit == UNIT_NONE) return strcmp(name->text, alias) == 0;
    return name->unit == UNIT_KNOWN && length > 3 && strcmp(alias + length - 3, "_ns") == 0 &&
           strlen(name->base) == length - 3 && memcmp(name->base, alias, length - 3) == 0;
}

/* More columns than any report of nsys has; what stands behind them is not looked at. */
enum { HEADER_CELLS_MAX = 256 };

static bool find_column(const struct column *column, const struct column_name *names, size_t count,
                        struct nsight_columns *columns)
{
    for (size_t a = 0; a < 5 && column->aliases[a]; a++)
        for (size_t i = 0; i < count; i++) {
            if (!matches(&names[i], column->aliases[a], column->type)) continue;
            columns->cell[column->field] = i;
            columns->scale[column->field] = names[i].scale;
            return true;
        }
    return false;
}

static size_t name_columns(const struct csv_cells *cells, struct column_name *names)
{
    size_t count = cells->count < HEADER_CELLS_MAX ? cells->count : HEADER_CELLS_MAX;
    for (size_t i = 0; i < count; i++)
        name_column(cells->at[i], &names[i]);
    return count;
}

static bool find_columns(enum gpu_report report, const struct column_name *names, size_t count,
                         struct nsight_columns *columns)
{
    unsigned shape = shape_of(report);
    columns->needed = 0;
    for (size_t f = 0; f < NSIGHT_FIELD_COUNT; f++)
        columns->cell[f] = SIZE_MAX;
    for (size_t i = 0; i < sizeof column_table / sizeof *column_table; i++) {
        const struct column *column = &column_table[i];
        if (!(column->rows & shape)) continue;
        bool found = find_column(column, names, count, columns);
        if (!(column->required & shape)) continue;
        if (!found) return false;
        size_t cell = columns->cell[column->field];
        if (columns->needed <= cell) columns->needed = cell + 1;
    }
    return true;
}

bool nsight_header(enum gpu_report report, const struct csv_cells *cells, struct nsight_columns *columns)
{
    struct column_name names[HEADER_CELLS_MAX];
    return find_columns(report, names, name_columns(cells, names), columns);
}

enum gpu_report nsight_report_of_header(const struct csv_cells *cells, struct nsight_columns *columns)
{
    struct column_name names[HEADER_CELLS_MAX];
    size_t count = name_columns(cells, names);
    if (find_columns(GPU_REPORT_NVTX_RANGES, names, count, columns)) return GPU_REPORT_NVTX_RANGES;
    if (find_columns(GPU_REPORT_TIMELINE, names, count, columns) &&
        columns->cell[NSIGHT_PROJECTED_START] == SIZE_MAX &&
        columns->cell[NSIGHT_PROJECTED_DURATION] == SIZE_MAX &&
        (columns->cell[NSIGHT_CORRELATION_ID] != SIZE_MAX || columns->cell[NSIGHT_STREAM] != SIZE_MAX ||
         columns->cell[NSIGHT_DEVICE] != SIZE_MAX))
        return GPU_REPORT_TIMELINE;
    return NSIGHT_NO_REPORT;
}

bool nsight_any_header(const struct csv_cells *cells)
{
    struct column_name names[HEADER_CELLS_MAX];
    struct nsight_columns columns;
    size_t count = name_columns(cells, names);
    return find_columns(GPU_REPORT_KERNELS, names, count, &columns) ||
           find_columns(GPU_REPORT_NVTX_RANGES, names, count, &columns) ||
           find_columns(GPU_REPORT_TIMELINE, names, count, &columns);
}
