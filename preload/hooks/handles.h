/* What is remembered about the driver's handles, by handle: streams, functions and kernels, contexts.
 *
 * A handle's meaning ends with the object: the driver gives the same value to the next one. So each entry is
 * forgotten by the call that destroys the object, and whoever meets a handle that is not here asks the
 * driver.
 *
 * Reading takes no lock. Writing takes one, is rare (first meetings and ends of life), and never calls out.
 */
#ifndef CGTRACE_PRELOAD_HOOKS_HANDLES_H
#define CGTRACE_PRELOAD_HOOKS_HANDLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/hidden.h"

struct handle_slot {
    _Atomic uint64_t handle; /* 0: free, and the end of a search */
    _Atomic uint64_t value;  /* 0: forgotten; the slot may be given to another handle */
    uint64_t owner;          /* under the lock */
};
struct handle_table {
    uint64_t mask;
    uint64_t used; /* under the lock */
    struct handle_slot slot[];
};
struct handle_map {
    _Atomic(struct handle_table *) table;
    struct handle_table *spare; /* under the lock: the one before, to be used again */
    _Atomic uint32_t lock;
};

/* A map, and a lock, that a forked child finds open: only the forking thread is left there, so nobody holds
 * any. */
struct handle_lock {
    _Atomic uint32_t *lock;
    struct handle_lock *next;
};
void handle_list_lock(struct handle_lock *listed);
void handle_open_locks(void);
#define HANDLE_LOCK_LISTED(flag, name)                                                                       \
    __attribute__((constructor)) static void name##_list(void)                                               \
    {                                                                                                        \
        static struct handle_lock listed = {.lock = &(flag)};                                                \
        handle_list_lock(&listed);                                                                           \
    }                                                                                                        \
    _Static_assert(1, "")
#define HANDLE_MAP(name)                                                                                     \
    struct handle_map name;                                                                                  \
    HANDLE_LOCK_LISTED(name.lock, name)

extern HIDDEN struct handle_map handle_streams; /* CUstream: slot of its context << 40 | device << 32 |
                                            number of its string; owner: its context */
/* CUfunction and CUkernel: number of the name, or from HOOK_NAME_PENDING on what names.c says; owner: the
 * module or library. */
extern HIDDEN struct handle_map handle_functions;
#define HOOK_NAME_PENDING (UINT64_C(1) << 32)
extern HIDDEN struct handle_map handle_stream_names; /* CUstream: its struct nvtx_text */
extern HIDDEN struct handle_map handle_contexts;     /* CUcontext: slot << 16 | device + 1 */

static inline uint64_t handle_hash(uint64_t handle)
{
    return (handle >> 4) * 0x9e3779b97f4a7c15u >> 20;
}

/* The value of a handle, 0 when there is none. */
static inline uint64_t handle_get(struct handle_map *map, uint64_t handle)
{
    /* Acquire: pairs with the release in handle_put(), which orders a table's contents before its address. */
    struct handle_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    if (!table || !handle) return 0;
    for (uint64_t at = handle_hash(handle) & table->mask;; at = (at + 1) & table->mask) {
        struct handle_slot *slot = &table->slot[at];
        /* Acquire: pairs with the release of the handle, which comes after its value. */
        uint64_t found = atomic_load_explicit(&slot->handle, memory_order_acquire);
        if (found == handle) {
            uint64_t value = atomic_load_explicit(&slot->value, memory_order_acquire);
            /* The slot may have become another handle's in between: its handle is taken away before its value
             * changes, and the acquire above orders this load after that of the value. */
            found = atomic_load_explicit(&slot->handle, memory_order_relaxed);
            return found == handle ? value : 0;
        }
        if (!found) return 0;
    }
}
/* Sets a handle's value. owner: what handle_forget_owner() forgets it by. Nothing is remembered where there
 * is no memory for it: the driver is asked again then. Keeps errno. */
void handle_put(struct handle_map *map, uint64_t handle, uint64_t value, uint64_t owner);
void handle_forget(struct handle_map *map, uint64_t handle);
/* Forgets all handles of this owner, and those whose owner was not known. */
void handle_forget_owner(struct handle_map *map, uint64_t owner);
/* Up to limit of the handles that there are; how many. */
unsigned handle_list(struct handle_map *map, uint64_t *handles, unsigned limit);
uint64_t handle_owner(struct handle_map *map, uint64_t handle);
void handle_forget_all(struct handle_map *map);

#endif
