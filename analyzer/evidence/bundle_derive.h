/* The evidence of a bundle, derived from the files in it: at publication from the staged copies, at semantic
 * verification from what was published (doc/spec/bundle.md 5.1 step 8, 10.1). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_BUNDLE_DERIVE_H
#define CGTRACE_ANALYZER_EVIDENCE_BUNDLE_DERIVE_H

#include "analyzer/evidence/evidence.h"

/* Reads the trace from the descriptor, which is closed whatever the result; name stands for it in messages.
 * Nsight reports are those of the directory "nsight" in root_fd, if there is one. Of the fields beyond the
 * format, which options->extras asks for, the evidence needs none.
 * On success both results are the caller's, the evidence to be freed first. Else the status of *error. */
int bundle_derive(int root_fd, const char *name, int trace_fd, const struct cg_load_options *options,
                  struct cg_trace **trace, struct evidence *evidence, struct cg_error *error);

#endif
