/* By the unwind tables that libgcc's unwinder finds (it is wherever C++ is). On x86-64 each address' rule is
 * read once and kept: then a frame costs a few nanoseconds. Stacks with a frame whose rule is not simple,
 * such as a signal's, are left to libgcc itself, at about 100 ns a frame; with glibc 2.35 and gcc 12 or newer
 * it takes no lock.
 *
 * libunwind, which is as fast, is not used: to see whether memory is readable it keeps a pipe open and never
 * asks whether the descriptors are still its own. In a program that closes what it does not know, it would
 * read from, write to and close the program's files. And what it has learned of an address is never
 * forgotten, though other code may have been loaded there.
 *
 * libgcc is opened with RTLD_LOCAL: the program must go on finding what it would find without us. */
#include "preload/record/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/objects.h"
#include "preload/record/cfi.h"
#include "preload/record/own_stack.h"
#include "preload/record/ring.h"

/* Of the ABI (unwind.h). */
struct context;
typedef int trace_function(struct context *context, void *argument);
enum { GO_ON = 0, END_OF_STACK = 5 };

struct bases {
    void *text, *data, *function;
};

static int (*backtrace_of)(trace_function *function, void *argument);
static uintptr_t (*address_of)(struct context *context);
static const void *(*find_entry)(void *address, struct bases *bases);
static bool looks_at_objects; /* they do, in the loader's list */
static bool (*code_stays)(uintptr_t address);

void unwind_open(bool (*stays)(uintptr_t address))
{
    static bool opened;
    int past = errno;
    void *library;

    if (opened || objects_are_lost()) return;
    opened = true;
    code_stays = stays;
    library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library) {
        address_of = (uintptr_t(*)(struct context *))dlsym(library, "_Unwind_GetIP");
        if (address_of) backtrace_of = (int (*)(trace_function *, void *))dlsym(library, "_Unwind_Backtrace");
        find_entry = (const void *(*)(void *, struct bases *))dlsym(library, "_Unwind_Find_FDE");
        looks_at_objects = !dlsym(RTLD_DEFAULT, "_dl_find_object"); /* glibc 2.35 */
    }
    dlerror(); /* the program's next call of it is not to hear of ours */
    errno = past;
}

const char *unwind_name(void)
{
    return backtrace_of ? "libgcc" : "none";
}

struct trace {
    uintptr_t *addresses;
    int count, limit;
};

static int add(struct context *context, void *argument)
{
    struct trace *trace = argument;
    uintptr_t address = address_of(context);

    if (trace->count == trace->limit || !address) return END_OF_STACK;
    trace->addresses[trace->count++] = address;
    return GO_ON;
}

static _Thread_local struct own_stack own_stack;
static _Thread_local bool own_stack_known;

__attribute__((cold, noinline)) static void learn_own_stack(void)
{
    own_stack = own_stack_find();
    own_stack_known = true;
}

/* A thread's own stack ends where its first frame is. One that the program has made may end with anything
 * for a return address, which leads beyond the stack; and libgcc reads what lies at an address that it does
 * not know, to see whether it is a signal's frame. */
static bool on_own_stack(void)
{
    if (unlikely(!own_stack_known)) learn_own_stack();
    return (uintptr_t)__builtin_frame_address(0) - own_stack.low < own_stack.bytes;
}

/* Changes with each unloading: a rule that was read before and stored behind it is not taken for one of
 * today. */
static _Atomic uint64_t now;

/* Of walk(), in place of how many frames there are. */
enum { NOT_SIMPLE = -1, AS_LAST = -2 };

#if defined(__x86_64__)

/* Rules by address: address << 17 | its time << 16 | the rule's 16 bits. Overwritten when two meet. */
enum { RULES = 1 << 14 };
static _Atomic uint64_t rules[RULES];
#define ADDRESS_MAX (UINT64_C(1) << 47)
#define FRAME_MAX   (UINT64_C(1) << 26)

static uint64_t packed(struct cfi_rule rule)
{
    if (rule.kind != CFI_SIMPLE) return rule.kind == CFI_END; /* no frame is empty: 0 and 1 are free */
    return (uint64_t)rule.end_words << 4 | (uint64_t)rule.rbp_words << 1 | rule.from_rbp;
}

/* The rule's 16 bits; *read: they are its own, and not of today's look alone, which could not be made. */
static uint64_t read_rule(uintptr_t address, bool *read)
{
    struct bases bases;
    const void *entry;

    *read = !looks_at_objects || objects_hold();
    if (!*read) return 0;
    entry = find_entry((void *)address, &bases);
    if (looks_at_objects) objects_release();
    return packed(entry ? cfi_rule_at(entry, (uintptr_t)bases.function, address)
                        : (struct cfi_rule){.kind = CFI_END});
}

/* *kept: it holds until unwind_forget(). */
static inline uint64_t rule_of(uintptr_t address, bool *kept)
{
    uint64_t time = atomic_load_explicit(&now, memory_order_relaxed) & 1;
    uint64_t key = (uint64_t)address << 17 | time << 16;
    _Atomic uint64_t *slot = &rules[address * UINT64_C(0x9e3779b97f4a7c15) >> 50];
    uint64_t known = atomic_load_explicit(slot, memory_order_relaxed);

    if (unlikely((known ^ key) >> 16)) {
        known = key | read_rule(address, kept);
        *kept = *kept && code_stays(address);
        if (*kept) atomic_store_explicit(slot, known, memory_order_relaxed);
    } else {
        *kept = true;
    }
    return known & 0xffff;
}

/* What is above a frame follows from three registers and the words on the stack that they lead to. */
struct registers {
    uintptr_t address, rsp, rbp;
};

/* To the frame above one that ends there; end: as in struct unwind_frames. */
static inline void go_up(struct registers *registers, uintptr_t end)
{
    registers->rsp = end & (ADDRESS_MAX - 8);
    registers->address = ((const uintptr_t *)registers->rsp)[-1];
    if (end & 7) registers->rbp = *(const uintptr_t *)(registers->rsp - (end & 7) * 8);
}

static inline void put_frame(struct unwind_frames *frames, int at, uintptr_t end, struct registers above)
{
    frames->addresses[at] = above.address;
    frames->ends[at] = end;
    frames->rbps[at] = above.rbp;
}

/* The frame of these registers, by its rule. Returns its end, as in struct unwind_frames; 0: there is none;
 * 1: its rule is not simple. *kept: its rule is. */
HOT static inline uintptr_t end_by_rule(struct registers here, uintptr_t stack_end, bool *kept)
{
    uint64_t rule = here.address < ADDRESS_MAX ? rule_of(here.address - 1, kept) : 0;
    uintptr_t end = (rule & 1 ? here.rbp : here.rsp) + (rule >> 4) * 8;

    if (rule <= 1) return rule ^ 1;
    /* Tables that are wrong lead nowhere. */
    if (unlikely(end - here.rsp - 1 >= FRAME_MAX || end % 8 != 0 || end > stack_end)) return 0;
    return end | (rule >> 1 & 7) | (rule & 1 ? UNWIND_BY_RBP : 0);
}

/* Up from the frame `at` of the last stack, which ends where the one of the registers does, as long as the
 * frames are those of the last stack: `count` at most, to those of `to` from `first` on. Returns how many;
 * behind the last of them the registers are another frame's. Address 0: the stack has no more. */
static inline int walk_same(const struct unwind_frames *last, int at, struct unwind_frames *to, int first,
                            int count, struct registers *registers)
{
    struct registers here = *registers;
    uintptr_t end = last->ends[at];
    int i = 0;

    for (;;) {
        go_up(&here, end);
        if (unlikely(here.address != last->addresses[at + i])) {
            if (here.address) put_frame(to, first + i++, end, here);
            break;
        }
        put_frame(to, first + i, end, here);
        bool other_rbp = here.rbp != last->rbps[at + i];
        if (++i == count) break;
        end = last->ends[at + i];
        if (other_rbp && end & UNWIND_BY_RBP) break;
    }
    *registers = here;
    return i;
}

/* The lower one. */
static inline int least(int a, int b)
{
    return a < b ? a : b;
}

/* Up the frames of the last stack from the first on, as long as they are this one's, too. Returns how many;
 * the registers are then those of the frame behind them. An rbp that no frame's end follows from is put right
 * in place, so that the last stack holds whenever a handler jumps out of here. */
static inline int walk_last(struct unwind_frames *last, int limit, struct registers *registers)
{
    struct registers here = *registers;
    int count = least(last->count, limit), i = 0;

    for (; i < count; i++) {
        struct registers above = here;

        go_up(&above, last->ends[i]);
        if (unlikely(above.address != last->addresses[i])) break;
        if (above.rbp != last->rbps[i]) {
            if (i + 1 < last->count && last->ends[i + 1] & UNWIND_BY_RBP) break;
            last->rbps[i] = above.rbp;
        }
        here = above;
    }
    *registers = here;
    return i;
}

static inline void copy_frames(struct unwind_frames *to, const struct unwind_frames *from, int count)
{
    size_t size = (size_t)count * sizeof(uintptr_t);

    memcpy(to->addresses, from->addresses, size);
    memcpy(to->ends, from->ends, size);
    memcpy(to->rbps, from->rbps, size);
}

/* Walks by the rules alone. NOT_SIMPLE: one of them is not; AS_LAST: it is the last stack, to the last frame,
 * and *next holds nothing.
 *
 * Where a frame ends where one of the last stack did, and the word there is the same, its caller is the one
 * of that stack, and ends where it did then, unless that goes by an rbp that is another one now. So a frame
 * takes 4 cycles, where a rule, with each load waiting for the one before, takes 25. A stack that is the last
 * one whole is not stored again, nor hashed: 35 ns of an allocation with 27 frames. */
HOT static __attribute__((noinline)) int walk(struct unwind_frames *last, struct unwind_frames *next,
                                              int limit)
{
    const uintptr_t stack_end = own_stack.low + own_stack.bytes;
    struct registers here;
    int count = 0, kept_count = INT_MAX, at = 0; /* at: the frame of the last stack to compare with */
    bool at_same;                                /* at_same: that one and this end in the same place */

    /* The three of one moment. */
    __asm__ volatile("leaq 0f(%%rip), %0\n0:\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=&r"(here.address), "=&r"(here.rsp), "=&r"(here.rbp));
    /* This function's own frame is always the same above rsp, and its rbp, where it goes by that, follows. */
    at_same = last->count > 0 && here.rsp == last->rsp;
    next->rsp = here.rsp;
    next->to_top = false;
    if (at_same) {
        count = at = walk_last(last, limit, &here);
        if (count == last->all && (count == limit || (last->to_top && here.rbp == last->top_rbp)))
            return AS_LAST;
        copy_frames(next, last, count);
        at_same = at < last->count;
    }
    for (; count < limit; at_same = false) {
        uintptr_t end = 0;

        if (!at_same) {
            bool kept = true;

            end = end_by_rule(here, stack_end, &kept);
            if (unlikely(end == 1)) return NOT_SIMPLE;
            if (end == 0) {
                next->to_top = kept;
                next->top_rbp = here.rbp;
                break;
            }
            if (unlikely(!kept)) kept_count = least(kept_count, count);
            while (at < last->count && (last->ends[at] & ~UNWIND_BY_RBP) < (end & ~UNWIND_BY_RBP))
                at++;
            at_same = at < last->count && last->ends[at] == end;
        }
        if (at_same) {
            int same = walk_same(last, at, next, count, least(limit - count, last->count - at), &here);

            count += same;
            at += same;
        } else {
            go_up(&here, end);
            if (here.address) put_frame(next, count++, end, here);
        }
        if (!here.address) break;
    }
    next->count = least(count, kept_count);
    return next->all = count;
}

void unwind_forget(void)
{
    atomic_fetch_add_explicit(&now, 1, memory_order_relaxed);
    for (size_t i = 0; i < RULES; i++)
        atomic_store_explicit(&rules[i], 0, memory_order_relaxed);
}

#else
HOT static int walk(struct unwind_frames *last, struct unwind_frames *next, int limit)
{
    (void)last, (void)next, (void)limit;
    return NOT_SIMPLE;
}

void unwind_forget(void)
{
    atomic_fetch_add_explicit(&now, 1, memory_order_relaxed);
}
#endif

HOT int unwind_stack(struct unwind_last *last, int limit, bool steady, struct unwind_frames **frames)
{
    struct unwind_frames *before = &last->frames[last->current], *next = &last->frames[last->current ^ 1];
    struct trace trace = {next->addresses, 0, limit < UNWIND_MAX ? limit : UNWIND_MAX};
    int count;

    *frames = next;
    next->count = 0;
    next->hash = 0;
    next->time = atomic_load_explicit(&now, memory_order_relaxed);
    if (!on_own_stack()) return 0;
    if (before->time != next->time) before->count = 0;
    count = steady && find_entry ? walk(before, next, trace.limit) : NOT_SIMPLE;
    if (count == AS_LAST) {
        *frames = before;
        return before->all;
    }
    last->current ^= 1;
    if (count >= 0) return count;
    next->count = 0;
    if (!backtrace_of || (looks_at_objects && !objects_hold())) return 0;
    backtrace_of(add, &trace);
    if (looks_at_objects) objects_release();
    return trace.count;
}
