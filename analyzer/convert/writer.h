/* What the parts of a trace are written from. Private to write.c and meta.c. */
#ifndef CGTRACE_ANALYZER_CONVERT_WRITER_H
#define CGTRACE_ANALYZER_CONVERT_WRITER_H

#include "analyzer/convert/lines.h"
#include "analyzer/convert/nest.h"

/* A row by its correlation. */
struct link {
    uint64_t correlation;
    uint32_t row;
};
struct writer {
    struct model *model;
    struct lines lines;
    struct nesting nesting;
    struct link *calls, *intervals; /* ascending, of equal ones the first in the file first */
    size_t call_count, interval_count;
    int64_t zero; /* of the file's clock: time 0 of the trace */
    uint64_t total;
    cg_str device; /* of calls whose work is not known */
    uint8_t *stack_shown;
};

/* The record meta. */
void write_meta(struct writer *writer);

/* The clock of a device's intervals. Returns id. */
enum { CLOCK_ID_SIZE = 96 };
const char *clock_id(const struct model *model, cg_str device, char id[CLOCK_ID_SIZE]);

#endif
