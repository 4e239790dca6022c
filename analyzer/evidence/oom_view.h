/* Failed allocations as queries, overviews and reports show them. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_OOM_VIEW_H
#define CGTRACE_ANALYZER_EVIDENCE_OOM_VIEW_H

#include "analyzer/evidence/evidence.h"
#include "analyzer/evidence/storage_view.h"
#include "analyzer/planes/oom.h"

#define OOM_DEFINITION                                                                                       \
    "Calls that returned CUDA_ERROR_OUT_OF_MEMORY (2). Alive are the storages of the device when the call "  \
    "began. device_memory is the first sample of the device since then, changes_before_sample counts the "   \
    "memory records of the device in between. What a pool held back is reserved for pools and in no "        \
    "storage. "                                                                                              \
    "What a framework's allocator gave out lies within storages of the driver, where the trace has both. "   \
    "Suspect storages are left out and counted."

enum { OOM_GROUPINGS = GROUP_BY_CATEGORY + 1 };

struct oom_view {
    const struct cg_trace *trace;
    const struct evidence *evidence; /* of the trace */
    const struct suspects *suspects; /* of storages; they are not in memory */
    struct suspects own_suspects;    /* where they were not given */
    struct logical_memory memory;
    struct span_paths paths;
    struct oom_failures failures;
    struct live_index index;
    struct storage_grouper *groupers[OOM_GROUPINGS];
    bool people; /* for a table: nothing twice */
};

/* The trace must have been loaded with its extra fields. suspects: of the trace, which then stay the
 * caller's; NULL: they are looked for here. False when memory is short. */
bool oom_view_make(const struct cg_trace *trace, const struct evidence *evidence,
                   const struct suspects *suspects, struct oom_view *view);
void oom_view_free(struct oom_view *view);

/* One failure as an object; the document fails when memory is short. */
void emit_oom_failure(struct json_doc *doc, const struct oom_view *view, uint64_t number);

/* A failure in a few words. */
struct oom_brief {
    uint32_t op, sample; /* rows; CG_NONE: no sample */
    const char *verdict;
    uint64_t live_bytes;
    uint64_t owner_bytes; /* of the call site that holds most; 0: nothing is alive */
    char owner[STORAGE_NAME_SIZE], span_path[STORAGE_NAME_SIZE];
};
/* False when memory is short. */
bool oom_brief_make(const struct oom_view *view, uint64_t number, struct oom_brief *brief);

/* The same as a row of a table; a bounded_row of the view. */
void emit_oom_brief(struct json_doc *doc, const void *view, uint64_t number);
/* Its count, and the first few in brief, as an object. */
void emit_oom_briefs(struct json_doc *doc, const struct oom_view *view);

#endif
