/* Semantic verification: does the evidence in a bundle follow from the trace in it (doc/spec/bundle.md 10)?
 */
#ifndef CGTRACE_ANALYZER_EVIDENCE_BUNDLE_SEMANTIC_H
#define CGTRACE_ANALYZER_EVIDENCE_BUNDLE_SEMANTIC_H

#include "analyzer/evidence/bundle.h"

/* Derives the evidence anew and compares it with evidence.json by value. *except_text: they differ, but only
 * in texts for people, as those of another version of the tool may. CG_EXIT_CONDITION when they differ in
 * more, with the JSON pointer of the first difference, or when one of the files cannot be understood. */
int bundle_semantic(const struct bundle *bundle, bool *except_text, struct cg_error *error);

#endif
