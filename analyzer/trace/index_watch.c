#include "analyzer/trace/index_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/trace/same_file.h"

struct index_watch {
    struct index_watch *next; /* never changes */
    atomic_int fd;            /* -1: watches nothing, and may be taken */
    struct stat seen;
    atomic_bool relied_on;
};

static _Atomic(struct index_watch *) watches; /* those of the process; they only become more */
static atomic_bool broken;                    /* one that was relied on and has ended */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* By its size and time of writing: that it got another name, or none any more, changes nothing of it. What is
 * written in the tick of the file system's clock in which the index was made goes unseen. */
static bool written(struct index_watch *watch)
{
    struct stat now;
    /* Acquire: what is compared was stored before the descriptor. */
    int fd = atomic_load_explicit(&watch->fd, memory_order_acquire);
    return fd >= 0 && (fstat(fd, &now) != 0 || now.st_size != watch->seen.st_size ||
                       timespec_ns(&now.st_mtim) != timespec_ns(&watch->seen.st_mtim));
}

/* One that watches nothing. Called with the lock held. */
static struct index_watch *spare(void)
{
    struct index_watch *first = atomic_load_explicit(&watches, memory_order_relaxed), *watch = first;
    while (watch != NULL && atomic_load_explicit(&watch->fd, memory_order_relaxed) >= 0)
        watch = watch->next;
    if (watch != NULL || (watch = calloc(1, sizeof *watch)) == NULL) return watch;
    watch->next = first;
    atomic_store_explicit(&watch->fd, -1, memory_order_relaxed);
    /* Release: a handler that finds it finds it whole. */
    atomic_store_explicit(&watches, watch, memory_order_release);
    return watch;
}

struct index_watch *index_watch_begin(int fd)
{
    struct stat seen;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own < 0) return NULL;
    pthread_mutex_lock(&lock);
    struct index_watch *watch = fstat(own, &seen) == 0 ? spare() : NULL;
    if (watch != NULL) {
        watch->seen = seen;
        atomic_store_explicit(&watch->relied_on, false, memory_order_relaxed);
        atomic_store_explicit(&watch->fd, own, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (watch == NULL) {
        int error = errno;
        close(own);
        errno = error;
    }
    return watch;
}

bool index_watch_rely(struct index_watch *watch)
{
    bool good = !written(watch);
    atomic_store_explicit(&watch->relied_on, good, memory_order_relaxed);
    return good;
}

static bool wrong(struct index_watch *watch)
{
    return atomic_load_explicit(&watch->relied_on, memory_order_relaxed) && written(watch);
}

void index_watch_end(struct index_watch *watch)
{
    if (watch == NULL) return;
    if (wrong(watch)) atomic_store_explicit(&broken, true, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    close(atomic_exchange_explicit(&watch->fd, -1, memory_order_relaxed));
    pthread_mutex_unlock(&lock);
}

static bool any(bool (*is)(struct index_watch *watch))
{
    struct index_watch *watch = atomic_load_explicit(&watches, memory_order_acquire);
    while (watch != NULL && !is(watch))
        watch = watch->next;
    return watch != NULL;
}

bool index_watch_any_written(void)
{
    return any(written);
}

bool index_watch_broken(void)
{
    return atomic_load_explicit(&broken, memory_order_relaxed) || any(wrong);
}
