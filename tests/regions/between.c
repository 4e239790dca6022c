/* What comes between two instructions of a plain call, at each of them in turn, or each EACH-th, by the
 * processor's single steps: between WHAT [EACH].
 *
 * between crossed: a push, and a handler that ends the region around it; another thread begins the next one
 * and fills its ring as far as the first one's was; then the handler pushes too. Prints "steps N".
 *
 * between push|pop: such a call outside of every session is left for good, by a jump. Prints for each the
 * bytes of an allocation that comes next, and whether the range is open there, as the pop behind it tells.
 *
 * between around: the pop of a range around a region that belongs to no thread is left for good; then a span
 * of the region ends, with a range open in it.
 *
 * between fork-begin|fork-end|fork-push|fork-pop: the handler forks, and the child goes on with the call,
 * then makes others. Prints the steps at which it does not end well.
 *
 * between numbers: a thread's first span, which takes a block of numbers, is left for good; another thread
 * takes the next block, and the first one as many as a block has. Prints the numbers that came twice. */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cgtrace.h"
#include "tests/api/stepping.h"

enum { STEPS_MOST = 5000, FILLED = 4, BLOCK = 1024, BYTES = 4096, NUMBERS = 1 << 22 };

static volatile int seen, stop_at, fired;
static sigjmp_buf out;
static sem_t asked, answered;

static void ask(void)
{
    sem_post(&asked);
    while (sem_wait(&answered))
        ;
}
static void answer(void)
{
    while (sem_wait(&asked))
        ;
}

/* ---- a handler that ends the region ---- */

static void *beside(void *unused)
{
    for (;;) {
        answer();
        if (stop_at < 0) return unused;
        nvtxRangePushA("step");
        for (int i = 0; i < FILLED / 2; i++) {
            nvtxRangePushA("beside");
            nvtxRangePop();
        }
        sem_post(&answered);
        answer();
        nvtxRangePop();
        sem_post(&answered);
    }
}

static void cross(void)
{
    nvtxRangePop();
    ask();
    nvtxRangePushA("handler");
}

static void crossed(int step)
{
    nvtxRangePushA("step");
    for (int i = 0; i < FILLED / 2; i++) {
        nvtxRangePushA("before");
        nvtxRangePop();
    }
    seen = fired = 0;
    stop_at = step;
    START();
    nvtxRangePushA("main");
    STOP();
    if (fired) ask();
    while (nvtxRangePop() >= 0)
        ;
}

/* ---- one that leaves the call ---- */

static __attribute__((noinline)) void left(const char *what, int step)
{
    DEEPER();

    seen = fired = 0;
    stop_at = step;
    if (sigsetjmp(out, 1)) return;
    START();
    if (strcmp(what, "push") == 0)
        nvtxRangePushA("left/forward");
    else if (strcmp(what, "pop") == 0)
        nvtxRangePop();
    else
        cgtrace_span_begin("left");
    STOP();
}

static void outside(const char *what, int step)
{
    CUdeviceptr address;
    size_t bytes = BYTES + (size_t)step * 16;

    if (strcmp(what, "pop") == 0) nvtxRangePushA("left/forward");
    left(what, step);
    if (cuMemAlloc(&address, bytes)) exit(2);
    printf("%zu %d\n", bytes, nvtxRangePop() >= 0);
}

static void around(int step)
{
    nvtxRangeId_t region;
    cgtrace_span inside;

    nvtxRangePushA("outer");
    region = nvtxRangeStartA("step");
    left("pop", step);
    inside = cgtrace_span_begin("inside");
    nvtxRangePushA("innermost");
    if (cgtrace_span_end(inside) != CGTRACE_OK) printf("not ended, step %d\n", step);
    while (nvtxRangePop() >= 0)
        ;
    nvtxRangeEnd(region);
}

static unsigned char given[NUMBERS];

static void give(void)
{
    cgtrace_span span = cgtrace_span_begin("left");
    uint32_t number = (uint32_t)span;

    if (span <= 0 || number >= NUMBERS) exit(2);
    if (given[number]++) printf("twice %u\n", number);
    cgtrace_span_end(span);
}

static void *give_one(void *unused)
{
    give();
    return unused;
}

static void run(void *(*what)(void *), void *argument)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, what, argument) || pthread_join(thread, NULL)) exit(2);
}

static void *give_many(void *step)
{
    cgtrace_scalar("left", 1); /* its text is known, and it has a ring; no numbers yet */
    left("numbers", *(int *)step);
    give();
    run(give_one, NULL);
    for (int i = 0; i < BLOCK; i++)
        give();
    return NULL;
}

/* ---- one that forks ---- */

static volatile pid_t child;

static void fork_here(void)
{
    int status;

    child = fork();
    if (child > 0 && waitpid(child, &status, 0) == child && status != 0)
        printf("step %d: status %x\n", stop_at, (unsigned)status);
}

static void forked(const char *what, int step)
{
    cgtrace_span span = cgtrace_span_begin("around"), inner = 0;

    nvtxRangePushA("around");
    if (strcmp(what, "end") == 0) inner = cgtrace_span_begin("forked");
    if (strcmp(what, "pop") == 0) nvtxRangePushA("forked");
    seen = fired = 0;
    stop_at = step;
    child = 1;
    START();
    if (strcmp(what, "begin") == 0)
        inner = cgtrace_span_begin("forked");
    else if (strcmp(what, "end") == 0)
        cgtrace_span_end(inner);
    else if (strcmp(what, "push") == 0)
        nvtxRangePushA("forked");
    else
        nvtxRangePop();
    STOP();
    if (child == 0) {
        span = cgtrace_span_begin("child");
        nvtxRangePushA("child");
        nvtxRangePop();
        exit(cgtrace_span_end(span) < 0);
    }
    if (strcmp(what, "begin") == 0) cgtrace_span_end(inner);
    if (strcmp(what, "push") == 0) nvtxRangePop();
    nvtxRangePop();
    cgtrace_span_end(span);
}

/* ---- */

static bool crosses, forks;

static void handler(int number, siginfo_t *info, void *context)
{
    ucontext_t *where = context;
    greg_t *registers = where->uc_mcontext.gregs;

    (void)number, (void)info;
    if (!in_library(registers) || seen++ != stop_at) return;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    fired = 1;
    if (crosses)
        cross();
    else if (forks)
        fork_here();
    else if (!sigismember(&where->uc_sigmask, SIGUSR1)) /* where signals are held back none would have come */
        siglongjmp(out, 1);
}

int main(int count, char **arguments)
{
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    const char *what = count > 1 ? arguments[1] : "";
    int step = 0, each = count > 2 ? atoi(arguments[2]) : 1;
    pthread_t other;
    CUcontext context;
    CUdevice device;

    crosses = strcmp(what, "crossed") == 0;
    forks = strncmp(what, "fork-", 5) == 0;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device)) return 2;
    if (sem_init(&asked, 0, 0) || sem_init(&answered, 0, 0)) return 2;
    nvtxRangePushA("main"); /* NVTX looks for its tool */
    nvtxRangePop();
    find_library();
    sigaction(SIGTRAP, &action, NULL);
    if (crosses && pthread_create(&other, NULL, beside, NULL)) return 2;
    for (fired = 1; fired && step < STEPS_MOST; step += each) {
        if (crosses)
            crossed(step);
        else if (strcmp(what, "numbers") == 0)
            run(give_many, &step);
        else if (strcmp(what, "around") == 0)
            around(step);
        else if (forks)
            forked(what + 5, step);
        else
            outside(what, step);
    }
    if (crosses) {
        stop_at = -1;
        sem_post(&asked);
        pthread_join(other, NULL);
        printf("steps %d\n", step);
    } else if (strcmp(what, "push") == 0 || strcmp(what, "pop") == 0) {
        nvtxRangePushA("step");
        nvtxRangePop();
    }
    return 0;
}
