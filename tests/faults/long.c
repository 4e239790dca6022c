/* usage: long SPANS HOW
 * A thread begins and ends so many spans; then the program ends: `return` from main, `_exit`, or with its
 * last thread, main having left before (`last-thread`). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/cgtrace.h"

static long spans;

static void *work(void *unused)
{
    for (long i = 0; i < spans; i++)
        cgtrace_span_end(cgtrace_span_begin("forward"));
    puts("worked");
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc != 3) return 2;
    spans = strtol(argv[1], NULL, 10);
    cgtrace_scalar("begins", 1);
    if (pthread_create(&thread, NULL, work, NULL)) return 1;
    if (!strcmp(argv[2], "last-thread")) pthread_exit(NULL);
    if (pthread_join(thread, NULL)) return 1;
    fflush(stdout);
    if (!strcmp(argv[2], "_exit")) _exit(3);
    return 0;
}
