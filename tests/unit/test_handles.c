#include "tests/unit/cmocka_tap.h"
#include "tests/unit/four_threads.h"

/* The hooks' own table, without the hooks. */
#include "preload/hooks/handles.c"
#include "preload/signals.c"

static struct handle_map map;

static void values_come_back(void **state)
{
    (void)state;
    assert_int_equal(handle_get(&map, 0x10), 0); /* before there is a table */
    handle_put(&map, 0x10, 7, 1);
    handle_put(&map, 0x20, 8, 1);
    handle_put(&map, 0, 9, 1); /* no handle: not kept */
    assert_int_equal(handle_get(&map, 0x10), 7);
    assert_int_equal(handle_get(&map, 0x20), 8);
    assert_int_equal(handle_get(&map, 0), 0);
    assert_int_equal(handle_owner(&map, 0x20), 1);
    handle_put(&map, 0x10, 70, 2);
    assert_int_equal(handle_get(&map, 0x10), 70);
    assert_int_equal(handle_owner(&map, 0x10), 2);
    handle_forget(&map, 0x10);
    handle_forget(&map, 0x30); /* never there */
    assert_int_equal(handle_get(&map, 0x10), 0);
    assert_int_equal(handle_owner(&map, 0x10), 0);
    assert_int_equal(handle_get(&map, 0x20), 8);
    handle_forget_all(&map);
    assert_int_equal(handle_get(&map, 0x20), 0);
}

static void owners_take_theirs_along(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 300; i++)
        handle_put(&map, i << 4, i, i % 3); /* owner 0: not known */
    handle_forget_owner(&map, 1);
    for (uint64_t i = 1; i <= 300; i++)
        assert_int_equal(handle_get(&map, i << 4), i % 3 == 2 ? i : 0);
    handle_forget_all(&map);
}

/* Handles that come and go do not make it grow: the places of forgotten ones are used again. */
static void forgotten_places_are_used_again(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 200000; i++) {
        handle_put(&map, i * 0x40, i, 1);
        assert_int_equal(handle_get(&map, i * 0x40), i);
        if (i > 100) {
            handle_forget(&map, (i - 100) * 0x40);
            assert_int_equal(handle_get(&map, (i - 100) * 0x40), 0);
            assert_int_equal(handle_get(&map, (i - 50) * 0x40), i - 50);
        }
    }
    assert_true(atomic_load(&map.table)->mask < 1 << 16);
    handle_forget_all(&map);
}

static void all_of_many_stay(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 100000; i++)
        handle_put(&map, i << 8, i, i);
    for (uint64_t i = 1; i <= 100000; i++)
        assert_int_equal(handle_get(&map, i << 8), i);
    handle_forget_all(&map);
}

enum { EACH = 20000 };

/* Own handles are put, read and forgotten while others do the same and the table grows under all of them. */
static void *worker(void *number)
{
    uint64_t base = ((uint64_t)(uintptr_t)number + 1) << 32;
    for (uint64_t i = 1; i <= EACH; i++) {
        handle_put(&map, base + (i << 4), i, base);
        if (handle_get(&map, base + (i << 4)) != i) return "lost";
        if (i % 4 == 0) handle_forget(&map, base + (i << 4));
    }
    for (uint64_t i = 1; i <= EACH; i++)
        if (handle_get(&map, base + (i << 4)) != (i % 4 ? i : 0)) return "wrong";
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    run_four_threads(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(owners_take_theirs_along),
        cmocka_unit_test(forgotten_places_are_used_again),
        cmocka_unit_test(all_of_many_stay),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return run_tap(tests);
}
