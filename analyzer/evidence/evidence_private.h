/* Shared by the files that derive the evidence; each step uses what the earlier ones made. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_PRIVATE_H
#define CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_PRIVATE_H

#include <string.h>

#include "analyzer/evidence/evidence.h"

/* doc/spec/evidence.md 5, after the downgrades. */
bool capabilities_make(struct evidence *evidence);
/* doc/spec/evidence.md 6, 7, 8. */
void facts_make(struct evidence *evidence);
bool findings_make(struct evidence *evidence);
bool gaps_make(struct evidence *evidence);

/* First span that is measured and closed, in span order; CG_NONE when there is none. */
uint32_t evidence_measured_span(const struct cg_trace *trace);

static inline struct cg_text text_of(const char *literal)
{
    return (struct cg_text){literal, strlen(literal)};
}

#endif
