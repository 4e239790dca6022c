/* The pool of blocks: places, sizes, what is split and joined again, and what is given back. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "analyzer/trace/pool.h"
#include "tests/unit/cmocka_tap.h"

/* One of each size fills a chunk: its first granule describes it. */
enum { SIZES = 7, MOST = 64 };

static bool mapped(const void *block)
{
    unsigned char in_core;
    return mincore((void *)((uintptr_t)block / POOL_GRANULE * POOL_GRANULE), 1, &in_core) == 0;
}

static uintptr_t chunk_of(const void *block)
{
    return (uintptr_t)block / HUGE_PAGE;
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        size_t asked, capacity;
    } sizes[] = {{1, 4096},        {4096, 4096},     {4097, 8192},     {8192, 8192},
                 {100000, 131072}, {262145, 524288}, {524288, 524288}, {300000, 524288}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = pool_allocate(sizes[i].asked);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % POOL_GRANULE, 0);
        assert_int_equal(pool_capacity(block), sizes[i].capacity);
        memset(block, 0xA5, sizes[i].capacity);
        assert_int_equal(pool_capacity(block), sizes[i].capacity);
        pool_free(block);
    }
}

static void test_fits(void **state)
{
    (void)state;
    void *block = pool_allocate(10000); /* 16 KiB */
    assert_true(pool_fits(block, 8193));
    assert_true(pool_fits(block, 16384));
    assert_false(pool_fits(block, 8192));
    assert_false(pool_fits(block, 16385));
    assert_false(pool_fits(block, POOL_MAX + 1));
    pool_free(block);
    block = pool_allocate(1);
    assert_true(pool_fits(block, POOL_GRANULE / 2 + 1));
    assert_false(pool_fits(block, POOL_GRANULE / 2)); /* malloc() serves that */
    pool_free(block);
}

/* Three blocks of 512 KiB and one of each smaller size fill a chunk; all but the granule that describes it is
 * then in use, and freeing them, in whatever order, makes it whole again and gives it back, since another
 * empty one is kept. */
static void test_chunk(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 3; order++) {
        void *blocks[3 + SIZES];
        size_t count = 0;
        for (size_t size = POOL_GRANULE; size < POOL_MAX; size *= 2)
            blocks[count++] = pool_allocate(size);
        for (int i = 0; i < 3; i++)
            blocks[count++] = pool_allocate(POOL_MAX);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(chunk_of(blocks[i]), chunk_of(blocks[0]));
            memset(blocks[i], (int)i, pool_capacity(blocks[i]));
        }
        void *other = pool_allocate(1);
        assert_int_not_equal(chunk_of(other), chunk_of(blocks[0]));
        pool_free(other);
        for (size_t i = 0; i < count; i++) {
            const unsigned char *bytes = blocks[i];
            for (size_t at = 0; at < pool_capacity(blocks[i]); at += 1023)
                assert_int_equal(bytes[at], i);
        }
        for (size_t i = 0; i < count; i++) {
            assert_true(mapped(blocks[0]));
            pool_free(blocks[order == 0 ? i : order == 1 ? count - 1 - i : (i * 7 + 3) % count]);
        }
        assert_false(mapped(blocks[0]));
    }
}

/* A freed block is taken again before another chunk is made, joined with its buddy where it must be. */
static void test_reuse(void **state)
{
    (void)state;
    void *keep = pool_allocate(POOL_MAX), *small[MOST];
    for (int i = 0; i < MOST; i++)
        small[i] = pool_allocate(POOL_GRANULE);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(chunk_of(small[i]), chunk_of(keep));
    for (int i = 0; i < MOST; i += 2)
        pool_free(small[i]);
    for (int i = 1; i < MOST; i += 2)
        pool_free(small[i]);
    void *second = pool_allocate(POOL_MAX), *third = pool_allocate(POOL_MAX);
    assert_int_equal(chunk_of(second), chunk_of(keep));
    assert_int_equal(chunk_of(third), chunk_of(keep));
    pool_free(second);
    pool_free(third);
    pool_free(keep);
    void *next = pool_allocate(POOL_MAX); /* of the chunk that was kept */
    assert_int_equal(chunk_of(next), chunk_of(keep));
    pool_free(next);
}

/* Each thread fills its blocks with its own byte and finds it again. */
static void *churn(void *argument)
{
    uintptr_t seed = (uintptr_t)argument;
    unsigned char *blocks[16] = {0};
    bool ok = true;
    for (unsigned i = 0; i < 4000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned char **block = &blocks[seed >> 60];
        if (*block != NULL) {
            ok = ok && **block == (unsigned char)(uintptr_t)argument &&
                 (*block)[pool_capacity(*block) - 1] == (unsigned char)(uintptr_t)argument;
            pool_free(*block);
        }
        *block = pool_allocate((size_t)1 << (seed >> 40) % 20);
        if (*block == NULL) return NULL;
        **block = (*block)[pool_capacity(*block) - 1] = (unsigned char)(uintptr_t)argument;
    }
    for (unsigned i = 0; i < 16; i++)
        if (blocks[i] != NULL) pool_free(blocks[i]);
    return ok ? argument : NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
    for (uintptr_t i = 0; i < 3; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_int_equal((uintptr_t)result, i + 1);
    }
}

static void test_map_huge(void **state)
{
    (void)state;
    for (size_t size = HUGE_PAGE; size <= 3 * HUGE_PAGE; size += HUGE_PAGE) {
        unsigned char *bytes = map_huge(size);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % HUGE_PAGE, 0);
        assert_int_equal(bytes[0], 0);
        assert_int_equal(bytes[size - 1], 0);
        munmap(bytes, size);
    }
    assert_null(map_huge(SIZE_MAX / 4 / HUGE_PAGE * HUGE_PAGE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),   cmocka_unit_test(test_fits),
                                       cmocka_unit_test(test_chunk),   cmocka_unit_test(test_reuse),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_map_huge)};
    return run_tap(tests);
}
