/* What an NVTX range costs a program that is recorded: push and pop against two bare slots of a prefaulted
 * shared mapping with one clock read each, in turns, the writer running. The program is this one, started
 * again with the recorder preloaded. */
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/capture.h"
#include "tests/bench/child.h"

enum { ROUNDS = 41, PAIRS = 4096, SLOTS = 1 << 16 };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t tick(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now_ns();
#endif
}

static struct cap_record *slots;
static _Atomic uint64_t *head;
static uint64_t at;

static void run_floor(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct cap_record *slot = &slots[at & (SLOTS - 1)];
        uint64_t begin = tick();

        memset(slot, 0, sizeof *slot);
        slot->begin = begin;
        atomic_store_explicit(head, ++at, memory_order_release);
    }
}

static void run_plain(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxRangePushA("forward");
        nvtxRangePop();
    }
}

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                      .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                      .colorType = NVTX_COLOR_ARGB,
                                      .color = 0xff00ff00,
                                      .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

static void run_registered(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(const char *name, void (*ours)(void))
{
    const struct timespec pause = {0, 25 * 1000000};
    double of_ours[ROUNDS], of_floor[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_ns();
        run_floor();
        double middle = now_ns();
        ours();
        of_floor[i] = (middle - begin) / PAIRS;
        of_ours[i] = (now_ns() - middle) / PAIRS;
        nanosleep(&pause, NULL);
    }
    qsort(of_ours, ROUNDS, sizeof *of_ours, ascending);
    qsort(of_floor, ROUNDS, sizeof *of_floor, ascending);
    double a = of_ours[ROUNDS / 2], b = of_floor[ROUNDS / 2];
    printf("BENCH %s %.2f %.2f %.3f <=1.5 ns\n", name, a, b, a / b);
}

static int child(void)
{
    char *map = mmap(NULL, (SLOTS + 64) * CAP_SLOT, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (map == MAP_FAILED || nvtxRangePushA("recorded?") != 0) return 1;
    nvtxRangePop();
    head = (_Atomic uint64_t *)map;
    slots = (struct cap_record *)(map + 64 * CAP_SLOT);
    domain = nvtxDomainCreateA("library");
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    compare("nvtx.push_pop", run_plain);
    compare("nvtx.push_pop_registered", run_registered);
    return 0;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench_nvtx.XXXXXX", command[2048];

    if (argc > 1 && !strcmp(argv[1], "child")) return child();
    if (!mkdtemp(folder)) return 1;
    snprintf(command, sizeof command,
             "CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/trace.jsonl LD_PRELOAD=%s/libcgtrace.so %s child", folder,
             child_build(), argv[0]);
    int failed = system(command);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
