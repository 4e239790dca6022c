/* Programs with known chains of calls. The size of each allocation says which chain made it; what is printed
 * holds no address. Built as calls (position-independent), fixed (at fixed addresses) and plain (without
 * frame pointers). */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/target.h"

#ifdef __clang__ /* knows no noclone, and makes no clones */
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif
/* Behind a call: it is not the function's last word, so the function stays on the stack. */
#define STAYS() __asm__ volatile("" ::: "memory")

static CUdeviceptr last;

FRAME static void inner(size_t bytes)
{
    CU(cuMemAlloc(&last, bytes));
    STAYS();
}

FRAME void middle(size_t bytes)
{
    volatile char room[200];

    room[bytes % sizeof room] = 1;
    inner(bytes);
    STAYS();
}

FRAME void outer(size_t bytes)
{
    middle(bytes);
    STAYS();
}

FRAME static void deep(unsigned level, size_t bytes)
{
    if (level == 0)
        inner(bytes);
    else
        deep(level - 1, bytes);
    STAYS();
}

static void handler(int number)
{
    outer(600);
    STAYS();
    (void)number;
}

FRAME static void interrupted(void)
{
    raise(SIGUSR1);
    STAYS();
}

FRAME static void signals(void)
{
    struct sigaction action = {.sa_handler = handler};

    sigaction(SIGUSR1, &action, NULL);
    interrupted();
    STAYS();
}

static void *thread(void *context)
{
    CU(cuCtxSetCurrent(context));
    outer(700);
    return NULL;
}

static void threads(CUcontext context)
{
    pthread_t ids[2];

    for (int i = 0; i < 2; i++) {
        pthread_create(&ids[i], NULL, thread, context);
        pthread_join(ids[i], NULL);
    }
}

/* Each plugin is opened, used and closed before the next one. */
FRAME static void plugins(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        void *plugin = dlopen(paths[i], RTLD_NOW);
        void (*entry)(size_t) = plugin ? (void (*)(size_t))dlsym(plugin, "plugin_entry") : NULL;

        if (!entry) {
            printf("%s\n", dlerror());
            exit(1);
        }
        entry(800 + (size_t)i);
        printf("plugin %d closed: %d\n", i, dlclose(plugin));
    }
    outer(900);
    STAYS();
}

FRAME static void forks(void)
{
    fflush(stdout);
    pid_t child = fork();
    int status;

    if (child == 0) {
        target_open(0);
        outer(1001);
        exit(0);
    }
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
    target_open(0);
    outer(1000);
    STAYS();
}

FRAME static void everything(void)
{
    CUmodule module = NULL;
    CUfunction nothing = target_kernel(&module, "nothing");
    CUdeviceptr second;
    char host[64] = "";

    outer(1100);
    CU(cuMemcpyHtoD(last, host, sizeof host));
    CU(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CU(cuCtxSynchronize());
    CU(cuMemFree(last));
    SHOW(cuMemAlloc(&second, (size_t)1 << 60));
}

/* A stack of the program's own, whose outermost call returns to where nothing is mapped; it is left by a
 * jump. */
static void *before[5];

__attribute__((used)) static void on_another_stack(void)
{
    inner(1300);
    __builtin_longjmp(before, 1);
}

FRAME static void coroutine(void)
{
    size_t bytes = 1 << 18;
    char *low = malloc(bytes), *top = low + bytes - 64;

    if (!low) exit(1);
    top -= (uintptr_t)top % 16 + 8;
    *(uintptr_t *)(void *)top = 0x1234567;
    if (!__builtin_setjmp(before))
        __asm__ volatile("mov %0, %%rsp\n\tjmp on_another_stack" ::"r"(top) : "memory");
    free(low);
}

/* A signal handler on a stack of its own. */
static void alternate(void)
{
    const stack_t stack = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

    if (!stack.ss_sp || sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL)) exit(1);
    interrupted();
}

/* What the recorder opens for itself must not be found by the program. */
static void scope(void)
{
    static const char *const names[] = {"unw_backtrace", "_Unwind_Backtrace", "_Unwind_Resume", "backtrace"};
    Dl_info info;

    outer(1200);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(RTLD_DEFAULT, names[i]);
        const char *file = found && dladdr(found, &info) ? strrchr(info.dli_fname, '/') : "/none";

        printf("%s: %s\n", names[i], file ? file + 1 : "?");
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    /* A child of a process that has used the driver cannot. */
    CUcontext context = strcmp(way, "fork") ? target_open(0) : NULL;

    if (!strcmp(way, "chain")) {
        outer(100);
        outer(101);
    } else if (!strcmp(way, "deep")) {
        deep((unsigned)atoi(argv[2]), 500);
    } else if (!strcmp(way, "signal")) {
        signals();
    } else if (!strcmp(way, "threads")) {
        threads(context);
    } else if (!strcmp(way, "plugins")) {
        plugins(argc - 2, argv + 2);
    } else if (!strcmp(way, "fork")) {
        forks();
    } else if (!strcmp(way, "all")) {
        everything();
    } else if (!strcmp(way, "coroutine")) {
        coroutine();
        outer(1301);
    } else if (!strcmp(way, "alternate")) {
        alternate();
        outer(1301);
    } else if (!strcmp(way, "scope")) {
        scope();
    } else if (!strcmp(way, "kill")) {
        outer(100);
        outer(101);
        fflush(stdout);
        raise(SIGKILL);
    } else {
        printf("unknown way\n");
        return 2;
    }
    printf("done\n");
    return 0;
}
