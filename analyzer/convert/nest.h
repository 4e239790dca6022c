/* Which span a thing of a thread belongs to: the innermost one that holds it whole. */
#ifndef CGTRACE_ANALYZER_CONVERT_NEST_H
#define CGTRACE_ANALYZER_CONVERT_NEST_H

#include "analyzer/convert/model.h"

/* Numbers of spans are those of the order in which they are written: by thread, start, then the longer first.
 * CG_NONE is the measured region, which holds everything. */
struct nesting {
    uint32_t *order;                         /* rows of model->spans */
    uint32_t *number;                        /* by row of model->spans */
    uint32_t *parent, *of_call, *of_storage; /* numbers, by row */
};

/* Cuts spans that reach over the end of the one around them by up to a microsecond, as rounding makes them,
 * and counts them and those that overlap others. n log n. False when memory is short. */
bool nesting_make(struct model *model, struct nesting *nesting);
void nesting_free(struct nesting *nesting);

#endif
