#include "tests/unit/cmocka_tap.h"
#include "tests/unit/four_threads.h"

/* The recorder's own table, without the recorder. */
#include "preload/record/live.c"
#include "preload/record/owned.c"
#include "preload/signals.c"

struct session session;
__thread struct record_thread record_self __attribute__((tls_model("initial-exec")));

static struct record_storage storage_at(uint64_t address, uint64_t number)
{
    return (struct record_storage){
        .address = address, .bytes = number * 16, .storage = number, .owner = number % 3};
}

static void add(uint64_t address, uint64_t number)
{
    const struct record_storage storage = storage_at(address, number);
    struct record_storage past;

    assert_true(live_add(&storage, &past));
    assert_false(past.known);
}

static void assert_takes(uint64_t address, uint64_t number)
{
    struct record_storage taken;

    live_expect(address);
    assert_true(live_take(address, &taken));
    assert_true(taken.known && taken.address == address);
    assert_int_equal(taken.storage, number);
    assert_int_equal(taken.bytes, number * 16);
    assert_false(live_take(address, &taken));
    assert_false(taken.known);
}

static void what_is_added_is_taken_once(void **state)
{
    struct record_storage storage = storage_at(0x1000, 7), past;

    (void)state;
    live_reset();
    live_expect(0x1000); /* before there is a table */
    assert_false(live_take(0x1000, &past));
    assert_true(live_add(&storage, &past));
    storage.storage = 8;
    storage.bytes = 8 * 16;
    assert_true(live_add(&storage, &past));
    assert_true(past.known);
    assert_int_equal(past.storage, 7);
    assert_takes(0x1000, 8);
}

/* Through several sizes of the tables and more than one arena; every other one goes, in another order than
 * they came in. Steps: pages, and what a device gives out. */
static void all_of_many_stay(void **state)
{
    enum { MANY = 60000 };
    static const uint64_t steps[] = {256, 4096, 2 << 20};

    (void)state;
    for (unsigned s = 0; s < sizeof steps / sizeof *steps; s++) {
        live_reset();
        for (uint64_t i = 1; i <= MANY; i++)
            add(UINT64_C(0x7f0000000000) + i * steps[s], i);
        for (uint64_t i = MANY; i > 1; i -= 2)
            assert_takes(UINT64_C(0x7f0000000000) + i * steps[s], i);
        for (uint64_t i = 2; i <= MANY; i += 2)
            add(UINT64_C(0x7f0000000000) + i * steps[s], MANY + i);
        for (uint64_t i = 1; i <= MANY; i++)
            assert_takes(UINT64_C(0x7f0000000000) + i * steps[s], i % 2 ? i : MANY + i);
    }
    assert_true(arenas.count > 1);
}

static void owners_take_theirs_along(void **state)
{
    struct record_storage taken[32];
    unsigned count, sum = 0;

    (void)state;
    live_reset();
    for (uint64_t i = 1; i <= 3000; i++)
        add(i << 12, i);
    while ((count = live_take_owner(1, taken, 32)) > 0) {
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(taken[i].storage % 3, 1);
        sum += count;
    }
    assert_int_equal(sum, 1000);
    for (uint64_t i = 1; i <= 3000; i++)
        if (i % 3 != 1) assert_takes(i << 12, i);
}

static uint64_t shown;
static bool show(const struct record_storage *storage)
{
    assert_int_equal(storage->storage, ++shown);
    assert_int_equal(storage->generation, 5);
    return true;
}

static void they_are_shown_in_order(void **state)
{
    (void)state;
    live_reset();
    for (uint64_t i = 1; i <= 3000; i++)
        add((i * 7919 % 3001) << 12, i);
    assert_true(live_show(5, show));
    assert_int_equal(shown, 3000);
}

enum { EACH = 20000 };

/* Own storages come and go while others' do, and while the tables grow under all of them. */
static void *worker(void *number)
{
    uint64_t base = ((uint64_t)(uintptr_t)number + 1) << 36;
    struct record_storage storage, other;

    for (uint64_t i = 1; i <= EACH; i++) {
        storage = storage_at(base + (i << 12), i);
        live_expect(storage.address);
        if (!live_add(&storage, &other) || other.known) return "not added";
        if (i % 4 == 0 && (!live_take(storage.address, &other) || other.storage != i)) return "lost";
    }
    for (uint64_t i = 1; i <= EACH; i++)
        if (live_take(base + (i << 12), &other) != (i % 4 != 0)) return "wrong";
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    live_reset();
    run_four_threads(worker);
}

/* ---- a thread is taken away in the midst ---- */

enum { CROWD = 24 };

/* Fills the first shard with so many storages that its chains are long. */
static void fill_first_shard(uint64_t addresses[CROWD])
{
    unsigned found = 0;

    live_reset();
    for (uint64_t at = 1; found < CROWD; at++)
        if (shard_of(at << 12) == &shards[0]) {
            addresses[found++] = at << 12;
            add(at << 12, at);
        }
}

/* The calling thread has the shard, and goes. */
static void leave_first_shard(void)
{
    assert_int_equal(owned_take(&shards[0].lock), OWNED_TAKEN);
    owned_leave(&record_self);
    assert_int_equal(shards[0].lock, OWNED_LEFT);
}

static void assert_all_but(const uint64_t addresses[CROWD], uint64_t gone)
{
    struct record_storage taken;
    unsigned left = CROWD - (gone != 0);

    for (unsigned i = 0; i < CROWD; i++) {
        if (addresses[i] == gone) continue;
        assert_true(live_take(addresses[i], &taken));
        assert_int_equal(taken.storage, addresses[i] >> 12);
        assert_int_equal(taken.bytes, (addresses[i] >> 12) * 16);
        assert_int_equal(shards[0].used, --left);
    }
}

/* Of the storage that was being put into each slot, or taken out of it, nothing is there. */
static void a_slot_that_is_half_filled_is_empty(void **state)
{
    uint64_t addresses[CROWD];

    (void)state;
    for (uint32_t i = 0;; i++) {
        fill_first_shard(addresses);
        if (i == shards[0].slots) break;
        struct record_storage *slot = &shards[0].table[i];
        uint64_t gone = slot->known ? slot->address : 0;

        slot->known = false;
        slot->address = 0xbad000;
        shards[0].used++; /* as one that was coming has it */
        leave_first_shard();
        assert_all_but(addresses, gone);
    }
}

/* One that moves to an empty slot before it is in both for a moment; the slot was another's that was taken.
 */
static void one_that_is_in_two_slots_is_one(void **state)
{
    uint64_t addresses[CROWD];
    unsigned tried = 0;

    (void)state;
    for (uint32_t i = 0;; i++) {
        fill_first_shard(addresses);
        if (i == shards[0].slots) break;
        struct record_storage *hole = &shards[0].table[i];
        uint64_t gone = hole->known ? hole->address : 0;
        uint32_t next = (i + 1) & (shards[0].slots - 1);

        if (!gone || !shards[0].table[next].known ||
            home(shards[0].table[next].address, shards[0].slots) == next)
            continue;
        tried++;
        *hole = shards[0].table[next];
        leave_first_shard();
        assert_all_but(addresses, gone);
    }
    assert_true(tried > 0);
}

static pthread_barrier_t stage;

static void *hold_and_end(void *unused)
{
    assert_int_equal(owned_take(&shards[0].lock), OWNED_TAKEN);
    pthread_barrier_wait(&stage);
    pthread_barrier_wait(&stage);
    return unused;
}

static void who_waits_for_one_that_is_away_goes_on(void **state)
{
    uint64_t addresses[CROWD], before, waited;
    struct record_storage storage;
    pthread_t thread;

    (void)state;
    fill_first_shard(addresses);
    pthread_barrier_init(&stage, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, hold_and_end, NULL), 0);
    pthread_barrier_wait(&stage);
    before = monotonic_ns();
    assert_false(live_take(addresses[0], &storage));
    waited = monotonic_ns() - before;
    assert_true(waited >= LIMIT_MS * UINT64_C(900000) && waited < UINT64_C(10000000000));
    before = monotonic_ns();
    for (int i = 0; i < 1000; i++) /* once is enough */
        assert_false(live_take(addresses[0], &storage) || record_self.holds);
    assert_true(monotonic_ns() - before < LIMIT_MS * UINT64_C(1000000));
    pthread_barrier_wait(&stage);
    pthread_join(thread, NULL);
    while (syscall(SYS_tgkill, getpid(), shards[0].lock & OWNED_BY, 0) == 0)
        sched_yield();            /* the kernel lets it go a moment later */
    assert_all_but(addresses, 0); /* it has ended without a word */
}

/* A handler has interrupted the thread there, and calls us: it is told, and disturbs nothing. */
static void who_has_it_already_is_refused(void **state)
{
    uint64_t addresses[CROWD];
    struct record_storage storage;

    (void)state;
    fill_first_shard(addresses);
    assert_int_equal(owned_take(&shards[0].lock), OWNED_TAKEN);
    assert_false(live_take(addresses[0], &storage));
    assert_ptr_equal(record_self.holds, &shards[0].lock);
    owned_give(&shards[0].lock);
    assert_all_but(addresses, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_taken_once),
        cmocka_unit_test(all_of_many_stay),
        cmocka_unit_test(owners_take_theirs_along),
        cmocka_unit_test(they_are_shown_in_order),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(a_slot_that_is_half_filled_is_empty),
        cmocka_unit_test(one_that_is_in_two_slots_is_one),
        cmocka_unit_test(who_waits_for_one_that_is_away_goes_on),
        cmocka_unit_test(who_has_it_already_is_refused),
    };
    return run_tap(tests);
}
