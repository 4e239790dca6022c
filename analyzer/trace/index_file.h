/* The container of an index: named arrays with a checksum each, and which file they were made from.
 *
 * Header, directory, arrays; in the byte order of the machine, which the header tells. Offsets and lengths
 * are held against the file before they are used, and an array's bytes against its checksum before they are
 * given out. What the bytes mean is checked by who asks for them. */
#ifndef CGTRACE_ANALYZER_TRACE_INDEX_FILE_H
#define CGTRACE_ANALYZER_TRACE_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json_doc.h"

/* What a file is known by. */
struct index_identity {
    uint64_t size, device, inode;
    int64_t modified_ns, changed_ns; /* st_mtim and st_ctim */
    uint64_t sample;                 /* hash of some blocks of it */
    uint64_t hash[2];                /* XXH3-128 of all of it */
    /* The file had just been changed when it was read, so that its times do not tell a later change. */
    uint64_t by_hash;
};

enum { INDEX_NAME = 48 };
/* One array to be written. The bytes stay the caller's. */
struct index_array {
    char name[INDEX_NAME];
    const void *bytes;
    uint64_t length;
};

/* Writes an index to a sink, from the first byte to the last. layout: of what the arrays mean; an index with
 * another one is not read. 0 or an errno value. */
int index_file_write(const struct index_identity *identity, uint64_t layout, const struct index_array *arrays,
                     size_t count, json_sink *sink, void *context, uint64_t *size);

struct index_file;
enum { INDEX_WHY = 200 };
/* Maps an index, privately and for reading only; the descriptor stays the caller's. NULL, and why says why in
 * some words, when it cannot be used. Until it is closed it is watched (index_watch.h). */
struct index_file *index_file_open(int fd, uint64_t layout, char why[INDEX_WHY]);
/* From now on what the program says rests on it. False, and why says why, when somebody has written into it.
 */
bool index_file_rely(struct index_file *file, char why[INDEX_WHY]);
/* The same for bytes that outlive it. */
struct index_file *index_file_of(const void *bytes, size_t length, uint64_t layout, char why[INDEX_WHY]);
void index_file_close(struct index_file *file);

const struct index_identity *index_file_identity(const struct index_file *file);
/* The bytes of an array, aligned to 64; NULL when there is none of this name and length, or when its checksum
 * is not that of its bytes. Of length 0: some address. Arrays are found fastest in the order in which they
 * were written. */
const void *index_file_array(struct index_file *file, const char *name, uint64_t length);
/* Whether an array that was given out is known to be zeros alone. */
bool index_file_zeros(const struct index_file *file, const void *array);
/* The length of an array; false when there is none. */
bool index_file_length(struct index_file *file, const char *name, uint64_t *length);

#endif
