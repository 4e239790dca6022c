/* How much timing may cost. Every window the share of the wall time that it took is held against the budget,
 * and the mean distance of timed calls chosen so that the next window meets it, less what was spent too much
 * before. Distances are drawn at random, so that they do not fall into step with a program that repeats
 * itself. */
#include "preload/device/context.h"

#include "preload/record/lock.h"
#include "preload/record/session.h"
#include "preload/unnoticed.h"

#define WINDOW_NS    (20u * 1000 * 1000)
#define FIRST_NS     (2u * 1000 * 1000) /* the first window; each that follows is longer */
#define DISTANCE_MAX (1u << 16)

static _Atomic uint64_t window_end;   /* tick */
static _Atomic uint32_t distance = 1; /* of timed calls, in the mean */
static _Atomic uint32_t deciding;
static uint64_t began, window_began, window_cost, window_ns; /* by the one that decides */

_Thread_local struct device_thread device_thread;

/* One window is over: the distance for the next. All in ticks. */
static __attribute__((noinline)) uint32_t decide(uint64_t now, uint64_t spent)
{
    double budget = (double)session.settings.budget / 100;
    double share = (double)(spent - window_cost) / (double)(now - window_began);
    double whole = (double)spent / (double)(now - began);
    double aim = 2 * budget - whole, wanted;
    uint32_t past = atomic_load_explicit(&distance, memory_order_relaxed);

    if (aim > budget) aim = budget;
    if (aim < budget / 8) aim = budget / 8;
    wanted = past * share / aim;
    /* Not everything at once: a window may be anything but typical. */
    if (wanted > past * 32.0) wanted = past * 32.0;
    if (wanted < past / 2.0) wanted = past / 2.0;
    return wanted < 1 ? 1 : wanted > DISTANCE_MAX ? DISTANCE_MAX : (uint32_t)(wanted + 0.999);
}

static void close_window(uint64_t now, uint64_t spent)
{
    FLOATS_HELD;

    if (!began) {
        began = window_began = now;
    } else if (now > window_began) {
        atomic_store_explicit(&distance, decide(now, spent), memory_order_relaxed);
        window_began = now;
    }
    window_cost = spent;
    window_ns = window_ns ? window_ns + window_ns / 4 : FIRST_NS;
    if (window_ns > WINDOW_NS) window_ns = WINDOW_NS;
    atomic_store_explicit(&window_end, now + record_roughly_ticks(window_ns), memory_order_relaxed);
}

void device_paid(uint64_t since, uint64_t until)
{
    record_timing_cost(until - since);
    if (until < atomic_load_explicit(&window_end, memory_order_relaxed) || !lock_try(&deciding)) return;
    close_window(until, record_timing_costs());
    lock_give(&deciding);
}

/* xorshift32 (Marsaglia, "Xorshift RNGs", 2003). */
static uint32_t draw(void)
{
    uint32_t x = device_thread.random ? device_thread.random : (uint32_t)record_tick() | 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return device_thread.random = x;
}

uint32_t device_gap(void)
{
    uint32_t mean = atomic_load_explicit(&distance, memory_order_relaxed);

    if (mean == 1 || atomic_load_explicit(&device_mode, memory_order_relaxed) == DEVICE_ALL) return 0;
    /* 0 to 2 * (mean - 1), so mean - 1 in the mean. */
    return (uint32_t)((uint64_t)draw() * (2 * (mean - 1) + 1) >> 32);
}
