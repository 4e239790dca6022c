#include "common/hash256.h"

#include <string.h>

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t load(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* FIPS 180-4, 6.2.2. */
static void take_block(struct hash256 *hash, const unsigned char *block)
{
    uint32_t schedule[64], v[8];

    for (int t = 0; t < 16; t++)
        schedule[t] = load(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t x = schedule[t - 15], y = schedule[t - 2];

        schedule[t] = schedule[t - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + schedule[t - 7] +
                      (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
    }
    memcpy(v, hash->state, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t a = v[0], e = v[4];
        uint32_t first = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
                         round_constants[t] + schedule[t];
        uint32_t second =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

        memmove(&v[1], &v[0], 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        hash->state[i] += v[i];
}

void hash256_start(struct hash256 *hash)
{
    /* 5.3.3: likewise of the square roots of the first 8 primes. */
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(hash->state, initial, sizeof initial);
    hash->bytes = 0;
}

void hash256_add(struct hash256 *hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    while (length > 0) {
        size_t used = hash->bytes % sizeof hash->block;
        size_t part = sizeof hash->block - used < length ? sizeof hash->block - used : length;

        memcpy(hash->block + used, at, part);
        hash->bytes += part;
        at += part;
        length -= part;
        if (used + part == sizeof hash->block) take_block(hash, hash->block);
    }
}

void hash256_finish(struct hash256 *hash, unsigned char digest[HASH256_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    unsigned char length[8];
    uint64_t bits = hash->bytes * 8;

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    hash256_add(hash, padding, 1 + (119 - hash->bytes % 64) % 64);
    hash256_add(hash, length, sizeof length);
    for (int i = 0; i < HASH256_BYTES; i++)
        digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - i % 4 * 8));
}
