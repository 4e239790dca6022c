/* SHA-256 (FIPS 180-4), for the profiled process, which has no crypto library: digests of small texts. */
#ifndef CGTRACE_COMMON_HASH256_H
#define CGTRACE_COMMON_HASH256_H

#include <stddef.h>
#include <stdint.h>

struct hash256 {
    uint32_t state[8];
    uint64_t bytes; /* taken so far */
    unsigned char block[64];
};

enum { HASH256_BYTES = 32 };

void hash256_start(struct hash256 *hash);
void hash256_add(struct hash256 *hash, const void *bytes, size_t length);
void hash256_finish(struct hash256 *hash, unsigned char digest[HASH256_BYTES]);

#endif
