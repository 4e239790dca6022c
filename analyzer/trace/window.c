#include "analyzer/trace/window.h"

#include <errno.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/trace/pool.h"
#include "analyzer/trace/same_file.h"

struct window {
    char *text;
    uint64_t at; /* of the file */
    size_t size;
    char *frame; /* all that is reserved for it */
    size_t frame_size;
    atomic_uint holders;
    atomic_bool *broken;
};

static _Thread_local struct window *here;
static struct sigaction before;
static size_t page_size;

/* In place of what is mapped there. By a system call and memset() alone: a signal's handler does it, too. */
static bool map_line_feeds(char *page)
{
    void *made =
        mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (made == MAP_FAILED) return false;
    memset(page, '\n', page_size);
    return true;
}

/* Outside of the thread's window, without a page to be had, or sent by somebody, it is as if nobody had
 * caught it: a fault comes again by itself behind the handler, as what it is, and what was sent is sent
 * again. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    char *page = (char *)info->si_addr - (uintptr_t)info->si_addr % page_size;
    int error = errno;
    (void)context;
    if (info->si_code > 0 && here != NULL && page >= here->text && page < here->text + here->size &&
        map_line_feeds(page)) {
        atomic_store_explicit(here->broken, true, memory_order_relaxed);
    } else {
        sigaction(number, &before, NULL);
        if (info->si_code <= 0) raise(number);
    }
    errno = error;
}

/* Looked at for each window: others may have set a handler since. */
static void catch_bus_errors(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct sigaction ours = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, now;
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&lock);
    if (page_size == 0) page_size = (size_t)sysconf(_SC_PAGESIZE);
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != on_bus_error) {
        before = now;
        sigaction(SIGBUS, &ours, NULL);
    }
    pthread_mutex_unlock(&lock);
}

/* A huge page of the file is mapped as one only where its address is a multiple of its size, too. */
static bool map(struct window *window, int fd)
{
    size_t whole = (window->size + page_size - 1) / page_size * page_size;
    window->frame_size = HUGE_PAGE + whole + page_size;
    window->frame =
        mmap(NULL, window->frame_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (window->frame == MAP_FAILED) return false;
    window->text = window->frame + (window->at - (uintptr_t)window->frame) % HUGE_PAGE;
    return mmap(window->text, window->size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, (off_t)window->at) !=
               MAP_FAILED &&
           map_line_feeds(window->text + whole);
}

/* Whether the byte at this place can be read without waiting for a device. */
static bool in_memory(int fd, uint64_t at)
{
    char byte;
    struct iovec one = {&byte, 1};
    struct statfs system;
    if (preadv2(fd, &one, 1, (off_t)at, RWF_NOWAIT) == 1) return true;
    return errno == EOPNOTSUPP && fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

/* Looked at here and there. What is not in memory is read: read() asks the device for what comes next, while
 * pages that are touched one by one took twice the time. */
static bool all_in_memory(int fd, uint64_t at, size_t size)
{
    enum { STEP = 1 << 20 };
    for (size_t done = 0; done < size; done += STEP)
        if (!in_memory(fd, at + done)) return false;
    return in_memory(fd, at + size - 1);
}

struct window *window_open(int fd, uint64_t at, uint64_t end, atomic_bool *broken)
{
    struct window *window = malloc(sizeof *window);
    if (window == NULL) return NULL;
    catch_bus_errors();
    uint64_t begin = at - at % page_size;
    *window = (struct window){.at = begin,
                              .size = end - begin < WINDOW_MOST ? (size_t)(end - begin) : WINDOW_MOST,
                              .frame = MAP_FAILED,
                              .holders = 1,
                              .broken = broken};
    if (all_in_memory(fd, begin, window->size) && map(window, fd)) return window;
    window_release(window);
    return NULL;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return timespec_ns(&now);
}

/* Reads a byte of each page. Returns what that took, ns. */
static int64_t touch(const char *text, size_t size)
{
    int64_t begin = now_ns();
    for (size_t at = 0; at < size; at += page_size)
        (void)*(const volatile char *)(text + at);
    return now_ns() - begin;
}

bool window_pays(struct window *window, int fd)
{
    /* PIECE: what the kernel maps at a fault, where the file does not lie in larger folios. */
    enum { PIECE = 64 << 10, PIECES = 3 };
    char copy[PIECE];
    int64_t mapped = INT64_MAX, copied = INT64_MAX;
    if (window->size < 2 * PIECES * PIECE) return true;
    window_enter(window);
    for (size_t at = 0; at < 2 * PIECES * PIECE; at += 2 * PIECE) {
        int64_t touched = touch(window->text + at, PIECE), begin = now_ns();
        if (pread(fd, copy, PIECE, (off_t)(window->at + at + PIECE)) != PIECE) break;
        int64_t read = now_ns() - begin;
        if (touched < mapped) mapped = touched;
        if (read < copied) copied = read;
    }
    window_enter(NULL);
    return mapped <= copied / 2; /* reading the rest of each page is still to come */
}

struct window *window_retain(struct window *window)
{
    atomic_fetch_add_explicit(&window->holders, 1, memory_order_relaxed);
    return window;
}

void window_release(struct window *window)
{
    /* Release and acquire: what others read in it comes before it goes. */
    if (window == NULL || atomic_fetch_sub_explicit(&window->holders, 1, memory_order_acq_rel) > 1) return;
    if (window->frame != MAP_FAILED) munmap(window->frame, window->frame_size);
    free(window);
}

const char *window_text(const struct window *window, uint64_t at)
{
    return window->text + (at - window->at);
}

uint64_t window_left(const struct window *window, uint64_t at)
{
    return at - window->at < window->size ? window->size - (at - window->at) : 0;
}

void window_enter(struct window *window)
{
    here = window;
}
