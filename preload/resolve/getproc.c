/* cuGetProcAddress: the driver answers, and where it answers with a function that has a wrapper the program
 * gets the wrapper. Which symbol a name, version and flags lead to is the driver's business: the address it
 * returns says it, since the driver also exports that symbol. */
#include "preload/resolve/resolve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/hooks/bodies.h"

#define SLOTS 4096u
_Static_assert(HOOK_DRIVER_COUNT * 2 <= SLOTS, "the table of addresses is too small");

struct address_table {
    uintptr_t address[SLOTS];
    uint16_t hook[SLOTS];
};
static _Atomic(struct address_table *) table;

static uint32_t place(uintptr_t address)
{
    return (uint32_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 52);
}

/* The addresses of the driver's symbols. Built without a lock, since dlsym takes the loader's, and whoever
 * holds that one may be waiting for us; when two threads build it at once, one throws its own away. */
static struct address_table *addresses(void)
{
    struct address_table *known = atomic_load_explicit(&table, memory_order_acquire);
    if (known) return known;
    struct address_table *mine =
        mmap(NULL, sizeof *mine, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mine == MAP_FAILED) return NULL;
    unsigned found = 0;
    for (unsigned hook = 0; hook < HOOK_DRIVER_COUNT; hook++) {
        uintptr_t address = (uintptr_t)resolve_driver_symbol(hook_api_names[hook]);
        if (!address) continue;
        uint32_t at = place(address);
        while (mine->address[at])
            at = (at + 1) & (SLOTS - 1);
        mine->address[at] = address;
        mine->hook[at] = (uint16_t)hook;
        found++;
    }
    /* Release: the table's contents come before its address, which the load above acquires. */
    if (found && atomic_compare_exchange_strong_explicit(&table, &known, mine, memory_order_acq_rel,
                                                         memory_order_acquire))
        return mine;
    munmap(mine, sizeof *mine);
    return known;
}

/* Does this entry point answer to the asked name and flags? Asked only where a driver has one function under
 * several symbols. */
static bool fits(unsigned hook, const char *symbol, uint64_t flags)
{
    const char *name = hook_api_names[hook];
    size_t length = strlen(symbol), whole = strlen(name);
    if (strncmp(name, symbol, length) != 0) return false;
    bool per_thread = whole > 5 && (!strcmp(name + whole - 5, "_ptsz") || !strcmp(name + whole - 5, "_ptds"));
    return per_thread == ((flags & 2) != 0); /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
}

/* The entry point that the driver has at this address, or RESOLVE_NONE. */
static unsigned entry_at(const char *symbol, const void *address, uint64_t flags)
{
    struct address_table *known = addresses();
    unsigned chosen = RESOLVE_NONE;
    if (!known || !address) return RESOLVE_NONE;
    for (uint32_t at = place((uintptr_t)address); known->address[at]; at = (at + 1) & (SLOTS - 1)) {
        if (known->address[at] != (uintptr_t)address) continue;
        if (chosen == RESOLVE_NONE || fits(known->hook[at], symbol, flags)) chosen = known->hook[at];
        if (fits(chosen, symbol, flags)) break;
    }
    return chosen;
}

/* What is known and left alone, sorted. */
static const char *const passed[] = {
#define PASSED(name, reason) #name,
#include "preload/hooks/passed.def"
#undef PASSED
};

static int by_name(const void *name, const void *entry)
{
    return strcmp(name, *(const char *const *)entry);
}

/* A function without a wrapper whose name says nothing either: one of a later driver, or a later version of
 * one that has a wrapper. It passes through, and the trace says that something may have. */
static void uncovered(const char *symbol)
{
    if (bsearch(symbol, passed, sizeof passed / sizeof *passed, sizeof *passed, by_name)) return;
    record_gap(RECORD_GAP_UNKNOWN_ENTRY_POINT, 1);
}

/* The call of the program: which of the three it was, and with what. */
struct question {
    unsigned lookup;
    const char *symbol;
    int version;
    cuuint64_t flags;
};

/* Another tool behind us has answered with a function of its own: the driver's answer to the same question
 * tells what it stands for. */
static unsigned stands_for(const struct question *asked)
{
    void *driver = resolve_driver_symbol(hook_api_names[asked->lookup]), *function = NULL;
    int status = 0;
    CUresult result;
    if (!driver || driver == resolve_real(asked->lookup)) return RESOLVE_NONE; /* there is no such tool */
    if (asked->lookup == HOOK_cuGetProcAddress)
        result = ((__typeof__(&hook_cuGetProcAddress))driver)(asked->symbol, &function, asked->version,
                                                              asked->flags);
    else
        result = ((__typeof__(&hook_cuGetProcAddress_v2))driver)(asked->symbol, &function, asked->version,
                                                                 asked->flags, &status);
    return result == CUDA_SUCCESS ? entry_at(asked->symbol, function, asked->flags) : RESOLVE_NONE;
}

/* before: what stood in *function. Success with the pointer untouched means that there is no such function:
 * what stands there is the caller's, and is compared, not followed. */
static void substitute(CUresult result, const struct question *asked, void **function, const void *before)
{
    int kept = errno;
    if (result == CUDA_SUCCESS && asked->symbol && function && *function) {
        unsigned hook = entry_at(asked->symbol, *function, asked->flags);
        if (hook == RESOLVE_NONE && *function != before) hook = stands_for(asked);
        if (hook != RESOLVE_NONE && *function != resolve_wrapper(hook)) {
            atomic_store_explicit(&resolve_reals[hook], *function, memory_order_relaxed);
            *function = resolve_wrapper(hook);
        } else if (hook == RESOLVE_NONE && *function != before) {
            uncovered(asked->symbol);
        }
    }
    errno = kept;
}

#define HOOK_FAMILY "preload/hooks/lookup.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"

CUresult hook_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
    const void *before = function ? *function : NULL;
    const struct question asked = {HOOK_cuGetProcAddress, symbol, version, flags};
    CUresult result = REAL(cuGetProcAddress)(symbol, function, version, flags);
    substitute(result, &asked, function, before);
    return result;
}

CUresult hook_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                  int *status)
{
    const void *before = function ? *function : NULL;
    const struct question asked = {HOOK_cuGetProcAddress_v2, symbol, version, flags};
    CUresult result = REAL(cuGetProcAddress_v2)(symbol, function, version, flags, status);
    substitute(result, &asked, function, before);
    return result;
}

CUresult hook_cuGetProcAddress_v2_ptsz(const char *symbol, void **function, int version, cuuint64_t flags,
                                       int *status)
{
    const void *before = function ? *function : NULL;
    const struct question asked = {HOOK_cuGetProcAddress_v2_ptsz, symbol, version, flags};
    CUresult result = REAL(cuGetProcAddress_v2_ptsz)(symbol, function, version, flags, status);
    substitute(result, &asked, function, before);
    return result;
}
