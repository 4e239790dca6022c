/* Pair maps: keys that share their lowest bits, by which those met last are found, stay apart, also when
 * others come and go. */
#include "tests/unit/cmocka_tap.h"

#include "analyzer/planes/pair_map.h"

enum { KEYS = 400, APART = 16 }; /* as many as find one place */

static void test_same_lowest_bits(void **state)
{
    struct pair_map map = {0};
    bool made;
    (void)state;
    assert_null(pair_map_find(&map, APART, 0));
    for (uint32_t i = 1; i <= KEYS; i++) {
        struct pair_entry *entry = pair_map_insert(&map, i * APART, 0, &made);
        assert_non_null(entry);
        assert_true(made);
        entry->value = i;
    }
    for (uint32_t i = 1; i <= KEYS; i++) {
        assert_int_equal(pair_map_find(&map, i * APART, 0)->value, i);
        assert_int_equal(pair_map_insert(&map, i * APART, 0, &made)->value, i);
        assert_false(made);
        assert_null(pair_map_find(&map, i * APART, APART)); /* another key of the same place */
    }
    assert_int_equal(map.count, KEYS);
    pair_map_free(&map);
}

/* What was met last is taken out: it is not found, and enters as a new one; those that move into its place
 * are found where they are. */
static void test_removed(void **state)
{
    struct pair_map map = {0};
    bool made;
    (void)state;
    for (uint32_t i = 1; i <= KEYS; i++)
        pair_map_insert(&map, i, i, NULL)->value = i;
    for (uint32_t i = 1; i <= KEYS; i += 2) {
        struct pair_entry *entry = pair_map_insert(&map, i, i, &made);
        assert_false(made);
        pair_map_remove(&map, entry);
        assert_null(pair_map_find(&map, i, i));
    }
    for (uint32_t i = 2; i <= KEYS; i += 2)
        assert_int_equal(pair_map_find(&map, i, i)->value, i);
    assert_int_equal(pair_map_insert(&map, 1, 1, &made)->value, 0);
    assert_true(made);
    assert_int_equal(map.count, KEYS / 2 + 1);
    pair_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_lowest_bits),
                                       cmocka_unit_test(test_removed)};
    return run_tap(tests);
}
