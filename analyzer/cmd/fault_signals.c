#include "analyzer/cmd/fault_signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/trace/index_watch.h"
#include "analyzer/trace/trace.h"

static const int signals[] = {SIGBUS, SIGSEGV, SIGFPE};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

/* Once, whatever other threads meet meanwhile. */
static void end_with(const char *line)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set_explicit(&ending, memory_order_relaxed))
        pause();
    ssize_t told = write(STDERR_FILENO, line, strlen(line));
    (void)told; /* else there is nobody to tell */
    _exit(CG_EXIT_IO);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool sent = info->si_code <= 0; /* by somebody */
    if (!sent && index_watch_any_written()) end_with("cg-analyze: " INDEX_WATCH_TEXT "\n");
    if (!sent && number == SIGBUS)
        end_with("cg-analyze: a file became shorter while it was looked at, or its device failed\n");
    /* A fault comes again behind the handler. */
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == number && !sent) sigaction(number, &before[i], NULL);
    if (sent) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void fault_signals_setup(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigset_t set;
    sigemptyset(&action.sa_mask);
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_IGN)
            before[i].sa_handler = SIG_DFL; /* a parent's: it would end nothing */
        sigaction(signals[i], &action, NULL);
        sigaddset(&set, signals[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
