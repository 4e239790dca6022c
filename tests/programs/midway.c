/* usage: midway HOW [ROUNDS]: works, does what HOW names to itself or has it done, works on. What it prints
 * last comes when the driver is gone already. */
#include "target.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static CUmodule module;

static void work(unsigned rounds)
{
    CUfunction fill = target_kernel(&module, "fill");
    uint64_t sum = 0;
    for (unsigned i = 0; i < rounds; i++) {
        CUdeviceptr data;
        uint32_t first;
        CU(cuMemAlloc(&data, 4096));
        target_fill(fill, data, 1024, i, NULL);
        CU(cuMemcpyDtoH(&first, data, 4));
        CU(cuMemFree(data));
        sum += first;
    }
    printf("sum %llu\n", (unsigned long long)sum);
    fflush(stdout);
}

/* Registered before the driver's own: runs behind it. */
static void without_driver(void)
{
    CUdeviceptr pointer;
    SHOW(cuMemAlloc(&pointer, 1024));
    fflush(stdout);
}

static void limit(__rlimit_resource_t what, rlim_t value)
{
    if (setrlimit(what, &(struct rlimit){value, value}) != 0) exit(1);
}

/* The numbers of all descriptors become those of a file of this program's. */
static int take_numbers(void)
{
    syscall(SYS_close_range, 3u, ~0u, 0u);
    int own = open("own.txt", O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 700; i++)
        if (dup(own) < 0) exit(1);
    return own;
}

/* How many files can be opened; the most of many tries, lest a descriptor counts that is gone at once, or
 * that a thread holds which waits for a processor. */
static void count_descriptors(void)
{
    enum { TRIES = 100, ENOUGH = 256 };
    int most = 0;
    for (int i = 0; i < TRIES; i++) {
        int fd[ENOUGH], count = 0;
        while (count < ENOUGH && (fd[count] = open("/dev/null", O_RDONLY)) >= 0)
            count++;
        if (count > most) most = count;
        while (count > 0)
            close(fd[--count]);
        usleep(1000);
    }
    printf("%d descriptors\n", most);
}

/* All that there are, for longer than a writer needs to come by. */
static void take_all(void)
{
    enum { ENOUGH = 256 };
    int fd[ENOUGH], count = 0;
    while (count < ENOUGH && (fd[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    usleep(300000);
    while (count > 0)
        close(fd[--count]);
}

static void wait_for_end_of_input(void)
{
    char byte;
    puts("half");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

/* What is in the environment goes to the heap, and a title takes its place. */
static void set_title(void)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **kept = calloc(count + 1, sizeof *kept);
    for (size_t i = 0; kept && i < count; i++) {
        kept[i] = strdup(environ[i]);
        memset(environ[i], 'x', strlen(environ[i]));
    }
    environ = kept;
}

static void *first_work(void *context)
{
    CU(cuCtxSetCurrent(context));
    work(20);
    return context;
}

/* As little stack as a thread may have. */
static void on_small_stack(CUcontext context)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) != 0) exit(1);
    if (pthread_create(&thread, &attributes, first_work, context) != 0) exit(1);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 200;
    int own = -1;
    if (strcmp(how, "title") == 0) set_title();
    atexit(without_driver);
    CUcontext context = target_open(0);
    if (strcmp(how, "small-stack") == 0) on_small_stack(context);
    work(rounds);
    if (strcmp(how, "wait") == 0)
        wait_for_end_of_input();
    else if (strcmp(how, "close-range") == 0)
        syscall(SYS_close_range, 3u, ~0u, 0u);
    else if (strcmp(how, "take-all") == 0)
        take_all();
    else if (strcmp(how, "count") == 0)
        count_descriptors();
    else if (strcmp(how, "own-numbers") == 0)
        own = take_numbers();
    else if (strcmp(how, "chroot") == 0 && (chroot(".") != 0 || chdir("/") != 0))
        return 1;
    else if (strcmp(how, "descriptors") == 0)
        limit(RLIMIT_NOFILE, 3);
    else if (strcmp(how, "file-size") == 0)
        limit(RLIMIT_FSIZE, 4096);
    else if (strcmp(how, "memory") == 0)
        limit(RLIMIT_DATA, 1);
    else if (strcmp(how, "daemon") == 0) {
        /* No call behind it: what a process has of CUDA is not its child's. */
        if (daemon(1, 1) != 0) return 1;
        syscall(SYS_close_range, 3u, ~0u, 0u);
        rename("daemon.txt", "daemon.done");
        _exit(0);
    }
    work(rounds);
    if (own >= 0) printf("own file: %lld bytes\n", (long long)lseek(own, 0, SEEK_END));
    return 3;
}
