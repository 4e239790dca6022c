/* cgtrace check: how a program reaches CUDA, told from its file and from those that the dynamic loader would
 * load with it. The loader is asked for their list; of the program itself nothing runs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/launcher.h"

/* What a file may hold, and how one sees it. W(constant, "string in the file", "what it means for recording")
 */
#define CHECK_WAYS(W)                                                                                        \
    W(STATIC_RUNTIME, "cudaErrorCudartUnloading",                                                            \
      "the CUDA runtime is linked into it: seen where it asks the driver for its functions")                 \
    W(DRIVER_NAME, "libcuda.so", "it opens the driver by name: seen where it looks functions up")            \
    W(GET_PROC, "cuGetProcAddress", "it asks the driver for its functions: seen")                            \
    W(KERNELS, ".nvFatBinSegment", "it holds kernels made by nvcc")                                          \
    W(NVTX, "NVTX_INJECTION64_PATH", "it marks ranges with NVTX: they will be in the trace")                 \
    W(NAMESPACES, "dlmopen",                                                                                 \
      "it may load libraries into namespaces of their own: CUDA calls from there are not seen")              \
    W(TSAN, "__tsan_default_suppressions",                                                                   \
      "ThreadSanitizer is linked into it: run it with TSAN_OPTIONS=ignore_noninstrumented_modules=1, or it " \
      "reports races in libcgtrace.so, whose barriers it does not see")                                      \
    W(API, "cgtrace_api_1", "it uses cgtrace.h: what it says of itself will be in the trace")

enum check_way {
#define WAY(suffix, text, meaning) WAY_##suffix,
    CHECK_WAYS(WAY)
#undef WAY
        WAY_COUNT
};
static const struct {
    const char *text, *meaning;
} ways[] = {
#define WAY(suffix, text, meaning) {text, meaning},
    CHECK_WAYS(WAY)
#undef WAY
};

/* Libraries that are CUDA themselves: what they hold says nothing of the program. Prefixes of file names. */
static const struct {
    const char *prefix, *meaning;
    bool road; /* a way to CUDA */
} libraries[] = {
    {"libcuda.so", "linked with the driver: seen", true},
    {"libcudart.so", "linked with the shared CUDA runtime: seen", true},
    {"libnvToolsExt.so", "linked with NVTX of before CUDA 12: its ranges will be in the trace", false},
    {"libcgtrace.so", NULL, false},
    {"libcublas", "uses it: its launches are seen in the driver", true},
    {"libcudnn", "uses it: its launches are seen in the driver", true},
    {"libnccl", "uses it: its launches are seen in the driver", true},
    {"libcupti", "uses it: it may take the place of device timing by CUPTI", false},
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The ways that the file's bytes show, as bits. */
static unsigned look_into(const char *path)
{
    unsigned seen = 0;
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) return 0;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0) {
        char *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            for (int way = 0; way < WAY_COUNT; way++)
                if (memmem(bytes, (size_t)file.st_size, ways[way].text, strlen(ways[way].text)))
                    seen |= 1u << way;
            munmap(bytes, (size_t)file.st_size);
        }
    }
    close(fd);
    return seen;
}

struct report {
    bool road;    /* a way to CUDA was found */
    bool missing; /* a library is not found */
    bool linked;  /* with the driver, so that its name in a file says nothing more */
};

static void tell(const char *name, const char *meaning)
{
    printf("  %-28s %s\n", name, meaning);
}

static void tell_ways(struct report *report, const char *path, unsigned seen)
{
    const char *name = base_name(path);

    /* One road is enough to be told; the runtime asks the driver too. */
    if (seen & 1u << WAY_STATIC_RUNTIME)
        seen &= ~(1u << WAY_DRIVER_NAME | 1u << WAY_GET_PROC | 1u << WAY_NAMESPACES);
    else if (report->linked)
        seen &= ~(1u << WAY_DRIVER_NAME | 1u << WAY_GET_PROC);
    else if (seen & 1u << WAY_DRIVER_NAME)
        seen &= ~(1u << WAY_GET_PROC);
    if (seen & (1u << WAY_STATIC_RUNTIME | 1u << WAY_DRIVER_NAME | 1u << WAY_GET_PROC)) report->road = true;
    for (int way = 0; way < WAY_COUNT; way++)
        if (seen & 1u << way) tell(name, ways[way].meaning);
}

/* A library of the program's; false when it is none that says something by its name alone. */
static bool tell_library(struct report *report, const char *path)
{
    const char *name = base_name(path);

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (strncmp(name, libraries[i].prefix, strlen(libraries[i].prefix)) != 0) continue;
        if (libraries[i].meaning) tell(name, libraries[i].meaning);
        report->road |= libraries[i].road;
        return true;
    }
    return false;
}

/* One line of the loader's list: "name => path (address)", "name => not found", or "path (address)". */
static void take_line(struct report *report, char *line)
{
    char *arrow = strstr(line, " => "), *name = line + strspn(line, " \t");
    char *path = arrow ? arrow + 4 : name;

    if (arrow) *arrow = '\0';
    if (strcmp(path, "not found") == 0) {
        report->missing = true;
        if (!tell_library(report, name))
            tell(name, "is not found: the program will not start");
        else
            tell(name, "... and is not found here: the program will not start");
        return;
    }
    path[strcspn(path, " ")] = '\0';
    if (!strchr(path, '/') || tell_library(report, path)) return;
    static const char *const plain[] = {"libc.so",  "libm.so",  "libdl.so",     "libpthread.so",
                                        "librt.so", "ld-linux", "libstdc++.so", "libgcc_s.so"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strncmp(base_name(path), plain[i], strlen(plain[i])) == 0) return;
    tell_ways(report, path, look_into(path));
}

/* The list of the libraries that would be loaded with it, by asking the dynamic loader that the program
 * names; to be freed. NULL: it gives none. */
static char *list_libraries(const char *program)
{
    char loader[PATH_MAX], whole[PATH_MAX], *text = NULL;
    posix_spawn_file_actions_t actions;
    size_t used = 0, room = 0;
    int ends[2], status;
    pid_t pid;

    if (!program_loader(program, loader, sizeof loader) || !realpath(program, whole) ||
        pipe2(ends, O_CLOEXEC))
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    char *words[] = {loader, whole, NULL};
    unsetenv("LD_PRELOAD"); /* the list is of the program alone */
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    int error = posix_spawn(&pid, loader, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (!error) {
        if (used + 4096 > room) {
            char *more = realloc(text, room = 2 * room + 8192);
            if (!more) break;
            text = more;
        }
        ssize_t got = read(ends[0], text + used, room - used - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += (size_t)got;
    }
    close(ends[0]);
    while (!error && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (text) text[used] = '\0';
    return text;
}

static int look_at(const char *name, const char *path)
{
    struct report report = {.road = false};
    const char *culprit;
    enum preload_obstacle obstacle = inspect_program(path, &culprit);

    printf("%s\n", path);
    if (strcmp(culprit, path) != 0) printf("  is a script: %s runs it\n", culprit);
    if (obstacle != OBSTACLE_NONE) {
        const char *text = obstacle == OBSTACLE_UNREADABLE ? "cannot be read"
                           : obstacle == OBSTACLE_NOT_ELF  ? "is no program of this machine"
                                                           : obstacle_text(obstacle);
        tell(base_name(culprit), text);
        puts("It cannot be recorded.");
        return EXIT_CANNOT_CHECK;
    }
    char *list = list_libraries(culprit), *rest = list;
    report.linked = list && strstr(list, "libcuda.so");
    tell_ways(&report, culprit, look_into(culprit));
    if (!list) tell("libraries", "the dynamic loader does not list them");
    for (char *line; list && (line = strsep(&rest, "\n"));)
        if (*line) take_line(&report, line);
    free(list);
    if (report.missing)
        puts("It can be recorded once it starts: a library is missing.");
    else if (report.road)
        printf("It can be recorded: cgtrace record -- %s\n", name);
    else
        printf("It can be recorded: cgtrace record -- %s\nNo way to CUDA is linked in. What it loads while "
               "it runs "
               "(as Python does) is seen all the same.\n",
               name);
    return 0;
}

int command_check(int argc, char **argv)
{
    char program[PATH_MAX];

    if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        help_check();
        return 0;
    }
    int at = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (at < argc && at == 1 && argv[at][0] == '-')
        return complain(EXIT_USAGE, "check takes no options but --help, not %s", argv[at]);
    if (at >= argc) return complain(EXIT_USAGE, "no program named: cgtrace check program");
    if (at + 1 < argc)
        return complain(EXIT_USAGE,
                        "check looks at one program, and %s is a second word; its arguments do not matter",
                        argv[at + 1]);
    if (!find_program(argv[at], program, sizeof program))
        return complain(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE, "cannot check %s: %s",
                        argv[at], strerror(errno));
    return look_at(argv[at], program);
}

void help_check(void)
{
    puts("usage: cgtrace check program\n"
         "\n"
         "Says how the program reaches CUDA (linked with the driver or the runtime, with the runtime linked "
         "into it, or\n"
         "by names that it looks up), whether it marks ranges with NVTX, and what of it will be seen. Reads "
         "its file and\n"
         "those of its libraries; runs nothing of it. A statically linked, privileged or foreign program "
         "cannot be\n"
         "recorded, and the answer says why.\n"
         "\n"
         "Exit status: 0 it can be recorded, 1 it cannot, 2 usage, 126 and 127 as a shell's.");
}
