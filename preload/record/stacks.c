#include "preload/record/stacks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/settings.h"
#include "preload/record/lock.h"
#include "preload/record/modules.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/record/unwind.h"

enum {
    NUMBER_BITS = 22,
    KEPT_BYTES = 8 << NUMBER_BITS, /* for the frames of all stacks: address space, taken page by page */
    TABLE_SLOTS = 1 << 17,
    RECENT = 1 << 13,
    ALLOCATE_BYTES = 256 << 10,
};

/* What addresses, met lately, stand for: the upper bits of their hash, and the number of their stack. Not a
 * thread's own, since room in the static block of thread-local storage is scarce when this library is loaded
 * late. */
static _Atomic uint64_t recent[RECENT];

struct kept {
    _Atomic uint64_t place; /* low bits of a session's generation << 32 | number in its capture file */
    uint32_t hash;
    uint16_t count, flags;
    uint64_t frames[]; /* CAP_FRAME() */
};

/* Open addressing, linear probing, of numbers; 0: empty. Slots are only ever filled. A stack's number is its
 * offset / 8 in memory. Both outlive sessions and are a forked child's too. */
static _Atomic uint32_t *table;
static char *memory;
static uint64_t memory_used = 8;
static uint32_t table_used;
/* Counts the unloadings of code that was on a stack: addresses from before mean nothing since. */
static _Atomic uint64_t epoch;
static _Atomic uint32_t unloading; /* calls of dlclose that go on */

/* The session's. Under stacks_lock. */
static uint64_t attached;  /* its generation; 0: none */
static uint64_t allocated; /* bytes of the area that the file system has promised */
static uint32_t ordinals;

/* Whether addresses mean what they meant before: not while code is being unloaded. */
static bool is_steady(void)
{
    /* Acquire: what a dlclose found comes before its end. */
    return atomic_load_explicit(&unloading, memory_order_acquire) == 0;
}

/* ---- the capture file ---- */

/* Has the file system promise the area up to end. */
static bool allocate(uint64_t end)
{
    const struct cap_header *header = session.header;
    uint64_t more = end - allocated > ALLOCATE_BYTES ? end - allocated : ALLOCATE_BYTES;

    if (end <= allocated) return true;
    if (end > header->stacks_bytes) return false;
    if (more > header->stacks_bytes - allocated) more = header->stacks_bytes - allocated;
    if (file_allocate(&session.capture, header->stacks_offset + allocated, more)) return false;
    allocated += more;
    return true;
}

/* The next free bytes of the area, and its end behind them; NULL: no room. */
static void *append(uint64_t bytes, uint64_t *end)
{
    uint64_t offset = atomic_load_explicit(&session.header->stacks_used, memory_order_relaxed);

    *end = offset + ((bytes + 7) & ~UINT64_C(7));
    return allocate(*end) ? session.stacks + offset : NULL;
}

static bool put_module(uint32_t index)
{
    uint32_t *number = (uint32_t *)(void *)session.stacks + index;
    const struct module *module = modules_at(index);
    struct cap_module *to;
    uint64_t end;

    if (index == 0 || *number) return true;
    to = append(sizeof *to + module->path_length + module->id_length, &end);
    if (!to) return false;
    to->path_length = module->path_length;
    to->id_length = module->id_length;
    memcpy(to->bytes, module->path, module->path_length);
    memcpy(to->bytes + module->path_length, module->id, module->id_length);
    *number = (uint32_t)(((char *)to - session.stacks) / 8);
    atomic_store_explicit(&session.header->stacks_used, end, memory_order_release);
    return true;
}

static uint32_t put_stack(const struct kept *kept)
{
    struct cap_stack *to;
    uint64_t end;

    for (unsigned i = 0; i < kept->count; i++)
        if (!put_module(CAP_FRAME_MODULE(kept->frames[i]))) return 0;
    to = append(sizeof *to + kept->count * sizeof kept->frames[0], &end);
    if (!to) return 0;
    to->ordinal = ++ordinals;
    to->count = kept->count;
    to->flags = kept->flags;
    memcpy(to->frames, kept->frames, kept->count * sizeof kept->frames[0]);
    /* Release: the stack and its modules come before the length of the area that holds them. */
    atomic_store_explicit(&session.header->stacks_used, end, memory_order_release);
    return (uint32_t)(((char *)to - session.stacks) / 8);
}

HOT uint32_t stacks_place(uint32_t stack, uint64_t generation)
{
    struct kept *kept = (struct kept *)(void *)(memory + (uint64_t)stack * 8);
    uint64_t place;
    bool ours;

    if (!stack) return 0;
    /* Acquire: the stack is in the file before its number is known. */
    place = atomic_load_explicit(&kept->place, memory_order_acquire);
    if (likely(place >> 32 == (uint32_t)generation)) return (uint32_t)place;
    lock_take(&record_page->stacks_lock);
    ours = attached == generation;
    place = atomic_load_explicit(&kept->place, memory_order_relaxed);
    if (ours && place >> 32 != (uint32_t)generation) {
        uint32_t number = put_stack(kept);

        place = number ? generation << 32 | number : 0;
        atomic_store_explicit(&kept->place, place, memory_order_release);
    }
    lock_give(&record_page->stacks_lock);
    if (ours && !place) record_gap(RECORD_GAP_STACK, 1);
    return ours ? (uint32_t)place : 0;
}

/* ---- the stacks of the process ---- */

/* The number, or 0 and *at the empty slot where the stack would go. */
static uint32_t find(const struct kept *wanted, uint32_t *at)
{
    for (uint32_t i = wanted->hash & (TABLE_SLOTS - 1);; i = (i + 1) & (TABLE_SLOTS - 1)) {
        /* Acquire: the stack was stored before the slot that tells of it. */
        uint32_t number = atomic_load_explicit(&table[i], memory_order_acquire);
        const struct kept *kept = (const struct kept *)(void *)(memory + (uint64_t)number * 8);

        if (!number) {
            *at = i;
            return 0;
        }
        if (kept->hash == wanted->hash && kept->count == wanted->count && kept->flags == wanted->flags &&
            memcmp(kept->frames, wanted->frames, wanted->count * sizeof wanted->frames[0]) == 0)
            return number;
    }
}

static uint32_t keep(const struct kept *wanted)
{
    uint64_t bytes = sizeof *wanted + wanted->count * sizeof wanted->frames[0];
    uint32_t at, number = find(wanted, &at);

    if (number) return number;
    lock_take(&record_page->stacks_lock);
    number = find(wanted, &at);
    if (!number && table_used < TABLE_SLOTS / 2 && bytes <= KEPT_BYTES - memory_used) {
        memcpy(memory + memory_used, wanted, bytes);
        number = (uint32_t)(memory_used / 8);
        memory_used += bytes;
        table_used++;
        /* Release: the stack comes before the slot that tells of it. */
        atomic_store_explicit(&table[at], number, memory_order_release);
    }
    lock_give(&record_page->stacks_lock);
    if (!number) record_gap(RECORD_GAP_STACK, 1);
    return number;
}

/* ---- the calling thread's ---- */

/* False: it could not be done now. */
static bool look_at_modules(void)
{
    bool used_gone, looked = modules_refresh(&used_gone);

    if (used_gone) {
        unwind_forget();
        atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
    }
    return looked;
}

/* What the addresses stand for. *steady: it will be that the next time. */
static uint32_t resolve(const uintptr_t *addresses, int count, bool cut, bool *steady)
{
    char room[sizeof(struct kept) + CAP_FRAMES_MAX * sizeof(uint64_t)] __attribute__((aligned(8)));
    struct kept *wanted = (struct kept *)(void *)room;
    bool top = true;

    *wanted = (struct kept){.flags = cut ? CAP_STACK_CUT : 0};
    if (!look_at_modules()) {
        *steady = false;
        record_gap(RECORD_GAP_STACK, 1);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        uintptr_t address = addresses[i];
        uint32_t index = modules_find(address);
        const struct module *module = modules_at(index);

        top = top && index && module->internal;
        if (top) continue;
        if (wanted->count == session.settings.stack_depth) {
            wanted->flags = CAP_STACK_CUT;
            break;
        }
        wanted->frames[wanted->count++] = CAP_FRAME(index, address - (index ? module->bias : 0));
    }
    if (wanted->count == 0) return 0;
    wanted->hash = (uint32_t)XXH3_64bits(wanted->frames, wanted->count * sizeof wanted->frames[0]);
    return keep(wanted);
}

HOT uint32_t stacks_here(struct record_thread *thread)
{
    const uint64_t number_mask = (UINT64_C(1) << NUMBER_BITS) - 1;
    int limit = (int)session.settings.stack_depth + UNWIND_OWN_MAX, past = errno, count;
    bool steady = is_steady();
    struct unwind_frames *frames;
    uint64_t hash, known;

    if (!table || !ring_peer(thread)) return 0;
    count = unwind_stack(&thread->peer->last_stack, limit, steady, &frames);
    if (!frames->hash)
        frames->hash = XXH3_64bits(frames->addresses, (size_t)count * sizeof frames->addresses[0]);
    /* 55 bits of it are compared: of a million stacks two are taken for one once in 70,000 runs. */
    hash = frames->hash ^ atomic_load_explicit(&epoch, memory_order_relaxed) * UINT64_C(0x9e3779b97f4a7c15);
    /* Acquire: the stack was kept before its number came here. */
    known = atomic_load_explicit(&recent[hash % RECENT], memory_order_acquire);
    if (unlikely((known ^ hash) & ~number_mask || !steady)) {
        known = (hash & ~number_mask) | resolve(frames->addresses, count, count == limit, &steady);
        if (steady) atomic_store_explicit(&recent[hash % RECENT], known, memory_order_release);
    }
    errno = past;
    return (uint32_t)(known & number_mask);
}

/* ---- opening, unloading ---- */

static bool is_in_module(uintptr_t address)
{
    return modules_find(address) != 0;
}

void stacks_ready(void)
{
    void *map;

    if (table || session.settings.stacks == CG_STACKS_OFF) return;
    map = mmap(NULL, KEPT_BYTES + TABLE_SLOTS * sizeof *table, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return;
    unwind_open(is_in_module);
    memory = map;
    table = (_Atomic uint32_t *)(void *)(memory + KEPT_BYTES);
}

bool stacks_attach(uint64_t generation)
{
    bool room;

    lock_take(&record_page->stacks_lock);
    allocated = 0;
    ordinals = 0;
    room = !table || allocate(CAP_DIRECTORY_BYTES);
    if (room && table)
        atomic_store_explicit(&session.header->stacks_used, CAP_DIRECTORY_BYTES, memory_order_release);
    attached = room ? generation : 0;
    lock_give(&record_page->stacks_lock);
    return room;
}

void stacks_detach(void)
{
    lock_take(&record_page->stacks_lock);
    attached = 0;
    lock_give(&record_page->stacks_lock);
}

void stacks_unloading(void)
{
    atomic_fetch_add_explicit(&unloading, 1, memory_order_seq_cst);
}

void stacks_unloaded(void)
{
    int past = errno;

    if (table) look_at_modules();
    /* Release: what was found comes before the end. */
    atomic_fetch_sub_explicit(&unloading, 1, memory_order_release);
    errno = past;
}
