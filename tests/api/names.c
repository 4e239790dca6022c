/* Names that signal's handlers come between, at each instruction: a name that ends with its page, behind
 * which nothing is mapped, while the handler names another text that the library keeps at the same place
 * ("edge"), or leaves such a call for good ("edge-left"); and one buffer whose text has changed, while the
 * handler leaves the call ("text-left") or begins a span of it as well ("text").
 *
 * names WHAT api|nvtx EACH: "steps N", the instructions, of which each EACH-th is interrupted in a child of
 * its own, which a signal may end. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "preload/cgtrace.h"
#include "tests/api/stepping.h"

enum { PAGE = 4096, PLACES = 16, STEPS_MOST = 5000 };

static volatile int seen, stop_at, fired;
static bool nvtx, leave;
static const char *handlers_name;
static sigjmp_buf out;

static void name_once(const char *name)
{
    if (nvtx) {
        nvtxRangePushA(name);
        nvtxRangePop();
    } else {
        cgtrace_span_end(cgtrace_span_begin(name));
    }
}

static void handler(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *where = context;
    greg_t *registers = where->uc_mcontext.gregs;

    (void)signal_number, (void)info;
    if (!in_library(registers) || seen++ != stop_at) return;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    fired = 1;
    if (!leave)
        name_once(handlers_name);
    else if (!sigismember(&where->uc_sigmask, SIGUSR1)) /* where signals are held back none would have come */
        siglongjmp(out, 1);
}

/* As preload/record/recent.h has it. */
static unsigned place(const char *text)
{
    return (unsigned)((((uintptr_t)text ^ (uintptr_t)text >> 7) >> 2) % PLACES);
}

static void step_through(const char *name)
{
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

    find_library();
    sigaction(SIGTRAP, &action, NULL);
    if (sigsetjmp(out, 1)) return;
    START();
    name_once(name);
    STOP();
}

/* The page-end name is known before and named again behind. */
static void edge(char *end)
{
    static char pool[4 * PAGE];
    char *other = pool;

    while (place(other) != place(end) || (uintptr_t)other % PAGE > PAGE - 64)
        other += 4;
    strcpy(other, "other");
    name_once(leave ? end : other);
    name_once(end);
    name_once(end);
    handlers_name = other;
    step_through(leave ? other : end);
    name_once(end);
}

/* From here on no span may be called "foo". */
static void text(void)
{
    static _Alignas(64) char buffer[32];

    name_once("bar");
    strcpy(buffer, "foo");
    name_once(buffer);
    name_once(buffer);
    strcpy(buffer, "bar");
    name_once("changed");
    handlers_name = buffer;
    step_through(buffer);
    name_once(buffer);
}

int main(int argc, char **argv)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status, steps = 0;

    int each = argc == 4 ? atoi(argv[3]) : 0;

    if (each < 1 || pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE)) return 2;
    strcpy(pages + PAGE - 8, "forward");
    nvtx = strcmp(argv[2], "nvtx") == 0;
    leave = strstr(argv[1], "-left") != NULL;
    for (; steps < STEPS_MOST; steps += each) {
        pid_t child = fork();

        if (child == 0) {
            stop_at = steps;
            strncmp(argv[1], "edge", 4) == 0 ? edge(pages + PAGE - 8) : text();
            exit(fired ? 0 : 3);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        if (WIFSIGNALED(status)) printf("step %d: signal %d\n", steps, WTERMSIG(status));
        if (WIFEXITED(status) && WEXITSTATUS(status) == 3) break;
    }
    printf("steps %d\n", steps);
    return 0;
}
