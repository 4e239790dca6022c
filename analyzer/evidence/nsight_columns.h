/* Which report a CSV of `nsys stats` holds, and where its columns are: the header forms of all eras
 * (doc/spec/nsight.md 4 and 6). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_NSIGHT_COLUMNS_H
#define CGTRACE_ANALYZER_EVIDENCE_NSIGHT_COLUMNS_H

#include "analyzer/evidence/gpu.h"
#include "analyzer/evidence/nsight_csv.h"

#define NSIGHT_NO_REPORT GPU_REPORT_COUNT

/* What people call a report: "kernel summary". */
extern const char *const nsight_title[GPU_REPORT_COUNT];

/* The report that a file name tells, or NSIGHT_NO_REPORT. */
enum gpu_report nsight_report_of_file(const char *name);
/* A title line ` ** Title (report):`: *word is what stands in the brackets. */
bool nsight_title_line(struct cg_text line, struct cg_text *word);
enum gpu_report nsight_report_of_word(struct cg_text word);
/* Does the line begin like one that nsys prints before a header? */
bool nsight_preamble(struct cg_text line);

/* Fields of all rows. Summaries use the first block, timelines the second, both use NAME. */
enum nsight_field {
    NSIGHT_NAME,
    NSIGHT_TOTAL,
    NSIGHT_COUNT,
    NSIGHT_AVERAGE,
    NSIGHT_MINIMUM,
    NSIGHT_MAXIMUM,
    NSIGHT_CATEGORY,
    NSIGHT_CORRELATION_ID, /* the four join keys, in the order of their bits in gpu.h */
    NSIGHT_DEVICE,
    NSIGHT_CONTEXT,
    NSIGHT_STREAM,
    NSIGHT_START,
    NSIGHT_DURATION,
    NSIGHT_PROJECTED_START,
    NSIGHT_PROJECTED_DURATION,
    NSIGHT_OPERATIONS,
    NSIGHT_FIELD_COUNT
};
/* What a field is called in messages. */
extern const char *const nsight_field_name[NSIGHT_FIELD_COUNT];

/* A header that was recognised. */
struct nsight_columns {
    size_t cell[NSIGHT_FIELD_COUNT];    /* number of the cell, SIZE_MAX when the header lacks the field */
    unsigned scale[NSIGHT_FIELD_COUNT]; /* of times: power of ten that makes nanoseconds */
    size_t needed;                      /* cells that hold every required column */
};

/* Is this a complete header of the report: a name and every required time? */
bool nsight_header(enum gpu_report report, const struct csv_cells *cells, struct nsight_columns *columns);
/* The timeline that a header without title tells by its columns, or NSIGHT_NO_REPORT. */
enum gpu_report nsight_report_of_header(const struct csv_cells *cells, struct nsight_columns *columns);
/* Is it a complete header of any report? */
bool nsight_any_header(const struct csv_cells *cells);

#endif
