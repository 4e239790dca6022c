/* Is it still the file that an index was made from? */
#ifndef CGTRACE_ANALYZER_TRACE_INDEX_IDENTITY_H
#define CGTRACE_ANALYZER_TRACE_INDEX_IDENTITY_H

#include "analyzer/trace/index_file.h"

/* Hashes content as it is read. */
struct index_hasher;
struct index_hasher *index_hasher_new(void); /* NULL when memory is short */
/* A tap of trace_load_descriptor(); context is the hasher. */
void index_hasher_tap(void *hasher, const void *bytes, size_t length);
/* Ends it, gives the hash, and frees the hasher. */
void index_hasher_end(struct index_hasher *hasher, uint64_t hash[2]);

/* All but the hash. False with errno. */
bool index_identity_of(int fd, struct index_identity *identity);
/* Waits, for FILE_SETTLED_NS at most, until a change of the file would show in its times; sets by_hash where
 * it would not even then. To be called before the file is read. */
bool index_identity_settle(int fd, struct index_identity *identity);
/* Same file, same size, same times, same blocks. */
bool index_identity_equal(const struct index_identity *a, const struct index_identity *b);

/* Whether the content of the file is what the index was made from. verify: whatever its times say, the whole
 * content is hashed. False, and why says why. */
bool index_identity_check(int fd, const struct index_identity *made_from, bool verify, char why[INDEX_WHY]);

#endif
