/* Ways out: a trace in the formats of other tools, each with what it cannot hold. */
#ifndef CGTRACE_ANALYZER_EXPORT_EXPORT_H
#define CGTRACE_ANALYZER_EXPORT_EXPORT_H

#include "analyzer/export/rows.h"
#include "analyzer/export/tables.h"
#include "common/json_doc.h"

/* What a flame graph's numbers are: W(CONSTANT, "word", "meaning"). */
#define EXPORT_WEIGHTS(W)                                                                                    \
    W(TIME, "time", "host time by thread, in ns")                                                            \
    W(DEVICE_TIME, "device-time", "time of device intervals by span, in ns")                                 \
    W(BYTES, "bytes", "bytes allocated by span and call stack")
#define EXPORT_WEIGHT_CONSTANT(constant, word, meaning) EXPORT_WEIGHT_##constant,
enum export_weight { EXPORT_WEIGHTS(EXPORT_WEIGHT_CONSTANT) EXPORT_WEIGHT_COUNT };
#undef EXPORT_WEIGHT_CONSTANT

/* What is written, and what was: counts are the writer's to fill. */
struct export_job {
    const struct cg_trace *trace; /* with its extra fields */
    enum export_weight weight;    /* folded */
    const struct table *table;    /* csv: this table */
    json_sink *sink;
    void *context;
    uint64_t records;  /* slices, stacks or rows written */
    uint64_t left_out; /* slices that found no row */
};

struct export_format {
    const char *name, *about;
    bool weighed, tabular; /* takes a weight; is made of tables, one a file */
    /* Sentences without a final stop, ended by NULL. */
    const char *const *losses;
    /* 0, or an errno value: the sink's, or ENOMEM. */
    int (*write)(struct export_job *job);
};

#define FORMAT(name) extern const struct export_format export_##name;
#include "analyzer/export/formats.def"
#undef FORMAT

extern const struct export_format *const export_formats[];
extern const size_t export_format_count;
extern const char *const export_weight_names[EXPORT_WEIGHT_COUNT];
extern const char *const export_weight_meanings[EXPORT_WEIGHT_COUNT];

#endif
