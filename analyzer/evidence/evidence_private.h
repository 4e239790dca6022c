/* Shared by the files that derive the evidence; each step uses what the earlier ones made. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_PRIVATE_H
#define CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_PRIVATE_H

#include <string.h>

#include "analyzer/evidence/evidence.h"

/* doc/spec/evidence.md 5, after the downgrades. */
bool capabilities_make(struct evidence *evidence);
/* doc/spec/evidence.md 6, 7, 8. */
bool facts_make(struct evidence *evidence);
bool findings_make(struct evidence *evidence);
bool gaps_make(struct evidence *evidence);

/* First span that is measured and closed, in span order; CG_NONE when there is none. */
uint32_t evidence_measured_span(const struct cg_trace *trace);

/* ---- stored evidence: what the emitters ask it for ---- */

enum stored_part {
    STORED_PROVENANCE,
    STORED_HEALTH,
    STORED_CAPABILITIES,
    STORED_TIMING,
    STORED_MEMORY,
    STORED_GRAPH,
    STORED_GRAPH_SUMMARY,
    STORED_ACTIVATIONS,
    STORED_PACKET,
    STORED_PART_COUNT
};
void stored_emit(struct json_doc *doc, const struct evidence *evidence, enum stored_part part);
uint64_t stored_issue_count(const struct evidence *evidence, enum health_severity severity);
uint64_t stored_rows(const struct evidence *evidence, enum evidence_list list);
void stored_emit_row(struct json_doc *doc, const struct evidence *evidence, enum evidence_list list,
                     uint64_t row);
/* A string member of a row; an absent text when it has none. */
struct cg_text stored_row_text(const struct evidence *evidence, enum evidence_list list, uint64_t row,
                               const char *member);
/* A number of a row; false when it has none. */
bool stored_row_u64(const struct evidence *evidence, enum evidence_list list, uint64_t row,
                    const char *member, uint64_t *value);
void stored_emit_host_cost(struct json_doc *doc, const struct evidence *evidence, size_t row);
void stored_emit_device_cost(struct json_doc *doc, const struct evidence *evidence, size_t row);
void stored_emit_heavy_span(struct json_doc *doc, const struct evidence *evidence, size_t row);
void stored_emit_operation(struct json_doc *doc, const struct evidence *evidence, size_t row);
void stored_emit_activation_state(struct json_doc *doc, const struct evidence *evidence, size_t state);
void stored_emit_definition(struct json_doc *doc, const struct evidence *evidence);
void stored_free(struct evidence *evidence);

static inline struct cg_text text_of(const char *literal)
{
    return (struct cg_text){literal, strlen(literal)};
}

#endif
