/* A table of entries known by two numbers. Not thread-safe: its users hold a lock. A thread may be taken away
 * from under that in the midst of a change (record/owned.h): each step leaves all others' entries whole. */
#ifndef CGTRACE_PRELOAD_API_ID_TABLE_H
#define CGTRACE_PRELOAD_API_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every entry begins with its key; `first` is never 0. */
struct id_key {
    uint64_t first, second;
};

struct id_table {
    char *entries;
    uint32_t used, slots;
    uint32_t entry_bytes; /* set by the owner, the table else zeros */
    uint32_t limit;       /* entries it may have; 0: as many as memory holds */
};

/* NULL: there is none. The entry stays where it is until the next change of the table. */
void *id_table_find(const struct id_table *table, struct id_key key);
/* Adds a copy of this entry, whose key is not there yet; NULL: no memory, or the limit. */
void *id_table_add(struct id_table *table, const void *entry);
void id_table_remove(struct id_table *table, void *entry);
/* Puts right a table that was left in the midst of a change. */
void id_table_settle(struct id_table *table);
/* Empties it and gives its memory back. */
void id_table_empty(struct id_table *table);

#endif
