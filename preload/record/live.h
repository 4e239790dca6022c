/* The table of live storages: address to storage. Sharded, a short lock for each shard, never held across a
 * call. */
#ifndef CGTRACE_PRELOAD_RECORD_LIVE_H
#define CGTRACE_PRELOAD_RECORD_LIVE_H

#include <stdbool.h>

#include "preload/record/record.h"

/* Forgets everything; for a forked child, whose storages are its parent's. */
void live_reset(void);
/* One will soon be added, or taken, at this address: fetches the lines of memory that this will store to. */
void live_expect(uint64_t address);
/* Adds a storage; one that is there already under this address is returned in *past (known tells whether).
 * False: no memory for the table. */
bool live_add(const struct record_storage *storage, struct record_storage *past);
/* Takes out the storage at address; false: there is none. */
bool live_take(uint64_t address, struct record_storage *storage);
/* Takes out up to limit storages of this owner; call again until it returns 0. */
unsigned live_take_owner(uint64_t owner, struct record_storage *storages, unsigned limit);

/* Every storage belongs to this session from now on, which is being opened; then each is shown once, in the
 * order of their numbers, without a lock held. False: no memory, or show() said so. */
bool live_show(uint64_t generation, bool (*show)(const struct record_storage *storage));

#endif
