/* usage: long_heap SPANS
 * An allocator that records spans while it holds its lock, until there are so many of them. Says so when a
 * thread of the recorder's comes to allocate meanwhile. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "preload/cgtrace.h"
#include "tests/faults/entered_heap.h"

void __libc_free(void *block);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool works, foreign;
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

static void look(void)
{
    char name[17] = "";

    if (works && prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "cgtrace")) foreign = true;
}

static void enter(void)
{
    look();
    if (inside) return;
    inside = true;
    pthread_mutex_lock(&lock);
    for (int i = 0; works && i < 16; i++)
        cgtrace_span_end(cgtrace_span_begin("forward"));
    pthread_mutex_unlock(&lock);
    inside = false;
}

void free(void *block)
{
    look();
    __libc_free(block);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    cgtrace_scalar("begins", 1);
    works = true;
    for (long i = strtol(argv[1], NULL, 10) / 16; i > 0; i--) {
        void *volatile block = malloc(1);
        free(block);
    }
    works = false;
    puts(foreign ? "a thread of the recorder's has allocated" : "worked");
    return foreign;
}
