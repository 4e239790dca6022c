#include "analyzer/evidence/sha256.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 20, DIGEST_BYTES = 32 };

struct sha256 {
    EVP_MD_CTX *context;
    bool ok;
};

struct sha256 *sha256_start(void)
{
    struct sha256 *digest = malloc(sizeof *digest);
    if (!digest) return NULL;
    digest->context = EVP_MD_CTX_new();
    digest->ok = digest->context && EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL);
    return digest;
}

void sha256_add(struct sha256 *digest, const void *bytes, size_t length)
{
    digest->ok = digest->ok && EVP_DigestUpdate(digest->context, bytes, length);
}

bool sha256_finish(struct sha256 *digest, char hex[SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[EVP_MAX_MD_SIZE];
    bool ok = digest->ok && EVP_DigestFinal_ex(digest->context, bytes, NULL);

    for (size_t i = 0; ok && hex && i < DIGEST_BYTES; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    if (hex) hex[ok ? 2 * DIGEST_BYTES : 0] = '\0';
    EVP_MD_CTX_free(digest->context);
    free(digest);
    return ok;
}

bool sha256_bytes(const void *bytes, size_t length, char hex[SHA256_HEX])
{
    struct sha256 *digest = sha256_start();
    if (!digest) return false;
    sha256_add(digest, bytes, length);
    return sha256_finish(digest, hex);
}

int sha256_add_descriptor(struct sha256 *digest, int fd, uint64_t *size)
{
    char *buffer = malloc(READ_BYTES);
    int error = buffer ? 0 : ENOMEM;

    /* The next megabytes are read while these are hashed. */
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    while (!error) {
        ssize_t got = read(fd, buffer, READ_BYTES);
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            error = errno;
        } else {
            sha256_add(digest, buffer, (size_t)got);
            *size += (uint64_t)got;
        }
    }
    free(buffer);
    return error;
}

int sha256_descriptor(int fd, uint64_t *size, char hex[SHA256_HEX])
{
    struct sha256 *digest = sha256_start();
    *size = 0;
    if (!digest) return ENOMEM;
    int error = sha256_add_descriptor(digest, fd, size);
    if (!sha256_finish(digest, hex) && !error) error = ENOMEM;
    return error;
}

bool sha256_valid(const char *hex)
{
    size_t length = strnlen(hex, SHA256_HEX);
    for (size_t i = 0; i < length; i++)
        if (!isxdigit((unsigned char)hex[i])) return false;
    return length == SHA256_HEX - 1;
}

bool sha256_equal(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}
