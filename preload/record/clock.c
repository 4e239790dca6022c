#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "preload/record/clock.h"
#include "preload/record/lock.h"
#include "preload/record/ring.h"

bool record_tsc;

static struct cap_anchor chosen; /* of clock_choose() */

enum { QUICK_NS = 200 * 1000, LOOKS = 100 * 1000 };

#if defined(__x86_64__)
/* The kernel's clock is made from the TSC: itself, or a hypervisor's page that scales the same counter. */
static bool kernel_uses_tsc(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    static const char *const sources[] = {"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"};
    char name[64];
    ssize_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return false;
    length = read(fd, name, sizeof name);
    close(fd);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (length == (ssize_t)strlen(sources[i]) && memcmp(name, sources[i], (size_t)length) == 0)
            return true;
    return false;
}
#endif

void clock_choose(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    /* Intel SDM vol. 3, 18.17.1; AMD APM vol. 2, 13.2.4: CPUID 80000007h EDX bit 8, invariant TSC. */
    record_tsc = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1) && kernel_uses_tsc();
#elif defined(__aarch64__)
    record_tsc = true; /* Arm ARM D11: the generic timer counts at one rate everywhere */
#endif
    clock_anchor(&chosen);
}

static int64_t read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void clock_anchor(struct cap_anchor *anchor)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t before = record_tick();
        int64_t monotonic = read_clock(CLOCK_MONOTONIC);
        uint64_t after = record_tick();
        int64_t realtime = read_clock(CLOCK_REALTIME);

        if (after - before >= best) continue;
        best = after - before;
        anchor->tick = before + best / 2;
        anchor->monotonic_ns = monotonic;
        anchor->realtime_ns = realtime;
    }
    anchor->spread_ticks = best;
}

bool clock_rate(struct cap_clock *clock, const struct cap_anchor *from, const struct cap_anchor *to)
{
    uint64_t ticks = to->tick - from->tick;
    uint64_t ns = (uint64_t)(to->monotonic_ns - from->monotonic_ns);

    if (!record_tsc || to->tick <= from->tick || to->monotonic_ns <= from->monotonic_ns) return false;
    clock->mult = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
    return clock->mult != 0;
}

bool clock_start(struct cap_clock *clock, struct cap_anchor *first)
{
    struct cap_anchor second;

    *clock = (struct cap_clock){record_tsc, 32, UINT64_C(1) << 32, 0};
    clock_anchor(first);
    clock->tick0 = first->tick;
    if (!record_tsc) return true;
    if (first->monotonic_ns - chosen.monotonic_ns >= CLOCK_RATE_NS && clock_rate(clock, &chosen, first))
        return true;
    for (int i = 0; i < LOOKS; i++) { /* that clock may jump, backwards too */
        clock_anchor(&second);
        int64_t past = second.monotonic_ns - first->monotonic_ns;
        if (past < 0 || past >= QUICK_NS) break;
    }
    clock_rate(clock, first, &second);
    return false;
}
