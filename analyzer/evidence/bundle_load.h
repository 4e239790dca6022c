/* Loading files of a bundle in the pass that verifies it: the very bytes that are parsed are those that are
 * hashed, and each file is read once (doc/spec/bundle.md 11). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_BUNDLE_LOAD_H
#define CGTRACE_ANALYZER_EVIDENCE_BUNDLE_LOAD_H

#include "analyzer/evidence/bundle.h"

/* Is this file to be loaded? load may be NULL: nothing is. */
bool bundle_load_wants(const struct bundle_load *load, const struct bundle_file *file);

/* Loads such a file from the descriptor, which stays open, and hashes it to its end, also when it cannot be
 * understood: load->unreadable says why, and counts only once all files are verified. 0, or an errno value.
 */
int bundle_load_hashing(struct bundle_load *load, const struct bundle *bundle, const struct bundle_file *file,
                        int fd, uint64_t *size, char hex[SHA256_HEX]);

/* Frees what was loaded. */
void bundle_load_discard(struct bundle_load *load);

#endif
