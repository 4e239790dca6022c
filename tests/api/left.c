/* A call that is left for good at one of its instructions inside of the recorder: by a signal's handler that
 * jumps out of it, ends its thread, or has it cancelled. Then another thread makes calls of all kinds, and
 * the same. Instructions at which signals are held back are no such places.
 *
 * usage: left alloc|free|name|string|stream|storage|range|thread jump|exit|cancel POINTS SEED
 *
 * Steps through all instructions when there are no more than POINTS, else through as many: half of them near
 * those that take and open locks and those where signals begin to be held back, the rest by chance.
 */
#include <cuda.h>
#include <limits.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/cgtrace.h"

#include "tests/api/stepping.h"

enum { STEPS_MAX = 1 << 20, NEAR = 4, LEVELS = 16, LIMIT_S = 30, LATER_BYTES = 7777, VICTIM_BYTES = 100 };

static enum { JUMP, EXIT, CANCEL } way;
static const char *what;
static volatile int seen, stop_at;
static volatile bool counting, left, kept;
static bool held[STEPS_MAX], is_near[STEPS_MAX];
static int candidates[STEPS_MAX], candidate_count, near_count;
static sigjmp_buf out;
static unsigned serial, points_left, allocations, storages, lost;

/* ---- at an instruction ---- */

static bool is_locked(const unsigned char *code)
{
    return code[0] == 0xf0 || code[0] == 0x87 || (code[0] >> 4 == 4 && code[1] == 0x87);
}

static void handler(int number, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    greg_t *registers = context->uc_mcontext.gregs;
    bool holds = sigismember(&context->uc_sigmask, SIGUSR1);
    int at = seen;

    (void)number, (void)info;
    if (!in_library(registers)) return;
    seen++;
    if (counting && at < STEPS_MAX) {
        held[at] = holds;
        is_near[at] = is_locked((const unsigned char *)(uintptr_t)registers[REG_RIP]);
    }
    if (counting || at != stop_at) return;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (holds) {
        kept = true;
        return;
    }
    left = true;
    if (way == JUMP) siglongjmp(out, 1);
    if (way == EXIT) pthread_exit(NULL);
    pthread_cancel(pthread_self());
    left = false;
}

/* ---- the calls ---- */

static nvtxDomainHandle_t domain;
static CUdeviceptr given;
static CUstream stream;

static void call(void)
{
    static char text[64];
    CUdeviceptr address;

    snprintf(text, sizeof text, "victim %u", serial);
    if (strcmp(what, "alloc") == 0 || strcmp(what, "thread") == 0) {
        START();
        cuMemAlloc(&address, VICTIM_BYTES);
        STOP();
    } else if (strcmp(what, "free") == 0) {
        START();
        cuMemFree(given);
        STOP();
    } else if (strcmp(what, "name") == 0) {
        START();
        cgtrace_scalar(text, 1);
        STOP();
    } else if (strcmp(what, "string") == 0) {
        START();
        nvtxDomainRegisterStringA(domain, text);
        STOP();
    } else if (strcmp(what, "stream") == 0) {
        START();
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
        cuStreamDestroy(stream);
        STOP();
    } else if (strcmp(what, "storage") == 0) {
        struct cgtrace_storage_info info = {.storage = serial, .tensor = serial, .bytes = 32};
        START();
        cgtrace_alloc(&info);
        cgtrace_free(serial, NULL);
        STOP();
    } else {
        START();
        nvtxRangeEnd(nvtxRangeStartA("victim"));
        STOP();
    }
}

/* Its frames are deeper than those of the calls that come later; and each path is a stack of its own. */
static __attribute__((noinline)) void descend(int level, unsigned path)
{
    if (level == 0) {
        call();
    } else if (path & 1) {
        descend(level - 1, path >> 1);
        __asm__ volatile("nop" ::: "memory"); /* each branch keeps its own call */
    } else {
        descend(level - 1, path >> 1);
        __asm__ volatile("" ::: "memory");
    }
}

static void hangs(int number)
{
    static const char text[] = "hangs\n";

    (void)number;
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(1);
    kill(getpid(), SIGKILL);
}

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) printf("wrong: %s\n", #condition);                                                 \
    } while (0)

/* The part of a table that was left is not waited for twice: a storage in there is lost. */
static bool is_made(int result, bool elsewhere)
{
    if (elsewhere && result == CGTRACE_LOST)
        lost++;
    else if (result != CGTRACE_OK)
        printf("wrong: storage, %d\n", result);
    return result == CGTRACE_OK;
}

/* Calls of all kinds, with names and stacks that are new. */
static __attribute__((noinline)) void later(bool elsewhere)
{
    struct cgtrace_storage_info info;
    CUdeviceptr address;
    CUstream other;
    char text[64];

    snprintf(text, sizeof text, "later %u", ++serial);
    info = (struct cgtrace_storage_info){.storage = serial, .tensor = serial, .bytes = 64};
    alarm(LIMIT_S);
    CHECK(cuMemAlloc(&address, LATER_BYTES) == CUDA_SUCCESS);
    allocations++;
    CHECK(cuMemFree(address) == CUDA_SUCCESS);
    CHECK(cgtrace_scalar(text, 1) == CGTRACE_OK);
    nvtxDomainRegisterStringA(domain, text);
    nvtxRangeEnd(nvtxRangeStartA(text));
    nvtxRangePushA(text);
    nvtxRangePop();
    if (is_made(cgtrace_alloc(&info), elsewhere)) {
        storages++;
        is_made(cgtrace_free(serial, NULL), elsewhere);
    }
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(cuStreamDestroy(other) == CUDA_SUCCESS);
    alarm(0);
}

static void *later_elsewhere(void *context)
{
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    later(true);
    return NULL;
}

/* ---- a place ---- */

static void meet(void)
{
    seen = 0;
    left = kept = false;
    if (sigsetjmp(out, 1) == 0) descend(LEVELS, ++serial);
}

static void *meet_on_thread(void *context)
{
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    if (way == CANCEL) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    meet();
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    if (strcmp(what, "thread") == 0) later(false);
    return NULL;
}

static void run_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    alarm(LIMIT_S);
    if (pthread_create(&thread, NULL, run, argument)) exit(2);
    pthread_join(thread, NULL);
    alarm(0);
}

static void visit(CUcontext context, int place)
{
    alarm(LIMIT_S);
    stop_at = place;
    counting = place < 0;
    if (strcmp(what, "free") == 0) CHECK(cuMemAlloc(&given, VICTIM_BYTES) == CUDA_SUCCESS);
    if (way != JUMP || strcmp(what, "thread") == 0)
        run_thread(meet_on_thread, context);
    else
        meet();
    points_left += left;
    if (counting) return;
    /* The first one waits where the lock of its storage's part of the table was left, and only one does. */
    if (left) run_thread(later_elsewhere, context);
    later(false);
}

static void choose(int steps)
{
    bool near[STEPS_MAX / 8];

    if (steps > (int)sizeof near) steps = (int)sizeof near;
    memset(near, 0, sizeof near);
    for (int i = 0; i < steps; i++) {
        bool edge = is_near[i] || (i > 0 && held[i] != held[i - 1]);

        for (int k = -NEAR; edge && k <= NEAR; k++)
            if (i + k >= 0 && i + k < steps) near[i + k] = true;
    }
    for (int wanted = 1; wanted >= 0; wanted--)
        for (int i = 0; i < steps; i++)
            if (!held[i] && near[i] == wanted) candidates[candidate_count++] = i;
    for (int i = 0; i < steps; i++)
        near_count += !held[i] && near[i];
}

/* `count` of them from `first` on come to stand there, by chance. */
static void draw(int first, int end, int count)
{
    for (int i = first; i < first + count && i < end; i++) {
        int other = i + rand() % (end - i), past = candidates[i];

        candidates[i] = candidates[other];
        candidates[other] = past;
    }
}

int main(int count, char **arguments)
{
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    int points, steps, holding = 0, first, rest, places_kept = 0;
    CUcontext context;
    CUdevice device;

    if (count != 5) return 2;
    what = arguments[1];
    way = strcmp(arguments[2], "jump") == 0 ? JUMP : strcmp(arguments[2], "exit") == 0 ? EXIT : CANCEL;
    points = atoi(arguments[3]);
    srand((unsigned)atoi(arguments[4]));
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device)) return 2;
    /* NVTX looks for its tool. */
    domain = nvtxDomainCreateA("left");
    nvtxRangePushA("first");
    nvtxRangePop();
    find_library();
    signal(SIGALRM, hangs);
    later(false);
    sigaction(SIGTRAP, &action, NULL);
    visit(context, -1); /* twice: what is first met alone */
    visit(context, -1);
    steps = seen < STEPS_MAX ? seen : STEPS_MAX;
    for (int i = 0; i < steps; i++)
        holding += held[i];
    choose(steps);
    first = candidate_count <= points ? near_count : near_count < points / 2 ? near_count : points / 2;
    rest = candidate_count <= points ? candidate_count - near_count : points - first;
    draw(0, near_count, first);
    draw(near_count, candidate_count, rest);
    for (int i = 0; i < first; i++) {
        visit(context, candidates[i]);
        places_kept += kept;
    }
    for (int i = near_count; i < near_count + rest && i < candidate_count; i++) {
        visit(context, candidates[i]);
        places_kept += kept;
    }
    printf("steps %d holding %d places %d left %u kept %d allocations %u storages %u lost %u\n", steps,
           holding, first + rest, points_left, places_kept, allocations, storages, lost);
    return 0;
}
