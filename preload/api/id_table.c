/* Open addressing with linear probing, at most half full; deletion shifts back (Knuth, TAOCP vol. 3, 6.4,
 * algorithm R).
 */
#include "preload/api/id_table.h"

#include <string.h>
#include <sys/mman.h>

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

void *id_table_add(struct id_table *table, struct id_key key)
{
    struct id_key *entry;

    if (table->limit && table->used >= table->limit) return NULL;
    if ((uint64_t)(table->used + 1) * 2 > table->slots && !grow(table)) return NULL;
    entry = slot(table, probe(table, key));
    memset(entry, 0, table->entry_bytes);
    *entry = key;
    table->used++;
    return entry;
}

void id_table_remove(struct id_table *table, void *entry)
{
    uint32_t mask = table->slots - 1;
    uint32_t hole = (uint32_t)((size_t)((char *)entry - table->entries) / table->entry_bytes);

    for (uint32_t i = (hole + 1) & mask; slot(table, i)->first; i = (i + 1) & mask) {
        uint32_t from_home = (i - home(table, *slot(table, i))) & mask;

        if (from_home < ((i - hole) & mask)) continue;
        memcpy(slot(table, hole), slot(table, i), table->entry_bytes);
        hole = i;
    }
    slot(table, hole)->first = 0;
    table->used--;
}

void id_table_empty(struct id_table *table)
{
    ERRNO_KEPT;

    if (table->entries) munmap(table->entries, (size_t)table->slots * table->entry_bytes);
    table->entries = NULL;
    table->used = table->slots = 0;
}
