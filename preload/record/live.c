#include "preload/record/live.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/fetch.h"
#include "preload/record/lock.h"
#include "preload/record/owned.h"
#include "preload/record/pages.h"
#include "preload/record/session.h"
#include "preload/signals.h"

enum {
    SHARD_BITS = 6,
    SHARDS = 1 << SHARD_BITS,
    FIRST_BITS = 6, /* of a shard's first table: a page */
    ARENAS = 24,
    FIRST_ARENA = 512 << 10,
};

/* Open addressing, linear probing, deletion by shifting back (Knuth, TAOCP vol. 3, 6.4, algorithm R). An
 * empty slot has known == false. At most half full. A thread may be taken away in the midst of a change
 * (owned.h): no order of its steps loses another storage. */
struct shard {
    _Atomic uint32_t lock;
    uint32_t used, slots;
    struct record_storage *table;
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];
/* For live_expect(), which takes no lock and waits for no line that other threads store to: of each shard the
 * table's address, which ends in zeros, | the exponent of 2 that its slots are. */
static _Atomic uintptr_t hints[SHARDS];

static uint64_t mix(uint64_t address)
{
    return (address >> 8 ^ address) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct shard *shard_of(uint64_t address)
{
    return &shards[mix(address) >> (64 - SHARD_BITS)];
}

/* By the bits below those of the shard. */
static uint32_t home(uint64_t address, uint32_t slots)
{
    return (uint32_t)(mix(address) << SHARD_BITS >> 32) & (slots - 1);
}

/* ---- memory ----
 *
 * Tables stand side by side in a few mappings, each twice as large as the one before. With a mapping for each
 * they came to lie between those of the program, which the kernel then could not merge: a mapping of the
 * program's own took 100 ns more. */
static struct {
    _Atomic uint32_t lock;
    unsigned count; /* the last one is carved */
    struct {
        char *begin;
        size_t bytes;
    } arena[ARENAS];
    size_t used; /* of the last one */
} arenas;

/* Called with the lock held. */
static bool add_arena(size_t least)
{
    size_t bytes = arenas.count ? arenas.arena[arenas.count - 1].bytes * 2 : FIRST_ARENA;
    void *map;

    if (arenas.count == ARENAS) return false;
    if (bytes < least) bytes = least;
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return false;
    arenas.arena[arenas.count].begin = map;
    arenas.arena[arenas.count++].bytes = bytes;
    arenas.used = 0;
    return true;
}

/* A table of zeros, all of whose pages are there. */
static struct record_storage *make_table(uint32_t slots)
{
    size_t bytes = slots * sizeof(struct record_storage);
    char *table = NULL;

    lock_take(&arenas.lock);
    if ((arenas.count && bytes <= arenas.arena[arenas.count - 1].bytes - arenas.used) || add_arena(bytes)) {
        table = arenas.arena[arenas.count - 1].begin + arenas.used;
        arenas.used += bytes;
    }
    lock_give(&arenas.lock);
    if (table) pages_bring(table, bytes);
    return (struct record_storage *)(void *)table;
}

/* Its pages go, but those that it shares with its neighbours; its place is not used again: tables only become
 * larger. */
static void drop_table(struct record_storage *table, uint32_t slots)
{
    uintptr_t first = pages_up((uintptr_t)table), end = pages_down((uintptr_t)(table + slots));

    if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
}

void live_reset(void)
{
    for (unsigned i = 0; i < arenas.count; i++)
        munmap(arenas.arena[i].begin, arenas.arena[i].bytes);
    memset(&arenas, 0, sizeof arenas);
    memset(shards, 0, sizeof shards);
    memset(hints, 0, sizeof hints);
}

/* Slot of address, or of the empty place where it would go. */
static uint32_t probe(const struct shard *shard, uint64_t address)
{
    uint32_t i = home(address, shard->slots);

    while (shard->table[i].known && shard->table[i].address != address)
        i = (i + 1) & (shard->slots - 1);
    return i;
}

enum { LAST_WORD = offsetof(struct record_storage, known) / sizeof(uint64_t) * sizeof(uint64_t) };
_Static_assert(sizeof(struct record_storage) == LAST_WORD + sizeof(uint64_t), "known is in the last word");

/* What is known of the slot is whole at each step. */
HOT static void fill_slot(struct record_storage *slot, const struct record_storage *storage)
{
    struct record_storage whole = *storage;

    whole.known = true;
    slot->known = false;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(slot, &whole, LAST_WORD);
    atomic_signal_fence(memory_order_seq_cst);
    memcpy((char *)slot + LAST_WORD, (const char *)&whole + LAST_WORD, sizeof(uint64_t));
}

/* A slot on the way of a probe may have become empty before its storage, or the next, was in it; and a
 * storage that was moving be in two. Each goes to where a probe finds it, until none moves. */
static bool settle_slot(struct shard *shard, uint32_t i)
{
    const struct record_storage *from = &shard->table[i];
    uint32_t place = home(from->address, shard->slots);

    while (place != i && shard->table[place].known && shard->table[place].address != from->address)
        place = (place + 1) & (shard->slots - 1);
    if (place == i) return false;
    if (!shard->table[place].known) fill_slot(&shard->table[place], from);
    atomic_signal_fence(memory_order_seq_cst);
    shard->table[i].known = false;
    return true;
}

static __attribute__((noinline, cold)) void repair(struct shard *shard)
{
    bool moved = shard->slots > 0;

    while (moved) {
        moved = false;
        shard->used = 0;
        for (uint32_t i = 0; i < shard->slots; i++) {
            if (shard->table[i].known) moved |= settle_slot(shard, i);
            shard->used += shard->table[i].known;
        }
    }
}

/* False: another thread has it and is away. */
HOT static bool hold(struct shard *shard)
{
    enum owned held = owned_take(&shard->lock);

    if (unlikely(held == OWNED_AS_LEFT)) repair(shard);
    return likely(held != OWNED_REFUSED);
}

static void let_go(struct shard *shard)
{
    owned_give(&shard->lock);
}

/* Called with the lock held; the lock is open while memory is fetched. False: there is none, and the lock is
 * open. */
static __attribute__((noinline)) bool grow(struct shard *shard)
{
    SIGNALS_HELD;
    int past = errno;

    while (!shard->table || (shard->used + 1) * 2 > shard->slots) {
        uint32_t slots = shard->table ? shard->slots * 2 : 1 << FIRST_BITS, old_slots;
        struct record_storage *table, *old;

        let_go(shard);
        table = make_table(slots);
        errno = past;
        if (!table) return false;
        if (!hold(shard)) {
            drop_table(table, slots);
            errno = past;
            return false;
        }
        old = shard->table;
        old_slots = shard->slots;
        if (old && old_slots >= slots) { /* another thread was faster */
            old = table;
            old_slots = slots;
        } else {
            shard->table = table;
            shard->slots = slots;
            atomic_store_explicit(&hints[shard - shards], (uintptr_t)table | (unsigned)__builtin_ctz(slots),
                                  memory_order_relaxed);
            for (uint32_t i = 0; old && i < old_slots; i++)
                if (old[i].known) table[probe(shard, old[i].address)] = old[i];
        }
        if (old) drop_table(old, old_slots);
        errno = past;
    }
    return true;
}

/* Room for one more, as grow(). */
static inline bool make_room(struct shard *shard)
{
    return likely(shard->table && (shard->used + 1) * 2 <= shard->slots) || grow(shard);
}

HOT static void take_slot(struct shard *shard, uint32_t hole)
{
    uint32_t mask = shard->slots - 1;

    for (uint32_t i = (hole + 1) & mask; shard->table[i].known; i = (i + 1) & mask) {
        uint32_t from_home = (i - home(shard->table[i].address, shard->slots)) & mask;

        if (from_home < ((i - hole) & mask)) continue;
        fill_slot(&shard->table[hole], &shard->table[i]);
        atomic_signal_fence(memory_order_seq_cst);
        hole = i;
    }
    shard->table[hole].known = false;
    shard->used--;
}

HOT void live_expect(uint64_t address)
{
    const struct shard *shard = shard_of(address);
    uintptr_t hint = atomic_load_explicit(&hints[shard - shards], memory_order_relaxed);
    const struct record_storage *table = (const struct record_storage *)(hint & ~(uintptr_t)63);

    fetch_line(shard);
    /* The table may have been dropped by now: to fetch what is not there does no harm. */
    if (table) fetch_line(&table[home(address, 1u << (hint & 63))]);
}

HOT bool live_add(const struct record_storage *storage, struct record_storage *past)
{
    struct shard *shard = shard_of(storage->address);
    struct record_storage *slot;

    past->known = false;
    if (!hold(shard) || !make_room(shard)) return false;
    slot = &shard->table[probe(shard, storage->address)];
    *past = *slot;
    shard->used += !slot->known;
    fill_slot(slot, storage);
    let_go(shard);
    return true;
}

HOT bool live_take(uint64_t address, struct record_storage *storage)
{
    struct shard *shard = shard_of(address);

    storage->known = false;
    if (!hold(shard)) return false;
    if (shard->table) {
        uint32_t i = probe(shard, address);

        if (shard->table[i].known) {
            *storage = shard->table[i];
            take_slot(shard, i);
        }
    }
    let_go(shard);
    return storage->known;
}

unsigned live_take_owner(uint64_t owner, struct record_storage *storages, unsigned limit)
{
    unsigned taken = 0;

    for (unsigned s = 0; s < SHARDS && taken < limit; s++) {
        struct shard *shard = &shards[s];

        if (!hold(shard)) continue;
        for (uint32_t i = 0; i < shard->slots && taken < limit;) {
            if (shard->table[i].known && shard->table[i].owner == owner) {
                storages[taken++] = shard->table[i];
                take_slot(shard, i); /* another may have moved to i: look there again */
            } else {
                i++;
            }
        }
        let_go(shard);
    }
    return taken;
}

/* ---- showing ---- */

struct copies {
    struct record_storage *storages;
    size_t room, count;
};

static size_t copies_bytes(size_t room)
{
    return room * sizeof(struct record_storage);
}

/* Room for what the shard holds. Called with the lock held, which is open while memory is fetched. False:
 * there is none, or the shard is not to be had any more; and the lock is open. */
static bool make_copies(struct shard *shard, struct copies *copies)
{
    while (copies->room < copies->count + shard->used) {
        size_t room = copies->room ? copies->room * 2 : 1024;
        void *more;

        while (room < copies->count + shard->used)
            room *= 2;
        let_go(shard);
        more =
            copies->storages
                ? mremap(copies->storages, copies_bytes(copies->room), copies_bytes(room), MREMAP_MAYMOVE)
                : mmap(NULL, copies_bytes(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED) return false;
        copies->storages = more;
        copies->room = room;
        if (!hold(shard)) return false;
    }
    return true;
}

static bool claim_shard(struct shard *shard, uint64_t generation, struct copies *copies)
{
    if (!hold(shard)) {
        /* Its storages begin in no trace. record_gap() counts for an open session alone. */
        atomic_fetch_add_explicit(&session.header->gaps[CAP_GAP_UNKNOWN_FREE], 1, memory_order_relaxed);
        return true;
    }
    if (!make_copies(shard, copies)) return false;
    for (uint32_t i = 0; i < shard->slots; i++) {
        struct record_storage *storage = &shard->table[i];

        if (!storage->known) continue;
        storage->generation = generation;
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room for each that is known
        copies->storages[copies->count++] = *storage;
    }
    let_go(shard);
    return true;
}

static void sift(struct record_storage *storages, size_t at, size_t count)
{
    struct record_storage moved = storages[at];

    for (size_t below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && storages[below].storage < storages[below + 1].storage) below++;
        if (storages[below].storage <= moved.storage) break;
        storages[at] = storages[below];
    }
    storages[at] = moved;
}

/* By number. Heapsort (Knuth, TAOCP vol. 3, 5.2.3): the C library's sorting allocates memory. */
static void sort(struct record_storage *storages, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(storages, i, count);
    for (size_t i = count; i-- > 1;) {
        struct record_storage greatest = storages[0];

        storages[0] = storages[i];
        storages[i] = greatest;
        sift(storages, 0, i);
    }
}

bool live_show(uint64_t generation, bool (*show)(const struct record_storage *storage))
{
    struct copies copies = {NULL, 0, 0};
    bool good = true;

    for (unsigned s = 0; good && s < SHARDS; s++)
        good = claim_shard(&shards[s], generation, &copies);
    if (good) sort(copies.storages, copies.count);
    for (size_t i = 0; good && i < copies.count; i++)
        good = show(&copies.storages[i]);
    if (copies.storages) munmap(copies.storages, copies_bytes(copies.room));
    return good;
}
