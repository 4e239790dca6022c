/* A table of entries known by two numbers. Not thread-safe: its users hold a lock. */
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
/* A new entry, zeros behind its key, which is not there yet; NULL: no memory, or the limit. */
void *id_table_add(struct id_table *table, struct id_key key);
void id_table_remove(struct id_table *table, void *entry);
/* Empties it and gives its memory back. */
void id_table_empty(struct id_table *table);

#endif
