#include "analyzer/trace/block.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analyzer/trace/pool.h"

#ifdef __has_feature
#define CLANG_FEATURE(name) __has_feature(name)
#else
#define CLANG_FEATURE(name) 0
#endif

/* Small blocks come from malloc(), those up to POOL_MAX from the pool, larger ones are mappings of their own.
 * The first and the last have a header in front; blocks of the pool are those at multiples of POOL_GRANULE,
 * where no block with a header can lie. */
enum { HEADER = 64 };
#if defined __SANITIZE_ADDRESS__ || CLANG_FEATURE(address_sanitizer)
enum { SMALL = POOL_MAX }; /* the sanitizer knows the bounds of malloc()'s blocks alone */
#else
enum { SMALL = POOL_GRANULE / 2 };
#endif

struct header {
    size_t size;   /* of the block, without the header */
    size_t mapped; /* of the mapping, 0 when it comes from malloc() */
};

static struct header *header_of(void *block)
{
    return (struct header *)(void *)((char *)block - HEADER);
}

static bool pooled(const void *block)
{
    return (uintptr_t)block % POOL_GRANULE == 0;
}

static size_t capacity_of(void *block)
{
    return pooled(block) ? pool_capacity(block) : header_of(block)->size;
}

static size_t mapping_size(size_t size)
{
    return (size + HEADER + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

static void *resize_mapped(struct header *old, size_t size)
{
    size_t mapped = mapping_size(size);
    if (old->mapped >= mapped) {
        if (old->mapped > mapped) munmap((char *)old + mapped, old->mapped - mapped);
    } else {
        char *larger = map_huge(mapped);
        if (larger == NULL) return NULL;
        void *moved = mremap(old, old->mapped, old->mapped, MREMAP_MAYMOVE | MREMAP_FIXED, larger);
        if (moved == MAP_FAILED) {
            munmap(larger, mapped);
            return NULL;
        }
        old = moved;
    }
    *old = (struct header){size, mapped};
    return (char *)old + HEADER;
}

static void *new_block(size_t size)
{
    if (size > SMALL && size <= POOL_MAX) return pool_allocate(size);
    size_t mapped = size > POOL_MAX ? mapping_size(size) : 0;
    /* From a multiple of twice the header on, the block itself is at no multiple of that. */
    void *made = NULL;
    if (mapped > 0)
        made = map_huge(mapped);
    else if (posix_memalign(&made, 2 * HEADER, size + HEADER) != 0)
        return NULL;
    if (made == NULL) return NULL;
    *(struct header *)made = (struct header){size, mapped};
    return (char *)made + HEADER;
}

void *block_resize(void *block, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    if (block == NULL) return new_block(size);
    if (pooled(block) ? pool_fits(block, size) : header_of(block)->mapped > 0 && size > POOL_MAX)
        return pooled(block) ? block : resize_mapped(header_of(block), size);
    size_t kept = capacity_of(block) < size ? capacity_of(block) : size;
    void *made = new_block(size);
    if (made == NULL) return NULL;
    memcpy(made, block, kept);
    block_free(block);
    return made;
}

void *block_resize_zeroed(void *block, size_t used, size_t size)
{
    size_t before = block != NULL ? capacity_of(block) : 0;
    void *made = block_resize(block, size);
    /* A mapping is zero behind what was brought along. */
    size_t unclean = size > POOL_MAX && before < size ? before : size;
    if (made != NULL && used < unclean) memset((char *)made + used, 0, unclean - used);
    return made;
}

void *block_zeroed(size_t size)
{
    void *made = size > SIZE_MAX / 2 ? NULL : new_block(size);
    if (made != NULL && size <= POOL_MAX) memset(made, 0, size); /* a new mapping is zero */
    return made;
}

void block_free(void *block)
{
    if (block == NULL) return;
    if (pooled(block))
        pool_free(block);
    else if (header_of(block)->mapped > 0)
        munmap(header_of(block), header_of(block)->mapped);
    else
        free(header_of(block));
}

bool block_reserve_larger(void *array_address, size_t *capacity, size_t least, size_t element)
{
    void *array, *grown;
    size_t larger = *capacity != 0 ? *capacity : 64;
    if (least >= UINT32_MAX) return false;
    while (larger < least)
        larger *= 2;
    memcpy(&array, array_address, sizeof array);
    grown = block_resize(array, larger * element);
    if (grown == NULL) return false;
    memcpy(array_address, &grown, sizeof grown);
    *capacity = larger;
    return true;
}
