#include "tests/unit/cmocka_tap.h"

/* The API's own table, without the API. */
#include "preload/api/id_table.c"
#include "preload/signals.c"

enum { COUNT = 100 };

struct entry {
    struct id_key key;
    uint64_t value;
};

static struct id_table table = {.entry_bytes = sizeof(struct entry)};

static struct entry entry_of(uint64_t number)
{
    return (struct entry){.key = {number, number * 3}, .value = number * 7};
}

static void fill_table(void)
{
    id_table_empty(&table);
    for (uint64_t i = 1; i <= COUNT; i++) {
        const struct entry entry = entry_of(i);

        assert_null(id_table_find(&table, entry.key));
        assert_non_null(id_table_add(&table, &entry));
    }
    assert_int_equal(table.used, COUNT);
}

/* All are there, but for one, and go one by one. */
static void assert_all_but(uint64_t gone)
{
    unsigned left = COUNT - (gone != 0);

    assert_int_equal(table.used, left);
    for (uint64_t i = 1; i <= COUNT; i++) {
        struct entry *found = id_table_find(&table, entry_of(i).key);

        if (i == gone) {
            assert_null(found);
            continue;
        }
        assert_non_null(found);
        assert_int_equal(found->value, i * 7);
        id_table_remove(&table, found);
        assert_int_equal(table.used, --left);
    }
}

static void what_is_added_is_found_until_it_goes(void **state)
{
    (void)state;
    fill_table();
    assert_all_but(0);
}

/* Of the entry that was being put into each slot, or taken out of it, nothing is there. */
static void a_slot_that_is_half_filled_is_empty(void **state)
{
    (void)state;
    for (uint32_t i = 0;; i++) {
        fill_table();
        if (i == table.slots) break;
        struct entry *entry = (struct entry *)slot(&table, i);
        uint64_t gone = entry->key.first;

        entry->key = (struct id_key){0, 999};
        table.used++; /* as one that was coming has it */
        id_table_settle(&table);
        assert_all_but(gone);
    }
}

/* One that moves to an empty slot before it is in both for a moment; the slot was another's that was removed.
 */
static void one_that_is_in_two_slots_is_one(void **state)
{
    unsigned tried = 0;

    (void)state;
    for (uint32_t i = 0;; i++) {
        fill_table();
        if (i == table.slots) break;
        uint32_t next = (i + 1) & (table.slots - 1);
        uint64_t gone = slot(&table, i)->first;

        if (!gone || !slot(&table, next)->first || home(&table, *slot(&table, next)) == next) continue;
        tried++;
        memcpy(slot(&table, i), slot(&table, next), table.entry_bytes);
        id_table_settle(&table);
        assert_all_but(gone);
    }
    assert_true(tried > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_found_until_it_goes),
        cmocka_unit_test(a_slot_that_is_half_filled_is_empty),
        cmocka_unit_test(one_that_is_in_two_slots_is_one),
    };
    return run_tap(tests);
}
