/* bundle.json: reading it strictly. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_BUNDLE_MANIFEST_H
#define CGTRACE_ANALYZER_EVIDENCE_BUNDLE_MANIFEST_H

#include "analyzer/evidence/bundle.h"

/* Steps 2 to 5 of doc/spec/bundle.md 7: reads bundle.json below bundle->root_fd; fills run_id, files (in byte
 * order) and manifest_sha256. CG_EXIT_CONDITION or CG_EXIT_IO after filling *error. */
int bundle_manifest_read(struct bundle *bundle, struct cg_error *error);
/* The digest of bundle.json as it stands now, and nothing else. */
int bundle_manifest_digest(const struct bundle *bundle, char hex[SHA256_HEX], struct cg_error *error);
/* bundle_verify() that loads at the same time. */
int bundle_verify_loading(const char *root, struct bundle_load *load, struct bundle *bundle,
                          struct cg_error *error);
/* Opens a path below the root, following no link anywhere in it; -1 with errno set. */
int bundle_open_below(int root_fd, const char *path, int flags);

#endif
