/* What the page knows of memory: the curve of live bytes by category, by span and by call; who held the peak;
 * storages as blocks; samples of the devices. */
#ifndef CGTRACE_ANALYZER_VIEWER_MEMORY_H
#define CGTRACE_ANALYZER_VIEWER_MEMORY_H

#include "analyzer/planes/planes.h"
#include "analyzer/viewer/names.h"

/* The curve of live bytes, and the groups of storages. */
struct memory_curve;

/* Blocks that the page gets where it has room for them. */
enum { MEMORY_BLOCKS_MAX = 40000 };

/* NULL when memory is short. */
struct memory_curve *memory_curve_make(const struct cg_trace *trace, const struct logical_memory *logical);
void memory_curve_free(struct memory_curve *curve);

/* Adds the parts "memory" (JSON), "curve", "blocks" and "samples". At most `most` storages become blocks, the
 * largest ones. False when memory is short. */
bool memory_pack(const struct cg_trace *trace, const struct logical_memory *logical,
                 const struct physical_memory *physical, const struct memory_curve *curve, size_t most,
                 struct names *names, struct parts *parts);

/* A part that is a JSON document: starts it into raw; finish with doc_finish(). */
struct json_doc *part_document(struct buffer *raw);

#endif
