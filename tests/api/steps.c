/* A call of the API that a signal's handler interrupts behind each of the library's instructions in turn, by
 * the processor's single steps: what the handler does there is recorded too, or the call is left for good.
 *
 * usage: steps scalar|first|begin|end|push record|jump (first: a thread's first call, at every 23rd
 * instruction); prints what was recorded, "maybe" with what was left, and
 * how many of the handler's calls were "refused".
 */
#include <limits.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/cgtrace.h"

#include "tests/api/stepping.h"

enum { OTHERS = 64, OTHER_BYTES = 20, STEPS_MAX = 20000, FIRST_EACH = 23 };

static volatile int seen, stop_at, refused;
static bool jumps;
static sigjmp_buf out;
static double value;
/* One for each place that a text's address may lead to, and more. */
static char others[OTHERS][OTHER_BYTES];

static int scalar(const char *label)
{
    int result;

    value++;
    result = cgtrace_scalar(label, value);
    if (result == CGTRACE_OK) printf("scalar %s %.0f\n", label, value);
    return result;
}

static void handler(int number, siginfo_t *info, void *argument)
{
    greg_t *registers = ((ucontext_t *)argument)->uc_mcontext.gregs;
    cgtrace_span span;

    (void)number, (void)info;
    if (!in_library(registers) || seen++ < stop_at) return;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (jumps) siglongjmp(out, 1);
    for (int i = 0; i < OTHERS; i++)
        refused += scalar(others[i]) == CGTRACE_OFF;
    span = cgtrace_span_begin("handler");
    refused += span == 0;
    if (span > 0) cgtrace_span_end(span);
}

static volatile cgtrace_span victim;

__attribute__((noinline)) static void interrupted(const char *what)
{
    static char name[] = "victim";
    int result;
    DEEPER();

    if (strcmp(what, "scalar") == 0) {
        value++;
        if (jumps) printf("maybe victim %.0f\n", value);
        const double given = value;
        START();
        result = cgtrace_scalar(name, given);
        STOP();
        if (result == CGTRACE_OK) printf("scalar victim %.0f\n", given);
    } else if (strcmp(what, "begin") == 0) {
        START();
        victim = cgtrace_span_begin(name);
        STOP();
        cgtrace_span_end(victim);
    } else if (strcmp(what, "end") == 0) {
        victim = cgtrace_span_begin(name);
        START();
        result = cgtrace_span_end(victim);
        STOP();
        if (result != CGTRACE_OK) printf("end %d\n", result);
    } else {
        START();
        nvtxRangePushA(name);
        STOP();
        nvtxRangePop();
    }
}

static void *on_thread(void *what)
{
    interrupted(what);
    return NULL;
}

static void run(const char *what)
{
    static char scalar_first[] = "scalar";
    pthread_t thread;

    if (strcmp(what, "first") != 0) {
        interrupted(what);
        return;
    }
    if (pthread_create(&thread, NULL, on_thread, scalar_first)) exit(2);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    static volatile int step, each;

    if (count != 3) return 2;
    jumps = strcmp(arguments[2], "jump") == 0;
    each = strcmp(arguments[1], "first") == 0 ? FIRST_EACH : 1;
    for (int i = 0; i < OTHERS; i++)
        snprintf(others[i], OTHER_BYTES, "o%d", i);
    find_library();
    /* NVTX looks for its tool: with the loader, which holds signals back, and there none may come of steps.
     */
    nvtxRangePushA("first");
    nvtxRangePop();
    sigaction(SIGTRAP, &action, NULL);
    for (step = 0; step < STEPS_MAX; step += each) {
        volatile cgtrace_span around = cgtrace_span_begin("around");

        stop_at = INT_MAX;
        run(arguments[1]); /* now its text is known */
        seen = 0;
        stop_at = step;
        if (sigsetjmp(out, 1) == 0)
            run(arguments[1]);
        else if (strcmp(arguments[1], "end") == 0)
            cgtrace_span_end(victim); /* where that was not done yet */
        scalar("inside");
        /* A span whose handle never came stays open in it. */
        if (cgtrace_span_end(around) != CGTRACE_OK && !(jumps && strcmp(arguments[1], "begin") == 0))
            puts("around: not ended");
        if (seen <= step) break;
    }
    printf("refused %d\nsteps %d\n", refused, step);
    return 0;
}
