/*
 * Fat binaries. A header of 16 bytes (magic, version, header size, payload size) and entries after it, each
 * with a header of its own; what the header's fields mean was found out by looking at what nvcc 13 writes
 * with each --compress-mode:
 *
 *     0  u16 kind (1 PTX, 2 ELF)     4  u32 header bytes     8  u64 payload bytes
 *     16 u32 compressed bytes        40 u64 flags            56 u64 bytes when uncompressed
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tests/sim/image.h"

enum { KIND_PTX = 1, KIND_ELF = 2, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

/* One block in LZ4's block format (lz4_Block_format.md of the LZ4 project). False unless it fills `out`
 * exactly. */
static bool lz4_block(const uint8_t *in, size_t n, uint8_t *out, size_t room)
{
    const uint8_t *end = in + n;
    size_t at = 0;
    while (in < end) {
        unsigned token = *in++;
        size_t literals = token >> 4, match = token & 15;
        for (unsigned more = literals == 15 ? 255 : 0; more == 255 && in < end; literals += more)
            more = *in++;
        if (literals > (size_t)(end - in) || literals > room - at) return false;
        memcpy(out + at, in, literals);
        in += literals;
        at += literals;
        if (end - in < 2) break; /* the last sequence has literals only */
        size_t distance = (size_t)(in[0] | in[1] << 8);
        in += 2;
        for (unsigned more = match == 15 ? 255 : 0; more == 255 && in < end; match += more)
            more = *in++;
        match += 4;
        if (!distance || distance > at || match > room - at) return false;
        for (; match; match--, at++)
            out[at] = out[at - distance];
    }
    return at == room;
}

static CUresult payload(unsigned kind, const uint8_t *data, size_t bytes, struct sim_image *image)
{
    if (kind == KIND_ELF) return bytes < 64 ? CUDA_ERROR_INVALID_IMAGE : sim_image_cubin(data, bytes, image);
    if (kind == KIND_PTX) return sim_image_ptx((const char *)data, strnlen((const char *)data, bytes), image);
    return CUDA_SUCCESS;
}

static CUresult entry(const uint8_t *head, size_t header, size_t bytes, struct sim_image *image)
{
    uint16_t kind;
    uint32_t packed;
    uint64_t flags, unpacked;
    memcpy(&kind, head, sizeof kind);
    memcpy(&packed, head + 16, sizeof packed);
    memcpy(&flags, head + 40, sizeof flags);
    memcpy(&unpacked, head + 56, sizeof unpacked);
    const uint8_t *data = head + header;
    if (!(flags & (FLAG_LZ4 | FLAG_ZSTD))) return payload(kind, data, bytes, image);
    if (packed > bytes || unpacked > (size_t)1 << 32) return CUDA_ERROR_INVALID_IMAGE;
    uint8_t *out = sim_alloc(unpacked + 1);
    bool good = flags & FLAG_ZSTD ? ZSTD_decompress(out, unpacked, data, packed) == unpacked
                                  : lz4_block(data, packed, out, unpacked);
    CUresult r = good ? payload(kind, out, unpacked, image) : CUDA_ERROR_INVALID_IMAGE;
    free(out);
    return r;
}

CUresult sim_image_fatbin(const uint8_t *data, struct sim_image *image)
{
    uint16_t header;
    uint64_t total;
    memcpy(&header, data + 6, sizeof header);
    memcpy(&total, data + 8, sizeof total);
    const uint8_t *p = data + header, *end = p + total;
    while (end - p >= 64) {
        uint32_t entry_header;
        uint64_t bytes;
        memcpy(&entry_header, p + 4, sizeof entry_header);
        memcpy(&bytes, p + 8, sizeof bytes);
        if (entry_header < 64 || entry_header > (size_t)(end - p) || bytes > (size_t)(end - p) - entry_header)
            return CUDA_ERROR_INVALID_IMAGE;
        CUresult r = entry(p, entry_header, bytes, image);
        if (r) return r;
        p += entry_header + bytes;
    }
    return CUDA_SUCCESS;
}
