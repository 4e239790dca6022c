/* cgtrace record: runs one program under the recorder. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/settings.h"
#include "launcher/launcher.h"

static volatile sig_atomic_t child;

/* Signals that somebody sends to the launcher alone are meant for the program. Those of the terminal (SIGINT,
 * SIGQUIT) reach the whole foreground group by themselves. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool from_terminal = info->si_code == SI_KERNEL;
    if (child > 0 && !from_terminal) kill((pid_t)child, number);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction past;
        /* What our caller had ignored (nohup) stays ignored, here and in the program. */
        if (sigaction(numbers[i], NULL, &past) == 0 && past.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

/* libcgtrace.so goes first: its dlsym must be met before those of other tools. */
static bool preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    size_t size = strlen(library) + (others ? strlen(others) : 0) + 2;
    char *value = malloc(size);
    bool ok = value != NULL;

    if (ok) {
        snprintf(value, size, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
        ok = setenv("LD_PRELOAD", value, 1) == 0;
    }
    free(value);
    return ok;
}

/* Ends this process as the program was ended by a signal, without a second core file. */
static _Noreturn void die_by(int number)
{
    sigset_t set;

    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number);
}

/* Then somebody has said so. */
static bool not_run(int status)
{
    return WIFEXITED(status) &&
           (WEXITSTATUS(status) == EXIT_CANNOT_EXECUTE || WEXITSTATUS(status) == EXIT_NOT_FOUND);
}

static int await(pid_t pid, const struct death_watch *watch, struct trace_watch *traces,
                 const struct settings *settings)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return complain(EXIT_CANNOT_RECORD, "cannot wait for the program: %s", strerror(errno));
    death_write(watch, settings, pid, status);
    if (!not_run(status)) trace_tell(traces, settings);
    if (WIFSIGNALED(status)) die_by(WTERMSIG(status));
    return WEXITSTATUS(status);
}

static int run(char **argv, const char *library, const struct settings *settings)
{
    struct death_watch watch;
    struct trace_watch traces;
    sigset_t all, past;
    pid_t pid;

    death_watch(&watch);
    trace_watch(&traces, settings);
    /* No signal is lost between fork() and the program's pid being known. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &past);
    pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &past, NULL);
        if (!preload(library)) _exit(complain(EXIT_CANNOT_RECORD, "out of memory"));
        execvp(argv[0], argv);
        _exit(complain(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE, "cannot run %s: %s", argv[0],
                       strerror(errno)));
    }
    if (pid > 0) {
        child = pid;
        watch_signals();
        /* What we may have to say or to write down then is no reason to end otherwise than the program. */
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
    }
    sigprocmask(SIG_SETMASK, &past, NULL);
    if (pid < 0) return complain(EXIT_CANNOT_RECORD, "cannot start a process: %s", strerror(errno));
    return await(pid, &watch, &traces, settings);
}

int command_record(int argc, char **argv)
{
    char library[PATH_MAX], program[PATH_MAX], error[512];
    struct settings settings;
    const char *culprit;
    int first, status = options_read(argc, argv, &first);

    if (status < 0) {
        help_record();
        return 0;
    }
    if (status != 0) return status;
    if (!settings_read(&settings, error, sizeof error)) return complain(EXIT_USAGE, "%s", error);
    if (!options_files_readable()) return EXIT_USAGE;
    if (!find_library(library, sizeof library))
        return complain(EXIT_CANNOT_RECORD, "libcgtrace.so is neither beside this program nor in ../lib");
    if (!find_program(argv[first], program, sizeof program))
        return complain(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE, "cannot run %s: %s",
                        argv[first], strerror(errno));
    enum preload_obstacle obstacle = inspect_program(program, &culprit);
    if (*obstacle_text(obstacle))
        return complain(EXIT_CANNOT_RECORD, "%s %s; nothing was run", culprit, obstacle_text(obstacle));
    return run(argv + first, library, &settings);
}

void help_record(void)
{
    puts("usage: cgtrace record [options] -- program [arguments]\n"
         "\n"
         "Runs the program with libcgtrace.so preloaded and ends as it ends: with its exit status, or by its "
         "signal.\n"
         "Each option sets a variable of the environment; a value that is not allowed ends with status 2, "
         "before the\n"
         "program is run. Status 3: the program cannot be recorded, and was not run. Statuses 126 and 127: "
         "it cannot be\n"
         "run, or was not found.\n"
         "\n"
         "options:");
    options_help();
}
