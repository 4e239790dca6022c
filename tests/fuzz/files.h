/* What the fuzz targets share: a folder of their own in memory, files in it, choices, a sink. */
#ifndef CGTRACE_TESTS_FUZZ_FILES_H
#define CGTRACE_TESTS_FUZZ_FILES_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A folder of this process, made at the first call and removed at its end. */
const char *fuzz_folder(void);
/* Its file of this name; the text is good until the 8th call after. */
const char *fuzz_path(const char *name);
/* Puts this content into it; aborts when that cannot be done. */
void fuzz_put(const char *name, const void *bytes, size_t length);

/* The parts of an input, between bytes 0x1e: the next one, or false. */
struct fuzz_parts {
    const uint8_t *at, *end;
};
int fuzz_part(struct fuzz_parts *parts, const uint8_t **bytes, size_t *length);

/* A choice below count that depends on every byte: inputs that differ in one choose differently. */
size_t fuzz_choice(const uint8_t *bytes, size_t length, size_t count);
/* A json_sink that keeps nothing, but reads all that it is given. */
int fuzz_discard(void *context, const char *bytes, size_t length);

#endif
