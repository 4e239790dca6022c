/* cgtrace doctor: what recording depends on, one line each. */
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/filesystem.h"
#include "common/settings.h"
#include "launcher/launcher.h"

enum verdict { GOOD, NOTE, BAD };
static bool bad;

static void say(enum verdict verdict, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(enum verdict verdict, const char *what, const char *format, ...)
{
    static const char *const words[] = {"ok", "note", "BAD"};
    va_list arguments;

    bad |= verdict == BAD;
    printf("%-5s %-14s ", words[verdict], what);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void look_at_library(void)
{
    char path[PATH_MAX];

    say(GOOD, "cgtrace", "version %s, glibc %s", CGT_VERSION, gnu_get_libc_version());
    if (find_library(path, sizeof path))
        say(GOOD, "library", "%s", path);
    else
        say(BAD, "library",
            "libcgtrace.so is neither beside this program nor in ../lib: install both together");
}

static void look_at_settings(struct settings *settings)
{
    char error[512];

    if (settings_read(settings, error, sizeof error))
        say(GOOD, "settings", "those of the environment are allowed%s",
            settings->disable ? "; CGTRACE_DISABLE is set: nothing will be recorded" : "");
    else
        say(BAD, "settings", "%s", error);
}

/* ---- the driver ---- */

static void look_at_devices(void *driver, int (*get_count)(int *))
{
    int count = 0;
    int (*get_name)(char *, int, int) = (int (*)(char *, int, int))dlsym(driver, "cuDeviceGetName");

    if (get_count(&count) != 0 || count == 0) {
        say(NOTE, "devices", "none");
        return;
    }
    for (int i = 0; i < count; i++) {
        char name[256] = "unknown";
        if (get_name) get_name(name, sizeof name, i);
        say(GOOD, "device", "cuda:%d %s", i, name);
    }
}

static void look_at_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*start)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
    int (*get_version)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
    int (*get_count)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDeviceGetCount") : NULL;
    int version = 0;

    if (!driver || !start || !get_version || !get_count) {
        say(NOTE, "driver", "libcuda.so.1 cannot be opened: CUDA programs will not run here");
        return;
    }
    int code = start(0);
    get_version(&version);
    if (code != 0) {
        say(NOTE, "driver", "for CUDA %d.%d, but cuInit answers %d%s", version / 1000, version % 1000 / 10,
            code, code == 100 ? ": there is no device" : "");
        return;
    }
    say(GOOD, "driver", "for CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (version < 11080) say(NOTE, "driver", "older than CUDA 11.8: not tried with this version");
    look_at_devices(driver, get_count);
}

/* ---- other tools ---- */

static void look_at_tools(void)
{
    const char *nvtx = getenv("NVTX_INJECTION64_PATH"), *cuda = getenv("CUDA_INJECTION64_PATH");
    const char *preloaded = getenv("LD_PRELOAD");

    if (!nvtx)
        say(GOOD, "NVTX", "no other tool takes its ranges");
    else if (access(nvtx, R_OK) == 0)
        say(NOTE, "NVTX", "%s takes ranges too, and will be called behind us", nvtx);
    else
        say(NOTE, "NVTX", "NVTX_INJECTION64_PATH names %s, which cannot be read: it will not be called",
            nvtx);
    if (cuda)
        say(NOTE, "CUDA tools", "CUDA_INJECTION64_PATH is set (%s): another profiler will run too", cuda);
    if (preloaded && strstr(preloaded, "libcgtrace.so"))
        say(NOTE, "LD_PRELOAD",
            "holds libcgtrace.so already: cgtrace record is not needed, and would add it again");
    else if (preloaded && *preloaded)
        say(NOTE, "LD_PRELOAD", "%s stays, behind us", preloaded);
}

static void look_at_ranks(const struct settings *settings)
{
    int32_t rank = settings_rank();

    if (rank < 0)
        say(GOOD, "rank", "none is set: not started by mpirun, srun or torchrun");
    else if (settings_has_rank(settings->ranks, (uint32_t)rank))
        say(GOOD, "rank", "%d; it is part of the trace's name", (int)rank);
    else
        say(NOTE, "rank", "%d is not among CGTRACE_RANKS=%s: not recorded", (int)rank, settings->ranks);
}

/* ---- the machine ---- */

static void read_word(const char *path, char *word, size_t size)
{
    FILE *file = fopen(path, "re");

    if (!file || !fgets(word, (int)size, file)) *word = '\0';
    word[strcspn(word, "\n")] = '\0';
    if (file) fclose(file);
}

static void look_at_output(const struct settings *settings)
{
    const char *slash = strrchr(settings->output, '/');
    char folder[PATH_MAX];
    struct statvfs space;

    snprintf(folder, sizeof folder, "%s%s%.*s", *settings->output == '/' ? "" : settings->dir,
             *settings->dir && *settings->output != '/' ? "/" : "",
             slash ? (int)(slash - settings->output) + 1 : 0, settings->output);
    if (!*folder) snprintf(folder, sizeof folder, ".");
    if (strchr(folder, '%')) {
        say(NOTE, "output", "%s has a field in its folder part: it is made when the program runs", folder);
    } else if (access(folder, W_OK | X_OK) != 0) {
        say(BAD, "output", "%s: %s", folder, strerror(errno));
    } else if (statvfs(folder, &space) == 0) {
        unsigned long long megabytes = (unsigned long long)space.f_bavail * space.f_frsize >> 20;
        say(megabytes < 256 ? NOTE : GOOD, "output", "%s, %llu MiB free%s", folder, megabytes,
            filesystem_maps_safely(folder)
                ? ""
                : "; a network or user-space file system: the capture file goes to /dev/shm "
                  "or a local folder");
    }
    if (statvfs("/dev/shm", &space) == 0)
        say(GOOD, "/dev/shm", "%llu MiB free", (unsigned long long)space.f_bavail * space.f_frsize >> 20);
}

static void look_at_limits(void)
{
    static const char memory[] = "nothing is recorded where a program leaves less than 256 MiB of it";
    static const struct {
        __rlimit_resource_t what;
        const char *name, *meaning;
    } limits[] = {{RLIMIT_FSIZE, "file size", "a longer trace is cut there, and says so"},
                  {RLIMIT_AS, "address space", memory},
                  {RLIMIT_DATA, "data", memory}};
    struct rlimit limit;

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (getrlimit(limits[i].what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            say(NOTE, limits[i].name, "limited to %llu bytes: %s", (unsigned long long)limit.rlim_cur,
                limits[i].meaning);
}

static void look_at_machine(void)
{
    char word[64];

    read_word("/sys/devices/system/clocksource/clocksource0/current_clocksource", word, sizeof word);
    if (strcmp(word, "tsc") == 0)
        say(GOOD, "clock", "the kernel trusts the time-stamp counter: times cost least");
    else
        say(NOTE, "clock", "the kernel uses %s: times may cost more", *word ? word : "an unknown clock");
    read_word("/proc/sys/kernel/yama/ptrace_scope", word, sizeof word);
    if (*word && *word != '0')
        say(NOTE, "ptrace", "scope %s: debuggers may not attach to any process; recording does not need it",
            word);
    else
        say(GOOD, "ptrace", "not limited; recording does not need it");
}

int command_doctor(int argc, char **argv)
{
    struct settings settings;

    if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        help_doctor();
        return 0;
    }
    if (argc > 1)
        return complain(EXIT_USAGE, "doctor takes no words, not %s; to look at a program: cgtrace check %s",
                        argv[1], argv[1]);
    look_at_library();
    look_at_settings(&settings);
    look_at_driver();
    look_at_tools();
    if (!bad) {
        look_at_ranks(&settings);
        look_at_output(&settings);
        look_at_limits();
    }
    look_at_machine();
    return bad ? EXIT_CANNOT_CHECK : 0;
}

void help_doctor(void)
{
    puts("usage: cgtrace doctor\n"
         "\n"
         "Looks at what recording depends on: the library, the settings in the environment, the driver and "
         "its devices,\n"
         "other tools, ranks, the folder of the traces, the machine's clock. Changes nothing.\n"
         "\n"
         "Exit status: 0 a program can be recorded here (notes are worth reading), 1 it cannot: see the "
         "lines that\n"
         "begin with BAD, 2 usage.");
}
