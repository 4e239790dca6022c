/* usage: endings HOW: does some work, prints, and ends in the way named. */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *leave(void *status)
{
    exit((int)(intptr_t)status);
}

/* Ends after the first thread: the process does with it, as by exit(0). */
static void *last(void *unused)
{
    usleep(20000);
    return unused;
}

static void from_handler(int number)
{
    _exit(40 + number);
}

static void at_exit_work(void)
{
    CUdeviceptr pointer;
    SHOW(cuMemAlloc(&pointer, 1024));
    fflush(stdout);
}

static int other_ways(const char *how)
{
    pthread_t thread;
    if (!strcmp(how, "thread-exit")) {
        pthread_create(&thread, NULL, leave, (void *)(intptr_t)6);
        pthread_join(thread, NULL);
    } else if (!strcmp(how, "main-pthread-exit")) {
        pthread_create(&thread, NULL, leave, (void *)(intptr_t)7);
        pthread_exit(NULL);
    } else if (!strcmp(how, "last-thread")) {
        pthread_create(&thread, NULL, last, NULL);
        pthread_exit(NULL);
    } else if (!strcmp(how, "handler")) {
        signal(SIGUSR1, from_handler);
        raise(SIGUSR1);
    } else if (!strcmp(how, "atexit")) {
        atexit(at_exit_work);
        return 8;
    } else if (!strcmp(how, "exec")) {
        execl("/bin/echo", "echo", "after exec", (char *)NULL);
    } else if (!strcmp(how, "closed-stderr")) {
        close(2);
        return 0;
    } else if (!strcmp(how, "close-all")) {
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        CUdeviceptr pointer;
        SHOW(cuMemAlloc(&pointer, 1024));
        return 0;
    }
    return 99;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    CUmodule module = NULL;
    CUdeviceptr data;
    uint32_t first;
    target_open(0);
    CUfunction fill = target_kernel(&module, "fill");
    CU(cuMemAlloc(&data, 4000));
    target_fill(fill, data, 1000, 77, NULL);
    CU(cuMemcpyDtoH(&first, data, 4));
    printf("value %u\n", first);
    fprintf(stderr, "ending by %s\n", how);
    fflush(stdout);
    if (!strcmp(how, "return")) return 3;
    if (!strcmp(how, "exit")) exit(4);
    if (!strcmp(how, "_exit")) _exit(5);
    if (!strcmp(how, "_Exit")) _Exit(5);
    if (!strcmp(how, "quick_exit")) quick_exit(9);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "term")) raise(SIGTERM);
    if (!strcmp(how, "segv")) raise(SIGSEGV);
    if (!strcmp(how, "failing")) CU(cuMemFree((CUdeviceptr)0x1234));
    return other_ways(how);
}
