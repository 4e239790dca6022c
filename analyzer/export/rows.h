/* The slices of a trace on one time axis, in rows where each lies within or beside another: what readers of
 * other formats take for a thread. */
#ifndef CGTRACE_ANALYZER_EXPORT_ROWS_H
#define CGTRACE_ANALYZER_EXPORT_ROWS_H

#include "analyzer/viewer/slices.h"

/* What overlaps others in so many rows of its track is left out, and counted. */
enum { EXPORT_ROWS_MAX = 1024 };

struct export_row {
    uint32_t track;  /* of slices.tracks */
    uint32_t number; /* in its track, from 0: those from 1 on hold what overlaps without nesting */
    size_t first, count;
};

/* slices.list stands by row, start, then the longer first. Its starts are ns since origin_ns, the first host
 * time; a device clock is moved by the least that puts no interval before its call nor before that origin. */
struct export_rows {
    struct slices slices; /* lane_first is not kept; lane is the row's number in its track */
    struct export_row *list;
    size_t count;
    uint64_t left_out, origin_ns;
};

/* Sorts: n log n in the number of slices. False when memory is short; export_rows_free() takes it then too.
 */
bool export_rows_make(const struct cg_trace *trace, struct export_rows *rows);
void export_rows_free(struct export_rows *rows);

static inline bool export_row_is_host(const struct export_rows *rows, const struct export_row *row)
{
    return rows->slices.tracks[row->track].device == CG_ABSENT;
}
static inline uint64_t slice_end(const struct slice *slice)
{
    return cg_sat_add(slice->start, slice->duration);
}

/* Ends a text before the character that it was cut in, if it was. */
void export_cut(char *text);
/* What people call the row: `thread 7`, `cuda:0 stream 3`, and `(overlapping 2)` after it. Cut at size, ended
 * by NUL. */
void export_row_name(const struct cg_trace *trace, const struct export_rows *rows,
                     const struct export_row *row, char *text, size_t size);

/* The same for a device clock: `cuda:0 (clock gpu)`. */
void export_clock_name(const struct cg_trace *trace, const struct device_clock *clock, char *text,
                       size_t size);

/* The ends of the slices around a moment in one row, for walks in the order of the row. */
struct open_slices {
    struct open_slice {
        uint64_t end;
        uint32_t mark; /* the walker's */
    } * list;
    size_t count, capacity;
};
/* False when memory is short. */
bool open_slices_push(struct open_slices *open, uint64_t end, uint32_t mark);
/* The innermost one that has ended by `at` taken off; NULL when there is none. Valid up to the next push. */
const struct open_slice *open_slices_pop(struct open_slices *open, uint64_t at);

#endif
