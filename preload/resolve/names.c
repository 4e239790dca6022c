/* Names of the driver's entry points by hash, and their wrappers by number. The runtime's have no wrapper
 * that a look-up could give: see hooks/runtime.c. */
#include "preload/resolve/resolve.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/hooks/wrappers.h"

#define SLOTS 4096u /* power of two, at most half full */
_Static_assert(HOOK_DRIVER_COUNT * 2 <= SLOTS, "the table of names is too small");

static void *const wrappers[HOOK_DRIVER_COUNT] = {
#define HOOK(symbol, per_thread, kind, parameters, arguments, detail) [HOOK_##symbol] = (void *)hook_##symbol,
#include "preload/hooks/all.def"
};

const char *const hook_api_names[] = {
#define HOOK(symbol, per_thread, kind, parameters, arguments, detail) [HOOK_##symbol] = #symbol,
#include "preload/hooks/all.def"
#define RUNTIME(symbol, group, parameters, arguments, what) [HOOK_##symbol] = #symbol,
#include "preload/hooks/runtime.def"
};
const unsigned hook_api_count = HOOK_COUNT;

void *resolve_wrapper(unsigned hook)
{
    return wrappers[hook];
}

/* FNV-1a. */
static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h ^ h >> 15;
}

/* Entries are hook number + 1; 0 is a free place. Several threads may fill it at once before the first is
 * done (there is no moment before which nobody can ask): all write the same, in the same order, and each sees
 * at least what it wrote itself. */
static _Atomic uint16_t slots[SLOTS];
static _Atomic uint32_t filled;

static void fill(void)
{
    for (unsigned hook = 0; hook < HOOK_DRIVER_COUNT; hook++) {
        uint32_t at = hash(hook_api_names[hook]) & (SLOTS - 1);
        for (;; at = (at + 1) & (SLOTS - 1)) {
            uint16_t entry = atomic_load_explicit(&slots[at], memory_order_relaxed);
            if (entry == hook + 1) break;
            if (entry) continue;
            uint16_t expected = 0;
            if (atomic_compare_exchange_strong_explicit(&slots[at], &expected, (uint16_t)(hook + 1),
                                                        memory_order_relaxed, memory_order_relaxed) ||
                expected == hook + 1)
                break;
        }
    }
    /* Release: orders the entries above before the load of `filled` in resolve_name(). */
    atomic_store_explicit(&filled, 1, memory_order_release);
}

unsigned resolve_name(const char *name)
{
    if (!atomic_load_explicit(&filled, memory_order_acquire)) fill();
    for (uint32_t at = hash(name) & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
        uint16_t entry = atomic_load_explicit(&slots[at], memory_order_relaxed);
        if (!entry) return RESOLVE_NONE;
        if (strcmp(hook_api_names[entry - 1], name) == 0) return entry - 1u;
    }
}
