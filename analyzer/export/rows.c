#include "analyzer/export/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "common/utf8.h"

enum { LEFT_OUT = UINT16_MAX };

/* ---- open slices ---- */

bool open_slices_push(struct open_slices *open, uint64_t end, uint32_t mark)
{
    if (!array_room(&open->list, open->count, &open->capacity, sizeof *open->list)) return false;
    open->list[open->count++] = (struct open_slice){end, mark};
    return true;
}

const struct open_slice *open_slices_pop(struct open_slices *open, uint64_t at)
{
    if (!open->count || open->list[open->count - 1].end > at) return NULL;
    return &open->list[--open->count];
}

/* ---- one time axis ---- */

static uint64_t first_host_time(const struct slices *slices)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < slices->count; i++)
        if (slices->list[i].kind != SLICE_INTERVAL && slices->list[i].start < first)
            first = slices->list[i].start;
    return first == UINT64_MAX ? 0 : first;
}

/* Where a moment of a device clock lies after the origin. */
static uint64_t place(const struct device_clock *clock, uint64_t origin, uint64_t at)
{
    __int128 least = (__int128)origin - clock->first_ns;
    __int128 shift = clock->joined && clock->shift_ns > least ? clock->shift_ns : least;
    __int128 placed = (__int128)at + shift - origin;
    return placed < 0 ? 0 : placed > UINT64_MAX ? UINT64_MAX : (uint64_t)placed;
}

static void place_all(struct export_rows *rows)
{
    struct slices *slices = &rows->slices;
    rows->origin_ns = first_host_time(slices);
    for (size_t t = 0; t < slices->track_count; t++) {
        const struct track *track = &slices->tracks[t];
        for (size_t i = track->first; i < track->first + track->count; i++) {
            struct slice *slice = &slices->list[i];
            slice->start = track->device == CG_ABSENT
                               ? slice->start - rows->origin_ns
                               : place(&slices->clocks[track->clock], rows->origin_ns, slice->start);
        }
    }
}

/* ---- rows ---- */

static int compare_starts(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->duration != b->duration) return a->duration > b->duration ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int compare_rows(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    return a->lane != b->lane ? (a->lane < b->lane ? -1 : 1) : compare_starts(left, right);
}

/* Each slice goes into the first row where it lies within the innermost open one, or nothing is open. */
static bool assign_rows(struct slice *list, size_t count, struct open_slices *open)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t row = 0;
        for (; row < EXPORT_ROWS_MAX; row++) {
            while (open_slices_pop(&open[row], list[i].start)) {
            }
            if (!open[row].count || open[row].list[open[row].count - 1].end >= slice_end(&list[i])) break;
        }
        if (row < EXPORT_ROWS_MAX && !open_slices_push(&open[row], slice_end(&list[i]), 0)) return false;
        list[i].lane = row < EXPORT_ROWS_MAX ? (uint16_t)row : LEFT_OUT;
    }
    for (size_t row = 0; row < EXPORT_ROWS_MAX; row++)
        open[row].count = 0;
    return true;
}

static bool add_rows(struct export_rows *rows, uint32_t number, size_t *capacity)
{
    const struct track *track = &rows->slices.tracks[number];
    const struct slice *list = rows->slices.list;
    for (size_t i = track->first, end = i + track->count, next; i < end; i = next) {
        for (next = i; next < end && list[next].lane == list[i].lane; next++) {
        }
        if (list[i].lane == LEFT_OUT) {
            rows->left_out += next - i;
            continue;
        }
        if (!array_room(&rows->list, rows->count, capacity, sizeof *rows->list)) return false;
        rows->list[rows->count++] = (struct export_row){number, list[i].lane, i, next - i};
    }
    return true;
}

static bool split_tracks(struct export_rows *rows)
{
    struct open_slices *open = array_zeroed(EXPORT_ROWS_MAX, sizeof *open);
    size_t capacity = 0;
    bool good = open;
    for (uint32_t t = 0; good && t < rows->slices.track_count; t++) {
        const struct track *track = &rows->slices.tracks[t];
        struct slice *list = rows->slices.list + track->first;
        if (!track->count) continue;
        qsort(list, track->count, sizeof *list, compare_starts);
        good = assign_rows(list, track->count, open);
        qsort(list, track->count, sizeof *list, compare_rows);
        good = good && add_rows(rows, t, &capacity);
    }
    for (size_t row = 0; open && row < EXPORT_ROWS_MAX; row++)
        free(open[row].list);
    free(open);
    return good;
}

bool export_rows_make(const struct cg_trace *trace, struct export_rows *rows)
{
    *rows = (struct export_rows){0};
    if (!slices_make(trace, &rows->slices)) return false;
    free(rows->slices.lane_first);
    rows->slices.lane_first = NULL;
    place_all(rows);
    return split_tracks(rows);
}

void export_rows_free(struct export_rows *rows)
{
    slices_free(&rows->slices);
    free(rows->list);
    *rows = (struct export_rows){0};
}

void export_cut(char *text)
{
    text[utf8_valid_length(text, strlen(text))] = '\0';
}

void export_row_name(const struct cg_trace *trace, const struct export_rows *rows,
                     const struct export_row *row, char *text, size_t size)
{
    const struct track *track = &rows->slices.tracks[row->track];
    struct cg_text device = trace_text(trace, track->device), stream = trace_text(trace, track->stream);
    char overlap[40] = "";
    if (row->number) snprintf(overlap, sizeof overlap, " (overlapping %" PRIu32 ")", row->number);
    if (track->rest)
        snprintf(text, size, "further %s%s", track->device == CG_ABSENT ? "threads" : "streams", overlap);
    else if (track->device != CG_ABSENT)
        snprintf(text, size, "%.*s stream %.*s%s", (int)device.length, device.bytes, (int)stream.length,
                 stream.bytes, overlap);
    else if (track->known)
        snprintf(text, size, "thread %" PRIu64 "%s", track->tid, overlap);
    else
        snprintf(text, size, "thread not recorded%s", overlap);
    export_cut(text);
}

void export_clock_name(const struct cg_trace *trace, const struct device_clock *clock, char *text,
                       size_t size)
{
    struct cg_text device = trace_text(trace, clock->device), id = trace_text(trace, clock->clock_id);
    snprintf(text, size, "%.*s (clock %.*s%s)", (int)device.length, device.bytes, (int)id.length, id.bytes,
             clock->joined ? "" : ", not related to host time");
    export_cut(text);
}
