/* Open addressing with linear probing, at most half full; deletion shifts back (Knuth, TAOCP vol. 3, 6.4,
 * algorithm R).
 */
#include "preload/api/id_table.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/signals.h"
#include "preload/unnoticed.h"

enum { FIRST_SLOTS = 256 };

static struct id_key *slot(const struct id_table *table, uint32_t index)
{
    return (struct id_key *)(table->entries + (size_t)index * table->entry_bytes);
}

static uint32_t home(const struct id_table *table, struct id_key key)
{
    uint64_t mixed = (key.first ^ key.second * UINT64_C(0xff51afd7ed558ccd)) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(mixed >> 32) & (table->slots - 1);
}

/* The place of the key, or the empty one where it would go. */
static uint32_t probe(const struct id_table *table, struct id_key key)
{
    uint32_t i = home(table, key);

    while (slot(table, i)->first &&
           (slot(table, i)->first != key.first || slot(table, i)->second != key.second))
        i = (i + 1) & (table->slots - 1);
    return i;
}

void *id_table_find(const struct id_table *table, struct id_key key)
{
    struct id_key *found = table->entries ? slot(table, probe(table, key)) : NULL;

    return found && found->first ? found : NULL;
}

static bool grow(struct id_table *table)
{
    struct id_table larger = *table;
    void *entries;
    SIGNALS_HELD;
    ERRNO_KEPT;

    larger.slots = table->slots ? table->slots * 2 : FIRST_SLOTS;
    if (!larger.slots) return false;
    entries = mmap(NULL, (size_t)larger.slots * larger.entry_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (entries == MAP_FAILED) return false;
    larger.entries = entries;
    for (uint32_t i = 0; i < table->slots; i++)
        if (slot(table, i)->first)
            memcpy(slot(&larger, probe(&larger, *slot(table, i))), slot(table, i), table->entry_bytes);
    if (table->entries) munmap(table->entries, (size_t)table->slots * table->entry_bytes);
    *table = larger;
    return true;
}

/* Its first number last: an entry is there whole, or not. */
static void fill(const struct id_table *table, struct id_key *to, const struct id_key *from)
{
    to->first = 0;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(&to->second, &from->second, table->entry_bytes - offsetof(struct id_key, second));
    atomic_signal_fence(memory_order_seq_cst);
    to->first = from->first;
}

void *id_table_add(struct id_table *table, const void *given)
{
    struct id_key *entry;

    if (table->limit && table->used >= table->limit) return NULL;
    if ((uint64_t)(table->used + 1) * 2 > table->slots && !grow(table)) return NULL;
    entry = slot(table, probe(table, *(const struct id_key *)given));
    table->used++;
    fill(table, entry, given);
    return entry;
}

void id_table_remove(struct id_table *table, void *entry)
{
    uint32_t mask = table->slots - 1;
    uint32_t hole = (uint32_t)((size_t)((char *)entry - table->entries) / table->entry_bytes);

    for (uint32_t i = (hole + 1) & mask; slot(table, i)->first; i = (i + 1) & mask) {
        uint32_t from_home = (i - home(table, *slot(table, i))) & mask;

        if (from_home < ((i - hole) & mask)) continue;
        fill(table, slot(table, hole), slot(table, i));
        atomic_signal_fence(memory_order_seq_cst);
        hole = i;
    }
    slot(table, hole)->first = 0;
    table->used--;
}

/* An entry that a probe does not find where it is goes to where it does; one that was moving, and is there
 * already, goes. */
static bool settle_slot(const struct id_table *table, uint32_t i)
{
    struct id_key *from = slot(table, i);
    uint32_t place = home(table, *from);

    while (place != i && slot(table, place)->first &&
           (slot(table, place)->first != from->first || slot(table, place)->second != from->second))
        place = (place + 1) & (table->slots - 1);
    if (place == i) return false;
    if (!slot(table, place)->first) fill(table, slot(table, place), from);
    atomic_signal_fence(memory_order_seq_cst);
    from->first = 0;
    return true;
}

void id_table_settle(struct id_table *table)
{
    bool moved = table->slots > 0;

    while (moved) {
        moved = false;
        table->used = 0;
        for (uint32_t i = 0; i < table->slots; i++) {
            if (slot(table, i)->first) moved |= settle_slot(table, i);
            table->used += slot(table, i)->first != 0;
        }
    }
}

void id_table_empty(struct id_table *table)
{
    SIGNALS_HELD;
    ERRNO_KEPT;

    if (table->entries) munmap(table->entries, (size_t)table->slots * table->entry_bytes);
    table->entries = NULL;
    table->used = table->slots = 0;
}
