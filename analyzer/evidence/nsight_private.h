/* Shared by the files that read Nsight directories. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_NSIGHT_PRIVATE_H
#define CGTRACE_ANALYZER_EVIDENCE_NSIGHT_PRIVATE_H

#include "analyzer/evidence/nsight.h"
#include "analyzer/evidence/nsight_columns.h"
#include "analyzer/evidence/sha256.h"
#include "analyzer/trace/strings.h"

enum { NSIGHT_SUMMARY_LIMIT = 100, NSIGHT_TIMELINE_LIMIT = 500 };

/* The three summaries are the first reports of GPU_REPORTS. */
#define NSIGHT_SUMMARIES 3
_Static_assert((int)GPU_REPORT_MEMORY_OPERATIONS == NSIGHT_SUMMARIES - 1, "summaries come first");

enum { NSIGHT_KEYS = 4 }; /* correlation id, device, context, stream: bit k of gpu.h's join keys */

/* Rows before any cut; texts are interned, CG_ABSENT is an absent one. */
struct nsight_total {
    cg_str name, category;
    uint64_t total;
    struct gpu_u64 count, average, minimum, maximum;
    uint32_t part;  /* of which part of which file, in reading order */
    uint64_t order; /* in which rows were read */
};
struct nsight_totals {
    struct nsight_total *at;
    size_t count, room;
};
struct nsight_interval {
    cg_str name, label, key[NSIGHT_KEYS];
    uint64_t start, duration;
    struct gpu_u64 projected_start, projected_duration, operations;
};
struct nsight_intervals {
    struct nsight_interval *at;
    size_t count, room;
};

/* A report that was parsed: a limits entry in the making. */
struct nsight_limit {
    struct cg_text key;
    uint64_t rows, limit;
};

struct nsight {
    struct gpu_evidence *gpu;
    const struct nsight_labels *labels;
    struct cg_strings *strings;
    int directory;
    struct gpu_texts files; /* names of regular files, byte order */
    struct gpu_artifacts raw_reports;
    struct nsight_totals totals[NSIGHT_SUMMARIES];
    struct nsight_intervals ranges, timeline;
    struct nsight_limit *limits;
    size_t limit_count, limit_room;
    uint32_t parts;
    uint64_t orders;
    bool no_memory;
    struct cg_text failure; /* the overall status is failed, for this reason */
};

/* Adds a line to the diagnostics of the reports, or to those of the provenance. */
void nsight_note(struct nsight *nsight, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nsight_provenance(struct nsight *nsight, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for one element more, zeroed; NULL, after setting no_memory, when memory is short. */
void *nsight_room(struct nsight *nsight, void **at, size_t *count, size_t *room, size_t width);
#define NSIGHT_ADD(nsight, list)                                                                             \
    nsight_room(nsight, (void **)&(list)->at, &(list)->count, &(list)->room, sizeof *(list)->at)
cg_str nsight_intern(struct nsight *nsight, struct cg_text text);
struct cg_text nsight_text(struct nsight *nsight, cg_str string); /* a copy in the evidence's arena */

/* Reads one number of a cell (6, Numbers) times 10^scale: 1, 0 when empty, -1 when malformed. */
int nsight_number(struct cg_text cell, unsigned scale, uint64_t *value);

/* Reads one CSV file, number `file` of the directory; the path of every other entry is untouched. */
void nsight_read_csv(struct nsight *nsight, size_t file);
/* Merges, sorts and cuts the summaries (6); writes the timelines' first rows (7) and the limits. */
void nsight_finish_rows(struct nsight *nsight);
/* Makes one row of those of equal name and category from `first` on. A sum that does not fit 64 bits is a
 * failure within a part; across parts such rows stay apart. */
bool nsight_merge(struct nsight_totals *totals, size_t first, bool across_parts);

/* Opens the directory and lists its regular files; false after setting failure. */
bool nsight_list(struct nsight *nsight, int at, const char *dir);
/* Does the name say a raw report, of new or old versions? */
bool nsight_raw_report(struct cg_text name);
/* Frees what is not the evidence's. */
void nsight_release(struct nsight *nsight);
/* Opens a regular file below the directory without following links; -1 with errno. */
int nsight_open(const struct nsight *nsight, struct cg_text path);
/* Size and digest of a file. 0, or an errno value. */
int nsight_hash(const struct nsight *nsight, struct cg_text path, uint64_t *size, char hex[SHA256_HEX]);
bool nsight_add_artifact(struct nsight *nsight, struct gpu_artifacts *artifacts, struct cg_text path,
                         uint64_t size, const char *hex);

void nsight_read_manifest(struct nsight *nsight);
void nsight_check_manifest(struct nsight *nsight);

/* What the timeline says about one projection row (9). */
struct nsight_join {
    unsigned keys; /* join keys that the row has */
    uint64_t rows, operations, busy;
    bool exact; /* the declared operations are all joined */
};
/* One for each row of ranges, the caller's; NULL after setting no_memory. */
struct nsight_join *nsight_join(struct nsight *nsight);
/* How many of the ascending values are less than, or at most, the limit. */
size_t nsight_count_below(const uint64_t *values, size_t count, uint64_t limit, bool or_equal);
/* How many distinct correlation ids do the rows of a group have that overlap [from, to)? */
struct nsight_query {
    size_t group;
    uint64_t from, to;
    uint64_t *answer;
};
/* By group, then by end. */
void nsight_sort_queries(struct nsight_query *queries, size_t count);
/* Answers sorted queries about one group, whose rows are these in order of start; a row without an id counts
 * by itself. last has a 0 for each string. False when memory is short. */
bool nsight_distinct(const struct nsight_interval *rows, const uint32_t *by_start, size_t count,
                     struct nsight_query *queries, size_t query_count, size_t *last);

void nsight_correlate(struct nsight *nsight, const struct nsight_join *joins);
void nsight_attribute(struct nsight *nsight, const struct nsight_join *joins);

#endif
