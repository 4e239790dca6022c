/* Publication of a bundle: all of it or nothing (doc/spec/bundle.md 5). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_BUNDLE_PUBLISH_H
#define CGTRACE_ANALYZER_EVIDENCE_BUNDLE_PUBLISH_H

#include "analyzer/evidence/bundle.h"
#include "analyzer/evidence/evidence.h"

/* Writes viewer.html of what was derived (the trace with its extra fields) through the sink; 0 or the status
 * of *error. */
typedef int bundle_page(const struct cg_trace *trace, const struct evidence *evidence, json_sink *sink,
                        void *context, struct cg_error *error);

/* Publishes the trace (a path, "-" for standard input; compressed ones are stored decompressed) and the files
 * of nsight_dir (NULL: none) as the bundle destination, with the page that write_page makes, by so many
 * threads (0: as many as help), whose number shows in none of its bytes. On success *bundle is the published
 * one, verified, to be closed by the caller. Else the status of *error, and nothing is left but parent
 * directories that were made; CG_EXIT_IO with the bundle in place only when its parent could not be synced,
 * which the message then says. */
int bundle_publish(const char *trace, const char *nsight_dir, const char *destination, unsigned threads,
                   bundle_page *write_page, struct bundle *bundle, struct cg_error *error);

#endif
