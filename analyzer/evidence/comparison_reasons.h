/* Which reasons speak against comparing two cohorts, in the order of doc/spec/compare.md 1.4. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_COMPARISON_REASONS_H
#define CGTRACE_ANALYZER_EVIDENCE_COMPARISON_REASONS_H

#include "analyzer/evidence/comparison.h"

/* Fills reasons, identity, the cohorts' implementation ids, paired and pairs of a comparison whose inputs are
 * set. False when memory is short. */
bool comparison_examine(struct comparison *comparison);

#endif
