/* SHA-256 as the bundle and the Nsight manifests write it: 64 lower-case hexadecimal digits. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_SHA256_H
#define CGTRACE_ANALYZER_EVIDENCE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX 65 /* digits and a NUL */

struct sha256; /* a digest in the making */

/* NULL when memory is short. */
struct sha256 *sha256_start(void);
void sha256_add(struct sha256 *digest, const void *bytes, size_t length);
/* Gives the digest and frees it; hex may be NULL. False when the library failed. */
bool sha256_finish(struct sha256 *digest, char hex[SHA256_HEX]);

/* Of bytes in memory. */
bool sha256_bytes(const void *bytes, size_t length, char hex[SHA256_HEX]);
/* Adds all that read() gives from here on, and its length to *size. 0, or an errno value. */
int sha256_add_descriptor(struct sha256 *digest, int fd, uint64_t *size);
/* Of all that read() gives from here on; *size is how many bytes that were. 0, or an errno value. */
int sha256_descriptor(int fd, uint64_t *size, char hex[SHA256_HEX]);

/* 64 hexadecimal digits of either case, and nothing else. */
bool sha256_valid(const char *hex);
/* Equality without regard to case. */
bool sha256_equal(const char *a, const char *b);

#endif
