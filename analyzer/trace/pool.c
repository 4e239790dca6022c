#include "analyzer/trace/pool.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* A block of order n has 2^n granules. The first granule of a chunk describes it, so that its free blocks are
 * one of each order when it is empty. */
enum { GRANULES = HUGE_PAGE / POOL_GRANULE, ORDERS = 9, FREE = 0x80 };

struct chunk {
    unsigned used;           /* blocks */
    uint8_t state[GRANULES]; /* at the first granule of a block: its order, and FREE */
};
_Static_assert(sizeof(struct chunk) <= POOL_GRANULE, "the description needs more than a granule");
_Static_assert(POOL_GRANULE << ORDERS == HUGE_PAGE, "the largest block is half a chunk");

struct free_block {
    struct free_block *next, **link; /* link: what points here */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct free_block *free_blocks[ORDERS];
static struct chunk *spare; /* without a block in use; its free blocks are listed like all others */

void *map_huge(size_t size)
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

static struct chunk *chunk_of(const void *block)
{
    return (struct chunk *)((uintptr_t)block / HUGE_PAGE * HUGE_PAGE);
}

static unsigned index_of(const void *block)
{
    return (unsigned)((uintptr_t)block % HUGE_PAGE / POOL_GRANULE);
}

static struct free_block *block_at(struct chunk *chunk, unsigned index)
{
    return (struct free_block *)(void *)((char *)chunk + (size_t)index * POOL_GRANULE);
}

static unsigned order_for(size_t size)
{
    unsigned order = 0;
    while ((size_t)POOL_GRANULE << order < size)
        order++;
    return order;
}

static void insert(struct chunk *chunk, unsigned index, unsigned order)
{
    struct free_block *block = block_at(chunk, index), **link = &free_blocks[order];
    *block = (struct free_block){*link, link};
    if (*link != NULL) (*link)->link = &block->next;
    *link = block;
    chunk->state[index] = (uint8_t)(order | FREE);
}

static void take_out(struct chunk *chunk, unsigned index)
{
    struct free_block *block = block_at(chunk, index);
    *block->link = block->next;
    if (block->next != NULL) block->next->link = block->link;
    chunk->state[index] &= (uint8_t)~FREE;
}

static bool add_chunk(void)
{
    struct chunk *chunk = map_huge(HUGE_PAGE);
    if (chunk == NULL) return false;
    for (unsigned order = 0; order < ORDERS; order++)
        insert(chunk, 1U << order, order);
    return true;
}

void *pool_allocate(size_t size)
{
    unsigned order = order_for(size), found = order;
    struct free_block *block = NULL;
    pthread_mutex_lock(&lock);
    while (found < ORDERS && free_blocks[found] == NULL)
        found++;
    if (found == ORDERS && add_chunk()) found = order;
    if (found < ORDERS) {
        block = free_blocks[found];
        struct chunk *chunk = chunk_of(block);
        unsigned index = index_of(block);
        if (chunk == spare) spare = NULL;
        take_out(chunk, index);
        while (found > order) {
            found--;
            insert(chunk, index + (1U << found), found);
        }
        chunk->state[index] = (uint8_t)order;
        chunk->used++;
    }
    pthread_mutex_unlock(&lock);
    return block;
}

void pool_free(void *block)
{
    struct chunk *chunk = chunk_of(block);
    unsigned index = index_of(block), order = chunk->state[index];
    pthread_mutex_lock(&lock);
    for (; order + 1 < ORDERS; order++) {
        unsigned buddy = index ^ 1U << order;
        if (chunk->state[buddy] != (order | FREE)) break;
        take_out(chunk, buddy);
        index &= ~(1U << order);
    }
    insert(chunk, index, order);
    if (--chunk->used == 0 && spare == NULL) {
        spare = chunk;
    } else if (chunk->used == 0) {
        for (order = 0; order < ORDERS; order++)
            take_out(chunk, 1U << order);
        munmap(chunk, HUGE_PAGE);
    }
    pthread_mutex_unlock(&lock);
}

size_t pool_capacity(const void *block)
{
    return (size_t)POOL_GRANULE << chunk_of(block)->state[index_of(block)];
}

bool pool_fits(const void *block, size_t size)
{
    return size > POOL_GRANULE / 2 && size <= POOL_MAX &&
           order_for(size) == chunk_of(block)->state[index_of(block)];
}
