#include "analyzer/trace/block.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* MAPPED: blocks from here on are mapped, at addresses that huge pages need. */
enum { HEADER = 64, HUGE_PAGE = 2 << 20, MAPPED = 512 << 10 };

struct header {
    size_t size;   /* of the block, without the header */
    size_t mapped; /* of the mapping, 0 when it comes from malloc() */
};

static struct header *header_of(void *block)
{
    return (struct header *)(void *)((char *)block - HEADER);
}

/* A mapping whose address and size are multiples of a huge page. */
static void *map(size_t size)
{
    char *found = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)found % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) munmap(found, before);
    munmap(found + before + size, HUGE_PAGE - before);
    madvise(found + before, size, MADV_HUGEPAGE); /* advice: without huge pages all works the same */
    return found + before;
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
        char *larger = map(mapped);
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
    struct header *made;
    size_t mapped = size >= MAPPED ? mapping_size(size) : 0;
    if (mapped > 0)
        made = map(mapped);
    else
        made = aligned_alloc(HEADER, (size + HEADER + HEADER - 1) / HEADER * HEADER);
    if (made == NULL) return NULL;
    *made = (struct header){size, mapped};
    return (char *)made + HEADER;
}

void *block_resize(void *block, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    if (block == NULL) return new_block(size);
    struct header *old = header_of(block);
    if (old->mapped > 0 && size >= MAPPED) return resize_mapped(old, size);
    void *made = new_block(size);
    if (made == NULL) return NULL;
    memcpy(made, block, old->size < size ? old->size : size);
    block_free(block);
    return made;
}

void *block_zeroed(size_t size)
{
    void *made = size > SIZE_MAX / 2 ? NULL : new_block(size);
    if (made != NULL && header_of(made)->mapped == 0) memset(made, 0, size); /* a new mapping is zero */
    return made;
}

void block_free(void *block)
{
    if (block == NULL) return;
    struct header *header = header_of(block);
    if (header->mapped > 0)
        munmap(header, header->mapped);
    else
        free(header);
}
