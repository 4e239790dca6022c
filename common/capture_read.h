/* Reading a capture file: whose program died, or is still running. */
#ifndef CGTRACE_COMMON_CAPTURE_READ_H
#define CGTRACE_COMMON_CAPTURE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/capture.h"

uint64_t cap_publication_checksum(const struct cap_publication *publication);

/* A capture file in memory; every offset and size in it has been checked. */
struct cap_file {
    const char *bytes;
    size_t size;
    const struct cap_header *header;
    const struct cap_ring *rings;
    const char *strings;
    uint64_t strings_bytes; /* used */
    const char *stacks;
    uint64_t stacks_bytes; /* used; 0: no stack was recorded */
    uint32_t ring_count;
    const char *meta; /* NUL-ended */
};

/* bytes stay the caller's and must outlive *file. NULL, or what is wrong with it: static text. */
const char *cap_file_check(struct cap_file *file, const void *bytes, size_t size);

/* The newer publication whose checksum is right; false: there is none. */
bool cap_file_publication(const struct cap_file *file, struct cap_publication *publication);

/* The slots of one ring that are committed and not published, copied out. */
struct cap_rest {
    uint64_t first; /* number of the first slot */
    uint64_t count;
    struct cap_record *slots; /* malloc'd; NULL when count is 0 */
    int32_t tid;
    uint64_t lost;
};

/* The rest of every ring, and the publication that it follows: the two fit together also while the program
 * goes on recording, and what of file's strings and stacks is used is looked at anew for them. rests has
 * CAP_RINGS_MAX entries. *published is all zeros when nothing was published. False: memory is short. */
bool cap_file_rest(struct cap_file *file, struct cap_rest *rests, struct cap_publication *published);
void cap_rest_free(struct cap_rest *rests);

#endif
