/* Blocks of every kind: small ones, those of the pool, mappings, and the ways between them. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/block.h"
#include "analyzer/trace/pool.h"
#include "tests/unit/cmocka_tap.h"

/* Sizes of each kind, and where one ends and the next begins. */
static const size_t sizes[] = {1,        2048,         2049,    5000,           300000,        POOL_MAX - 64,
                               POOL_MAX, POOL_MAX + 1, 3000000, HUGE_PAGE - 64, HUGE_PAGE * 3, 100};
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool all_are(const unsigned char *bytes, size_t begin, size_t end, unsigned char value)
{
    for (size_t i = begin; i < end; i++)
        if (bytes[i] != value) return false;
    return true;
}

/* Leaves other bytes than zero where the next blocks will lie. */
static void soil(void)
{
    for (size_t i = 0; i < SIZES; i++) {
        void *block = block_resize(NULL, sizes[i]);
        assert_non_null(block);
        memset(block, 0xEE, sizes[i]);
        block_free(block);
    }
}

static void test_kept(void **state)
{
    (void)state;
    for (size_t from = 0; from < SIZES; from++) {
        for (size_t to = 0; to < SIZES; to++) {
            unsigned char *block = block_resize(NULL, sizes[from]);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 64, 0);
            memset(block, 0x5A, sizes[from]);
            block = block_resize(block, sizes[to]);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 64, 0);
            assert_true(all_are(block, 0, sizes[from] < sizes[to] ? sizes[from] : sizes[to], 0x5A));
            block_free(block);
        }
    }
}

static void test_zeroed(void **state)
{
    (void)state;
    void *keep = block_resize(NULL, 5000); /* so that soiled chunks of the pool stay */
    for (size_t from = 0; from < SIZES; from++) {
        for (size_t to = 0; to < SIZES; to++) {
            if (sizes[to] < sizes[from] / 2) continue;
            size_t used = sizes[from] / 2;
            soil();
            unsigned char *block = block_resize_zeroed(NULL, 0, sizes[from]);
            assert_true(all_are(block, 0, sizes[from], 0));
            memset(block, 0x5A, sizes[from]); /* more than is used */
            block = block_resize_zeroed(block, used, sizes[to]);
            assert_true(all_are(block, 0, used, 0x5A));
            assert_true(all_are(block, used, sizes[to], 0));
            block_free(block);
        }
        soil();
        unsigned char *zeroed = block_zeroed(sizes[from]);
        assert_true(all_are(zeroed, 0, sizes[from], 0));
        block_free(zeroed);
    }
    block_free(keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_zeroed)};
    return run_tap(tests);
}
