/* What recording costs a thread, the writer running: a launch against a bare prefaulted
 * slot of a shared mapping with as many clock reads; and a record's way to JSONL against snprintf.
 *
 * Rounds fill less than half of a ring, with the writer given time between them. */
#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/jsonl.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/record/stacks.h"
#include "tests/bench/rounds.h"

const char *const hook_api_names[] = {"cuLaunchKernel"};
const uint32_t hook_api_count = 1;

enum { COUNT = 8192, SLOTS = 1 << 16 };

/* ---- the floor: a slot, its stamps, a release store of the head ---- */

static struct cap_record *floor_slots;
static _Atomic uint64_t *floor_head;
static uint64_t floor_at;

static void floor_open(void)
{
    char *map = mmap(NULL, (SLOTS + 64) * CAP_SLOT, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (map == MAP_FAILED) exit(1);
    floor_head = (_Atomic uint64_t *)map;
    floor_slots = (struct cap_record *)(map + 64 * CAP_SLOT);
}

static inline void floor_put(uint32_t name)
{
    struct cap_record *slot = &floor_slots[floor_at & (SLOTS - 1)];
    uint64_t begin = record_tick();

    memset(slot, 0, sizeof *slot);
    slot->begin = begin;
    slot->launch.name = CAP_NUMBER(name);
    slot->ticks = record_tick() - begin;
    atomic_store_explicit(floor_head, ++floor_at, memory_order_release);
}

/* ---- what is measured ---- */

static void run_floor(void)
{
    for (uint32_t i = 0; i < COUNT; i++)
        floor_put(i);
}

static uint32_t kernel_name;

static void run_launches(void)
{
    const struct record_launch launch = {.name = kernel_name, .grid = {1, 1, 1}, .block = {1, 1, 1}};

    for (int i = 0; i < COUNT; i++) {
        struct record_call call;

        if (record_enter(&call, 0)) record_launch(&call, 0, &launch);
    }
}

/* ---- stacks ---- */

/* Runs under so many calls more than it has itself; not a tail call. */
static __attribute__((noinline)) void under(unsigned calls, void (*run)(void))
{
    if (calls > 0)
        under(calls - 1, run);
    else
        run();
    __asm__ volatile("" ::: "memory");
}

static void take_stacks(void)
{
    for (int i = 0; i < COUNT; i++)
        stacks_place(stacks_here(&record_self), session.generation);
}
static void take_backtraces(void)
{
    void *addresses[64];

    for (int i = 0; i < COUNT; i++)
        if (backtrace(addresses, 64) < 20) exit(1);
}

static void run_stacks(void)
{
    under(15, take_stacks);
}
static void run_backtraces(void)
{
    under(15, take_backtraces);
}

/* ---- formatting ---- */

static double by_snprintf(char *line, size_t size)
{
    double begin = now_ns();

    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(line, size,
                 "{\"kind\":\"op\",\"span_id\":\"span:%u\",\"op_name\":\"%s\",\"inputs\":[],\"shape\":[],"
                 "\"dtype\":\"%s\","
                 "\"device\":\"cuda:%u\",\"duration_ns\":%" PRIu64 ",\"timestamp_ns\":%" PRIu64
                 ",\"input_dense_bytes\":0,\"tid\":%d,\"api\":\"%s\",\"correlation\":%" PRIu64
                 ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared_bytes\":%u}\n",
                 i, "_Z14volta_sgemm_nnPKfS0_Pf", "unknown", 0u, UINT64_C(4711) + i,
                 UINT64_C(123456789012) + i, 4711, "cuLaunchKernel", UINT64_C(99) + i, 128u, 64u, 1u, 256u,
                 1u, 1u, 48u);
        __asm__ volatile("" : : "r"(line) : "memory");
    }
    return (now_ns() - begin) / COUNT;
}

static double by_hand(struct jsonl_state *state, char *line)
{
    double begin = now_ns();

    for (unsigned i = 0; i < COUNT; i++) {
        const struct cap_record record = {
            .begin = UINT64_C(123456789012) + i,
            .ticks = UINT64_C(4711) + i,
            .span = i,
            .type = CAP_LAUNCH,
            .slots = 1,
            .launch = {.name = 1, .grid = {128, 64, 1}, .block = {256, 1, 1}, .shared = 48}};
        if (jsonl_bound(state, &record) > 65536) exit(1);
        jsonl_record(state, line, &record, 0, 98 + i, 4711);
        __asm__ volatile("" : : "r"(line) : "memory");
    }
    return (now_ns() - begin) / COUNT;
}

static void compare_formats(void)
{
    static const char kernel[] = "_Z14volta_sgemm_nnPKfS0_Pf";
    static char strings[256], line[65536];
    static uint64_t whole[8];
    const struct jsonl_api api = {"cuLaunchKernel", 14, 14};
    struct jsonl_state state = {.clock = {1, 32, UINT64_C(1) << 32, 0},
                                .strings = strings,
                                .strings_bytes = sizeof strings,
                                .apis = &api,
                                .api_count = 1,
                                .whole = whole,
                                .whole_limit = 256};
    uint32_t head = CAP_STRING_HEAD(sizeof kernel - 1, 0);
    double hand[ROUNDS], print[ROUNDS];

    memcpy(strings + 8, &head, 4);
    memcpy(strings + 12, kernel, sizeof kernel - 1);
    for (int i = 0; i < ROUNDS; i++) {
        print[i] = by_snprintf(line, sizeof line);
        hand[i] = by_hand(&state, line);
    }
    double a = 1e9 / part(hand, ROUNDS, 2), b = 1e9 / part(print, ROUNDS, 2);
    printf("BENCH record.format %.0f %.0f %.2f >=5 records/s\n", a, b, a / b);
    /* The goal stands in the place of a floor. */
    printf("BENCH record.format_rate %.0f 3000000 %.2f >=1 records/s\n", a, a / 3e6);
}

int main(void)
{
    char folder[] = "/tmp/cgtrace-bench-XXXXXX";
    struct record_call call;

    if (!mkdtemp(folder) || chdir(folder)) return 1;
    floor_open();
    if (!record_enter(&call, 0)) return 1;
    record_leave(&call);
    kernel_name = record_string("kernel", 6);
    pause_ms(50);
    compare_rounds("record.launch", run_launches, run_floor, COUNT, "<=1.2");
    /* 20 frames, taken, looked up and named; the C library's own function has the addresses alone. */
    compare_rounds("record.stack20", run_stacks, run_backtraces, COUNT, "<=0.15");
    compare_formats();
    record_finish(0);
    if (system("rm -rf -- *") || chdir("/") || rmdir(folder)) return 1;
    return 0;
}
