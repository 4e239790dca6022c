/* usage: look_fork alloc|dlsym|runtime brief|long [RUNTIME]
 * A fork while another thread is held inside of dl_iterate_phdr() (holder.c), to which one of the library's
 * three ways there has led it: the stack of a record, a look-up after an object was opened with
 * RTLD_DEEPBIND, a call of a runtime that is out of the library's sight. brief: until 60 ms into the fork;
 * long: until the child has ended. The child goes the same way, and works. Without the holder: the same, and
 * nobody is held. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VERSION "libcudart.so.12"

static struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*set)(void *);
    int (*alloc)(unsigned long long *, size_t);
    int (*release)(unsigned long long);
} driver;
static void *driver_handle;
static int (*runtime_malloc)(void **, size_t);
static void (*hold_next)(void);
static bool (*is_inside)(void);
static void (*let_go)(int);
static const char *way;
static bool brief, held;
static _Atomic bool is_held;

static void *symbol(void *handle, const char *name)
{
    void *found = dlsym(handle, name);

    if (!found) exit(printf("%s\n", dlerror()) > 0 ? 3 : 4);
    return found;
}

static void open_all(const char *runtime)
{
    driver_handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver_handle || (runtime && !dlopen(runtime, RTLD_NOW | RTLD_LOCAL)))
        exit(puts(dlerror()) >= 0 ? 3 : 4);
    driver.init = (int (*)(unsigned))symbol(driver_handle, "cuInit");
    driver.retain = (int (*)(void **, int))symbol(driver_handle, "cuDevicePrimaryCtxRetain");
    driver.set = (int (*)(void *))symbol(driver_handle, "cuCtxSetCurrent");
    driver.alloc = (int (*)(unsigned long long *, size_t))symbol(driver_handle, "cuMemAlloc_v2");
    driver.release = (int (*)(unsigned long long))symbol(driver_handle, "cuMemFree_v2");
    /* The library's wrapper, whose real function is then not to be found through the program. */
    runtime_malloc = (int (*)(void **, size_t))dlvsym(RTLD_DEFAULT, "cudaMalloc", VERSION);
    hold_next = (void (*)(void))dlsym(RTLD_DEFAULT, "holder_hold_next");
    is_inside = (bool (*)(void))dlsym(RTLD_DEFAULT, "holder_is_inside");
    let_go = (void (*)(int))dlsym(RTLD_DEFAULT, "holder_let_go");
    if (strcmp(way, "dlsym") == 0 && !dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND)) exit(3);
}

/* Goes the way, behind which the thread is not in the driver, whose locks a child has as they are. Without
 * the library the runtime's function is not in sight. 0, or what went wrong. */
static int look(void)
{
    unsigned long long memory = 0;

    if (strcmp(way, "dlsym") == 0) return dlsym(driver_handle, "cuMemcpy") == NULL;
    if (strcmp(way, "runtime") == 0) return runtime_malloc && runtime_malloc(NULL, 4096) != 1;
    driver.alloc(&memory, 4096); /* fails in the thread, which has no context; recorded, failed or not */
    return 0;
}

static int work(void)
{
    void *context = NULL;
    unsigned long long memory = 0;

    if (driver.init(0) || driver.retain(&context, 0) || driver.set(context)) return 5;
    return driver.alloc(&memory, 8192) || driver.release(memory);
}

static void *holder(void *unused)
{
    (void)unused;
    if (hold_next) hold_next();
    look();
    atomic_store(&is_held, true); /* it never was, where nobody holds it */
    return NULL;
}

/* Before the library's own handler, which is older: it finds the thread inside. */
static void as_fork_begins(void)
{
    enum { STAYS_MS = 60 };

    held = is_inside && is_inside() && !atomic_load(&is_held);
    if (let_go && brief) let_go(STAYS_MS);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int status = 0;

    if (argc < 3) return 2;
    way = argv[1];
    brief = strcmp(argv[2], "brief") == 0;
    open_all(argc > 3 ? argv[3] : NULL);
    if (pthread_atfork(as_fork_begins, NULL, NULL)) return 3;
    pthread_create(&thread, NULL, holder, NULL);
    while (!atomic_load(&is_held) && !(is_inside && is_inside()))
        usleep(100);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        status = work();
        return look() || status;
    }
    waitpid(child, &status, 0);
    if (let_go) let_go(0);
    pthread_join(thread, NULL);
    printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fprintf(stderr, "held: %d\n", held);
    return 0;
}
