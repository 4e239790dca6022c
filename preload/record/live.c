#include "preload/record/live.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/fetch.h"
#include "preload/record/lock.h"
#include "preload/record/pages.h"

enum {
    SHARD_BITS = 6,
    SHARDS = 1 << SHARD_BITS,
    FIRST_BITS = 6, /* of a shard's first table: a page */
    ARENAS = 24,
    FIRST_ARENA = 512 << 10,
};

/* Open addressing, linear probing, deletion by shifting back (Knuth, TAOCP vol. 3, 6.4, algorithm R). An
 * empty slot has known == false. At most half full. */
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

/* Its pages go, its place is not used again: tables only become larger. */
static void drop_table(struct record_storage *table, uint32_t slots)
{
    madvise(table, slots * sizeof *table, MADV_DONTNEED);
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

/* Room for one more. Called with the lock held; the lock is open while memory is fetched. */
static bool make_room(struct shard *shard)
{
    int past = errno;

    while (!shard->table || (shard->used + 1) * 2 > shard->slots) {
        uint32_t slots = shard->table ? shard->slots * 2 : 1 << FIRST_BITS, old_slots;
        struct record_storage *table, *old;

        lock_give(&shard->lock);
        table = make_table(slots);
        errno = past;
        lock_take(&shard->lock);
        if (!table) return false;
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

static void take_slot(struct shard *shard, uint32_t hole)
{
    uint32_t mask = shard->slots - 1;

    for (uint32_t i = (hole + 1) & mask; shard->table[i].known; i = (i + 1) & mask) {
        uint32_t from_home = (i - home(shard->table[i].address, shard->slots)) & mask;

        if (from_home < ((i - hole) & mask)) continue;
        shard->table[hole] = shard->table[i];
        hole = i;
    }
    shard->table[hole].known = false;
    shard->used--;
}

void live_expect(uint64_t address)
{
    const struct shard *shard = shard_of(address);
    uintptr_t hint = atomic_load_explicit(&hints[shard - shards], memory_order_relaxed);
    const struct record_storage *table = (const struct record_storage *)(hint & ~(uintptr_t)63);

    fetch_line(shard);
    /* The table may have been dropped by now: to fetch what is not there does no harm. */
    if (table) fetch_line(&table[home(address, 1u << (hint & 63))]);
}

bool live_add(const struct record_storage *storage, struct record_storage *past)
{
    struct shard *shard = shard_of(storage->address);
    bool room;

    past->known = false;
    lock_take(&shard->lock);
    room = make_room(shard);
    if (room) {
        struct record_storage *slot = &shard->table[probe(shard, storage->address)];

        *past = *slot;
        shard->used += !slot->known;
        *slot = *storage;
        slot->known = true;
    }
    lock_give(&shard->lock);
    return room;
}

bool live_take(uint64_t address, struct record_storage *storage)
{
    struct shard *shard = shard_of(address);

    storage->known = false;
    lock_take(&shard->lock);
    if (shard->table) {
        uint32_t i = probe(shard, address);

        if (shard->table[i].known) {
            *storage = shard->table[i];
            take_slot(shard, i);
        }
    }
    lock_give(&shard->lock);
    return storage->known;
}

unsigned live_take_owner(uint64_t owner, struct record_storage *storages, unsigned limit)
{
    unsigned taken = 0;

    for (unsigned s = 0; s < SHARDS && taken < limit; s++) {
        struct shard *shard = &shards[s];

        lock_take(&shard->lock);
        for (uint32_t i = 0; i < shard->slots && taken < limit;) {
            if (shard->table[i].known && shard->table[i].owner == owner) {
                storages[taken++] = shard->table[i];
                take_slot(shard, i); /* another may have moved to i: look there again */
            } else {
                i++;
            }
        }
        lock_give(&shard->lock);
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

/* Room for what the shard holds. Called with the lock held; it is open while memory is fetched. */
static bool make_copies(struct shard *shard, struct copies *copies)
{
    while (copies->room < copies->count + shard->used) {
        size_t room = copies->room ? copies->room * 2 : 1024;
        void *more;

        while (room < copies->count + shard->used)
            room *= 2;
        lock_give(&shard->lock);
        more =
            copies->storages
                ? mremap(copies->storages, copies_bytes(copies->room), copies_bytes(room), MREMAP_MAYMOVE)
                : mmap(NULL, copies_bytes(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        lock_take(&shard->lock);
        if (more == MAP_FAILED) return false;
        copies->storages = more;
        copies->room = room;
    }
    return true;
}

static bool claim_shard(struct shard *shard, uint64_t generation, struct copies *copies)
{
    bool room;

    lock_take(&shard->lock);
    room = make_copies(shard, copies);
    for (uint32_t i = 0; room && i < shard->slots; i++) {
        struct record_storage *storage = &shard->table[i];

        if (!storage->known) continue;
        storage->generation = generation;
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room for each that is known
        copies->storages[copies->count++] = *storage;
    }
    lock_give(&shard->lock);
    return room;
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
