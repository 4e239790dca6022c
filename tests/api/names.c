/* Names that signal's handlers come between, at each instruction: a name that ends with its page, behind
 * which nothing is mapped, while the handler names another text that the library keeps at the same place
 * ("edge"), or leaves a call with that one for good ("edge-left"); one buffer whose text has changed, while
 * the handler leaves the call ("text-left") or begins a span of it as well ("text"); and one whose text is
 * what it was before again, behind the call that was left ("back-left").
 *
 * names WHAT api|nvtx BATCH: "steps N", the instructions, each of which is interrupted, "places N", how many
 * different ones they are, "missed N", those that a call did not come to. BATCH of them one after the other
 * in a child, which a signal may end: a capture for each alone takes a hundred times as long as the step.
 *
 * A call is stepped through once, to know its instructions. The calls that are interrupted run to a
 * breakpoint; where there are none they are stepped through as well, each one up to its instruction. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "preload/cgtrace.h"
#include "tests/api/stepping.h"

enum { PAGE = 4096, PLACES = 16, STEPS_MOST = 5000, CODE_MOST = 1 << 24 };

/* Of a call that is not interrupted: its instructions in the library, in their order. */
static uintptr_t trail[STEPS_MOST];
static volatile int seen, stop_at, trap = -1;
static volatile bool fired;
/* Shared with the children. */
static struct progress {
    int step, steps; /* that a child is at; that there are */
    int missed;
    bool at[CODE_MOST]; /* bytes of the library that a handler has stood at */
} * progress;
static bool nvtx, leave, breakpoints;
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

static void let_go(void)
{
    if (trap >= 0) close(trap);
    trap = -1;
}

static void handler(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *where = context;
    greg_t *registers = where->uc_mcontext.gregs;

    (void)signal_number, (void)info;
    if (trap < 0) {
        if (!in_library(registers)) return;
        if (stop_at < 0 && seen < STEPS_MOST) trail[seen] = (uintptr_t)registers[REG_RIP];
        if (seen++ != stop_at) return;
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    }
    let_go();
    fired = true;
    progress->at[((uintptr_t)registers[REG_RIP] - library) % CODE_MOST] = true;
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

/* Behind "changed", up to the next "round", no span may have a name that begins with "wrong". */
static const char begun[] = "round", changed[] = "changed";

/* Texts of a step's own, new as they would be in a process of its own. */
static _Alignas(1024) char pool[1024], known[32];

/* A text in the pool whose place is none of the other names'; or one of the same place. */
static char *in_pool(const char *same)
{
    char *text = pool;

    while (same ? place(text) != place(same)
                : place(text) == place(begun) || place(text) == place(changed) || place(text) == place(known))
        text += 4;
    return text;
}

/* A breakpoint at the step that comes. */
static void set_trap(void)
{
    uint64_t nth = 0;

    for (int i = 0; i <= stop_at; i++)
        nth += trail[i] == trail[stop_at];
    if (stop_at >= 0 && breakpoints) trap = breakpoint(trail[stop_at], nth);
}

static void interrupted(const char *name)
{
    if (sigsetjmp(out, 1)) return;
    set_trap();
    if (trap < 0) START();
    name_once(name);
    if (trap < 0) STOP();
    let_go();
}

/* The page-end name is known before and named again behind. */
static void edge(const char *page_end)
{
    char *other = in_pool(page_end);

    name_once(begun);
    sprintf(other, "wrong%d", progress->step);
    name_once(leave ? page_end : other);
    name_once(page_end);
    name_once(page_end);
    handlers_name = other;
    interrupted(leave ? other : page_end);
    name_once(changed);
    name_once(page_end);
}

static void text(bool back)
{
    char *buffer = in_pool(NULL), before[32];

    sprintf(known, back ? "wrong%d" : "right%d", progress->step);
    sprintf(before, back ? "right%d" : "wrong%d", progress->step);
    name_once(begun);
    name_once(known);
    strcpy(buffer, before);
    name_once(buffer);
    name_once(buffer);
    strcpy(buffer, known);
    handlers_name = buffer;
    if (!back) name_once(changed);
    interrupted(buffer);
    if (back) name_once(changed);
    if (back) strcpy(buffer, before);
    name_once(buffer);
}

static void batch(const char *what, char *page_end, int first, int count)
{
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

    find_library();
    sigaction(SIGTRAP, &action, NULL);
    for (int step = -1; step < count; step++) {
        seen = 0;
        fired = false;
        stop_at = step < 0 ? -1 : first + step;
        progress->step = step < 0 ? first : first + step;
        strncmp(what, "edge", 4) == 0 ? edge(page_end) : text(strncmp(what, "back", 4) == 0);
        if (step < 0)
            progress->steps = seen < STEPS_MOST ? seen : STEPS_MOST;
        else
            progress->missed += !fired;
        if (progress->step + 1 >= progress->steps) break;
    }
}

int main(int argc, char **argv)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status, places = 0, count = argc == 4 ? atoi(argv[3]) : 0;

    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count < 1 || pages == MAP_FAILED || progress == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE))
        return 2;
    strcpy(pages + PAGE - 8, "forward");
    nvtx = strcmp(argv[2], "nvtx") == 0;
    leave = strstr(argv[1], "-left") != NULL;
    breakpoints = breakpoints_come();
    for (int first = 0; first == 0 || first < progress->steps; first = progress->step + 1) {
        pid_t child = fork();

        if (child == 0) {
            batch(argv[1], pages + PAGE - 8, first, count);
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        if (WIFSIGNALED(status)) printf("step %d: signal %d\n", progress->step, WTERMSIG(status));
    }
    for (int i = 0; i < CODE_MOST; i++)
        places += progress->at[i];
    printf("steps %d places %d missed %d\n", progress->steps, places, progress->missed);
    return 0;
}
