#include "preload/record/live.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/record/lock.h"

enum { SHARDS = 64, FIRST_SLOTS = 256 };

/* Open addressing, linear probing, deletion by shifting back (Knuth, TAOCP vol. 3, 6.4, algorithm R). An
 * empty slot has known == false. At most half full. */
struct shard {
    _Atomic uint32_t lock;
    uint32_t used, slots;
    struct record_storage *table;
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];

static uint64_t mix(uint64_t address)
{
    return (address >> 8 ^ address) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct shard *shard_of(uint64_t address)
{
    return &shards[mix(address) >> 58];
}

static uint32_t home(const struct shard *shard, uint64_t address)
{
    return (uint32_t)(mix(address) >> 20) & (shard->slots - 1);
}

static struct record_storage *map_table(uint32_t slots)
{
    void *table = mmap(NULL, slots * sizeof(struct record_storage), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return table == MAP_FAILED ? NULL : table;
}

void live_reset(void)
{
    for (unsigned i = 0; i < SHARDS; i++) {
        if (shards[i].table) munmap(shards[i].table, shards[i].slots * sizeof *shards[i].table);
        memset(&shards[i], 0, sizeof shards[i]);
    }
}

/* Slot of address, or of the empty place where it would go. */
static uint32_t probe(const struct shard *shard, uint64_t address)
{
    uint32_t i = home(shard, address);

    while (shard->table[i].known && shard->table[i].address != address)
        i = (i + 1) & (shard->slots - 1);
    return i;
}

/* Room for one more. Called with the lock held; the lock is open while memory is fetched. */
static bool make_room(struct shard *shard)
{
    while (!shard->table || (shard->used + 1) * 2 > shard->slots) {
        uint32_t slots = shard->table ? shard->slots * 2 : FIRST_SLOTS, old_slots;
        struct record_storage *table, *old;

        lock_give(&shard->lock);
        table = map_table(slots);
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
            for (uint32_t i = 0; old && i < old_slots; i++)
                if (old[i].known) table[probe(shard, old[i].address)] = old[i];
        }
        if (old) munmap(old, old_slots * sizeof *old);
    }
    return true;
}

static void take_slot(struct shard *shard, uint32_t hole)
{
    uint32_t mask = shard->slots - 1;

    for (uint32_t i = (hole + 1) & mask; shard->table[i].known; i = (i + 1) & mask) {
        uint32_t from_home = (i - home(shard, shard->table[i].address)) & mask;

        if (from_home < ((i - hole) & mask)) continue;
        shard->table[hole] = shard->table[i];
        hole = i;
    }
    shard->table[hole].known = false;
    shard->used--;
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
