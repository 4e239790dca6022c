#include "analyzer/cmd/bus_error.h"

#include <signal.h>
#include <unistd.h>

#include "analyzer/trace/trace.h"

/* One that somebody sent ends the program as it would any other. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    static const char line[] =
        "cg-analyze: a file became shorter while it was looked at, or its device failed\n";
    (void)context;
    if (info->si_code <= 0) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    ssize_t told = write(STDERR_FILENO, line, sizeof line - 1);
    (void)told; /* else there is nobody to tell */
    _exit(CG_EXIT_IO);
}

void bus_error_setup(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigset_t set;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
