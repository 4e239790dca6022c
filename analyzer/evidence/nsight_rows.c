/* From the text of a CSV file to rows: parts, headers, cells (doc/spec/nsight.md 4 to 6). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/nsight_private.h"
#include "common/utf8.h"

/* One report within a file. */
struct part {
    enum gpu_report report; /* NSIGHT_NO_REPORT: not told yet, or none of ours */
    bool titled;            /* its title line was met */
    bool ignored;           /* its title names another report */
    bool header;            /* its header was found; rows follow */
    bool failed;
    uint64_t other_line; /* first line that is neither preamble nor header and has a comma; 0: none */
    size_t first;        /* row of the report's list with which it begins */
    uint64_t zero_rows, zero_line;
    struct nsight_columns columns;
    char reason[200];
};

struct reading {
    struct nsight *nsight;
    struct csv csv;
    struct part part;
    size_t file;
    struct cg_text name;
    enum gpu_report named;           /* by the file's name */
    unsigned known_parts;            /* parts of ours so far */
    bool parsed[GPU_REPORT_COUNT];   /* a part of this report was parsed */
    uint64_t rows[GPU_REPORT_COUNT]; /* of parsed parts */
    size_t first[GPU_REPORT_COUNT];  /* rows of the report's list before this file */
};

static size_t row_count(const struct nsight *nsight, enum gpu_report report)
{
    if (report < NSIGHT_SUMMARIES) return nsight->totals[report].count;
    return report == GPU_REPORT_NVTX_RANGES ? nsight->ranges.count : nsight->timeline.count;
}

static void cut_rows(struct nsight *nsight, enum gpu_report report, size_t count)
{
    if (report < NSIGHT_SUMMARIES)
        nsight->totals[report].count = count;
    else if (report == GPU_REPORT_NVTX_RANGES)
        nsight->ranges.count = count;
    else
        nsight->timeline.count = count;
}

/* How a diagnostic names the file. Readers find failed reports by their names in diagnostics: a name that
 * holds another report's name must not get there. allowed: the report that failed, or NSIGHT_NO_REPORT. */
#define FILE_NAME_SIZE 600
static const char *file_name(const struct reading *reading, enum gpu_report allowed, char out[FILE_NAME_SIZE])
{
    const char *name = reading->name.bytes;
    bool tells = false;
    for (unsigned report = 0; report < GPU_REPORT_COUNT; report++)
        tells |= report != allowed && strstr(name, gpu_report_kind[report]);
    if (tells)
        snprintf(out, FILE_NAME_SIZE, "file %zu in order of names", reading->file + 1);
    else
        snprintf(out, FILE_NAME_SIZE, "%s", name);
    return out;
}

/* ---- parts ---- */

static void fail_part(struct reading *reading, uint64_t line, const char *what, const char *defect)
{
    struct part *part = &reading->part;
    if (part->failed) return;
    part->failed = true;
    snprintf(part->reason, sizeof part->reason, "line %llu: %s%s%s", (unsigned long long)line,
             what ? what : "", what ? ": " : "", defect);
}

static void say_failed(struct reading *reading)
{
    char name[FILE_NAME_SIZE];
    enum gpu_report report = reading->part.report;
    reading->nsight->gpu->parse_failed[report] = true;
    nsight_note(reading->nsight, "%s: %s could not be read: %s", file_name(reading, report, name),
                gpu_report_kind[report], reading->part.reason);
}

static void accept_part(struct reading *reading)
{
    struct nsight *nsight = reading->nsight;
    struct part *part = &reading->part;
    char name[FILE_NAME_SIZE];

    if (part->report == GPU_REPORT_KERNELS &&
        !nsight_merge(&nsight->totals[GPU_REPORT_KERNELS], part->first, false)) {
        cut_rows(nsight, part->report, part->first);
        fail_part(reading, reading->csv.line, NULL,
                  "the times or counts of one kernel add up to more than 64 bits");
        say_failed(reading);
        return;
    }
    nsight->gpu->coverage[part->report] = true;
    reading->parsed[part->report] = true;
    reading->rows[part->report] += row_count(nsight, part->report) - part->first;
    if (part->zero_rows)
        nsight_note(nsight, "%s: %llu rows of zero duration skipped, the first in line %llu of %s",
                    nsight_title[part->report], (unsigned long long)part->zero_rows,
                    (unsigned long long)part->zero_line, file_name(reading, NSIGHT_NO_REPORT, name));
}

static void end_part(struct reading *reading)
{
    struct part *part = &reading->part;
    char name[FILE_NAME_SIZE];

    if (part->report == NSIGHT_NO_REPORT || part->ignored) return;
    reading->known_parts++;
    if (!part->header && part->other_line)
        fail_part(reading, part->other_line, NULL,
                  "expected a header with a name and the times of the report");
    if (part->failed) {
        if (part->header) cut_rows(reading->nsight, part->report, part->first);
        say_failed(reading);
    } else if (part->header) {
        accept_part(reading);
    } else {
        nsight_note(reading->nsight, "%s: no data in %s", nsight_title[part->report],
                    file_name(reading, NSIGHT_NO_REPORT, name));
    }
}

static void begin_part(struct reading *reading, enum gpu_report report)
{
    reading->part = (struct part){.report = report};
    reading->nsight->parts++;
}

static void meet_title(struct reading *reading, struct cg_text word)
{
    struct part *part = &reading->part;
    bool later = part->header || part->titled || reading->known_parts > 0;
    if (part->header || part->titled) {
        end_part(reading);
        begin_part(reading, NSIGHT_NO_REPORT);
    }
    enum gpu_report report = nsight_report_of_word(word);
    /* A first part whose title says nothing to us is still what the file's name says. */
    if (report != NSIGHT_NO_REPORT)
        part->report = report;
    else if (later || part->report == NSIGHT_NO_REPORT)
        part->ignored = true;
    part->titled = true;
}

static void meet_header(struct reading *reading)
{
    reading->part.header = true;
    reading->part.first = row_count(reading->nsight, reading->part.report);
}

/* Is the split line the header that the part waits for? */
static bool is_header(struct part *part, const struct csv_cells *cells)
{
    if (part->ignored) return false;
    if (part->report != NSIGHT_NO_REPORT) return nsight_header(part->report, cells, &part->columns);
    enum gpu_report report = nsight_report_of_header(cells, &part->columns);
    if (report == NSIGHT_NO_REPORT) return false;
    part->report = report;
    return true;
}

/* ---- rows ---- */

static struct cg_text cell_of(const struct reading *reading, enum nsight_field field)
{
    size_t cell = reading->part.columns.cell[field];
    if (cell >= reading->csv.cells.count) return (struct cg_text){NULL, 0};
    return reading->csv.cells.at[cell];
}

/* Texts are taken as they are; an empty cell is an absent one. */
static cg_str text_cell(struct reading *reading, enum nsight_field field)
{
    struct cg_text cell = cell_of(reading, field);
    return cell.length ? nsight_intern(reading->nsight, cell) : CG_ABSENT;
}

/* False after failing the part. */
static bool number_cell(struct reading *reading, enum nsight_field field, bool required,
                        struct gpu_u64 *number)
{
    int got = nsight_number(cell_of(reading, field), reading->part.columns.scale[field], &number->value);
    number->known = got > 0;
    if (got > 0 || (got == 0 && !required)) return true;
    fail_part(reading, reading->csv.line, nsight_field_name[field],
              got == 0 ? "no value" : "expected a number from 0 to 18446744073709551615");
    return false;
}

/* The name, trimmed; empty: the row is no row. */
static struct cg_text name_cell(const struct reading *reading)
{
    struct cg_text name = cell_of(reading, NSIGHT_NAME);
    utf8_trim(&name.bytes, &name.length);
    if (reading->part.report == GPU_REPORT_NVTX_RANGES && name.length == 1 && name.bytes[0] == ':')
        name.length = 0;
    return name;
}

static void read_total(struct reading *reading, struct cg_text name)
{
    struct nsight *nsight = reading->nsight;
    struct nsight_total row = {.part = nsight->parts};
    struct gpu_u64 total;

    if (!number_cell(reading, NSIGHT_TOTAL, true, &total) ||
        !number_cell(reading, NSIGHT_COUNT, false, &row.count) ||
        !number_cell(reading, NSIGHT_AVERAGE, false, &row.average) ||
        !number_cell(reading, NSIGHT_MINIMUM, false, &row.minimum) ||
        !number_cell(reading, NSIGHT_MAXIMUM, false, &row.maximum))
        return;
    row.total = total.value;
    row.name = nsight_intern(nsight, name);
    row.category = text_cell(reading, NSIGHT_CATEGORY);
    struct nsight_totals *totals = &nsight->totals[reading->part.report];
    struct nsight_total *at = NSIGHT_ADD(nsight, totals);
    if (!at) return;
    row.order = nsight->orders++;
    *at = row;
}

static void read_interval(struct reading *reading, struct cg_text name)
{
    struct nsight *nsight = reading->nsight;
    struct part *part = &reading->part;
    struct nsight_interval row = {0};
    struct gpu_u64 start, duration;
    bool projection = part->report == GPU_REPORT_NVTX_RANGES;

    if (!number_cell(reading, NSIGHT_START, true, &start) ||
        !number_cell(reading, NSIGHT_DURATION, true, &duration) ||
        !number_cell(reading, NSIGHT_PROJECTED_START, projection, &row.projected_start) ||
        !number_cell(reading, NSIGHT_PROJECTED_DURATION, projection, &row.projected_duration) ||
        !number_cell(reading, NSIGHT_OPERATIONS, false, &row.operations))
        return;
    if (duration.value == 0 || (projection && row.projected_duration.value == 0)) {
        if (part->zero_rows++ == 0) part->zero_line = reading->csv.line;
        return;
    }
    row.start = start.value;
    row.duration = duration.value;
    row.name = nsight_intern(nsight, name);
    for (unsigned k = 0; k < NSIGHT_KEYS; k++)
        row.key[k] = text_cell(reading, NSIGHT_CORRELATION_ID + k);
    struct nsight_interval *at =
        projection ? NSIGHT_ADD(nsight, &nsight->ranges) : NSIGHT_ADD(nsight, &nsight->timeline);
    if (at) *at = row;
}

static void read_row(struct reading *reading)
{
    struct cg_text name = name_cell(reading);
    if (name.length == 0) return;
    if (reading->part.report < NSIGHT_SUMMARIES)
        read_total(reading, name);
    else
        read_interval(reading, name);
}

/* ---- lines ---- */

/* A record that may be a header again has no number where the part's time stands: rows, which are many, are
 * told apart by that alone. */
static bool may_be_header(const struct reading *reading)
{
    struct cg_text cell =
        cell_of(reading, reading->part.report < NSIGHT_SUMMARIES ? NSIGHT_TOTAL : NSIGHT_START);
    return cell.length == 0 || cell.bytes[0] < '0' || cell.bytes[0] > '9';
}

/* A line before the part's header; -1 at a structural defect. */
static int search_line(struct reading *reading, struct cg_text line)
{
    struct csv *csv = &reading->csv;
    struct cg_text word;

    if (nsight_title_line(line, &word)) {
        meet_title(reading, word);
    } else if (!nsight_preamble(line) && memchr(line.bytes, ',', line.length)) {
        if (csv_split(csv, line) > 0 && is_header(&reading->part, &csv->cells))
            meet_header(reading);
        else if (!reading->part.other_line)
            reading->part.other_line = csv->line;
    }
    csv_pass(csv);
    return 1;
}

/* A line behind the header. */
static int data_line(struct reading *reading, struct cg_text line)
{
    struct csv *csv = &reading->csv;
    struct cg_text word;

    if (nsight_preamble(line) &&
        (csv_split(csv, line) < 0 || csv->cells.count < reading->part.columns.needed)) {
        if (nsight_title_line(line, &word)) meet_title(reading, word);
        csv_pass(csv);
        return 1;
    }
    if (csv_record(csv) < 0) return -1;
    if (may_be_header(reading) && nsight_any_header(&csv->cells)) {
        end_part(reading);
        begin_part(reading, NSIGHT_NO_REPORT);
        if (is_header(&reading->part, &csv->cells)) meet_header(reading);
    } else if (!reading->part.failed) {
        read_row(reading);
    }
    return 1;
}

static void read_lines(struct reading *reading)
{
    struct cg_text line;
    int got;

    while (!reading->nsight->no_memory && (got = csv_line(&reading->csv, &line)) != 0) {
        if (got > 0 && line.length == 0)
            csv_pass(&reading->csv);
        else if (got > 0)
            got = reading->part.header ? data_line(reading, line) : search_line(reading, line);
        if (got < 0) {
            /* Where the next record begins is not known any more. */
            fail_part(reading, reading->csv.line, NULL, reading->csv.defect);
            break;
        }
    }
    end_part(reading);
}

/* ---- files ---- */

static int compare_starts(const void *a, const void *b, void *rows)
{
    const struct nsight_interval *all = rows;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (all[x].start != all[y].start) return all[x].start < all[y].start ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sorts the rows that this file added by start, stable. */
static void sort_file(struct nsight *nsight, struct nsight_intervals *rows, size_t first)
{
    size_t count = rows->count - first;
    if (count == 0) return;
    struct nsight_interval *from = rows->at + first;
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++)
        sorted = from[i - 1].start <= from[i].start;
    if (sorted) return;
    uint32_t *order = malloc(count * sizeof *order);
    struct nsight_interval *copy = malloc(count * sizeof *copy);
    if (order && copy) {
        for (size_t i = 0; i < count; i++)
            order[i] = (uint32_t)i;
        memcpy(copy, from, count * sizeof *copy);
        qsort_r(order, count, sizeof *order, compare_starts, copy);
        for (size_t i = 0; i < count; i++)
            from[i] = copy[order[i]];
    } else {
        nsight->no_memory = true;
    }
    free(order);
    free(copy);
}

static void add_limit(struct reading *reading, enum gpu_report report)
{
    struct nsight *nsight = reading->nsight;
    struct gpu_evidence *gpu = nsight->gpu;
    struct {
        struct nsight_limit *at;
        size_t count, room;
    } list = {nsight->limits, nsight->limit_count, nsight->limit_room};
    struct nsight_limit *limit = NSIGHT_ADD(nsight, &list);
    if (!limit) return;
    nsight->limits = list.at;
    nsight->limit_count = list.count;
    nsight->limit_room = list.room;
    bool plain = reading->known_parts == 1 && strstr(reading->name.bytes, gpu_report_kind[report]);
    limit->key = plain ? arena_string(&gpu->arena, reading->name.bytes)
                       : arena_printf(&gpu->arena, "%s#%s", reading->name.bytes, gpu_report_kind[report]);
    limit->rows = reading->rows[report];
    limit->limit = report < NSIGHT_SUMMARIES ? NSIGHT_SUMMARY_LIMIT : NSIGHT_TIMELINE_LIMIT;
    if (!limit->key.bytes) nsight->no_memory = true;
}

static void finish_file(struct reading *reading)
{
    struct nsight *nsight = reading->nsight;
    char hex[SHA256_HEX];
    bool any = false;

    for (unsigned report = 0; report < GPU_REPORT_COUNT; report++) {
        any |= reading->parsed[report];
        if (reading->parsed[report]) add_limit(reading, report);
    }
    sort_file(nsight, &nsight->ranges, reading->first[GPU_REPORT_NVTX_RANGES]);
    sort_file(nsight, &nsight->timeline, reading->first[GPU_REPORT_TIMELINE]);
    uint64_t size = reading->csv.size;
    bool whole = csv_close(&reading->csv, hex);
    if (!any) return;
    /* A later part with a structural defect ended the reading. */
    if (!whole && nsight_hash(nsight, reading->name, &size, hex) != 0) {
        nsight->failure = arena_printf(&nsight->gpu->arena, "%s: cannot be read again", reading->name.bytes);
        return;
    }
    nsight_add_artifact(nsight, &nsight->gpu->source_csv, reading->name, size, hex);
}

void nsight_read_csv(struct nsight *nsight, size_t file)
{
    struct reading reading = {.nsight = nsight, .file = file, .name = nsight->files.at[file]};
    int fd = nsight_open(nsight, reading.name);

    reading.named = nsight_report_of_file(reading.name.bytes);
    begin_part(&reading, reading.named);
    for (unsigned report = 0; report < GPU_REPORT_COUNT; report++)
        reading.first[report] = row_count(nsight, report);
    if (fd < 0) {
        if (reading.named == NSIGHT_NO_REPORT) return;
        snprintf(reading.part.reason, sizeof reading.part.reason, "%s", strerror(errno));
        say_failed(&reading);
        return;
    }
    if (csv_open(&reading.csv, fd))
        read_lines(&reading);
    else
        nsight->no_memory = true;
    finish_file(&reading);
}
