#include "preload/objects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "preload/signals.h"
#include "preload/unnoticed.h"

/* How long either waits for the other. Not for ever: a handler of forks may wait for what a thread that waits
 * here holds, and a program may fork while it looks at the list itself. */
enum { LOOK_WAITS_MS = 100, FORK_WAITS_MS = 1000, NAPS_PER_MS = 10, NAP_NS = 1000 * 1000 / NAPS_PER_MS };

static _Atomic uint32_t looking; /* threads that look */
static _Atomic uint32_t forking; /* threads that fork */
/* Its thread forks: what a later handler of the same fork does is not kept from looking. */
static _Thread_local bool forks __attribute__((tls_model("initial-exec")));
static _Thread_local bool parts_clean __attribute__((tls_model("initial-exec")));
static bool lock_is_lost; /* of this process: it is taken, by a thread that only the parent has, or may be in
                             a child */

static bool wait_for_none(const _Atomic uint32_t *count, int limit_ms)
{
    for (int i = 0; i < limit_ms * NAPS_PER_MS; i++) {
        /* Acquire, and one of all sequentially consistent: see below. */
        if (atomic_load(count) == 0) return true;
        nap_ns(NAP_NS);
    }
    return false;
}

/* Stores that it looks before it loads whether somebody forks; who forks stores that before it loads whether
 * somebody looks. All four are sequentially consistent: one of the two sees the other. */
static bool begin_look(void)
{
    do {
        atomic_fetch_add(&looking, 1);
        if (forks || atomic_load(&forking) == 0) return true;
        atomic_fetch_sub(&looking, 1);
    } while (wait_for_none(&forking, LOOK_WAITS_MS));
    return false;
}

bool objects_are_lost(void)
{
    return lock_is_lost;
}

bool objects_hold(void)
{
    if (lock_is_lost) return false;
    signals_hold();
    if (begin_look()) return true;
    signals_release();
    return false;
}

void objects_release(void)
{
    /* Release: the loader's lock is open before the thread looks no more. */
    atomic_fetch_sub_explicit(&looking, 1, memory_order_release);
    signals_release();
}

int objects_look(int (*look_at)(struct dl_phdr_info *object, size_t size, void *argument), void *argument)
{
    int result;

    if (!objects_hold()) return -1;
    result = dl_iterate_phdr(look_at, argument);
    objects_release();
    return result;
}

/* ---- forks ---- */

static void before_fork(void)
{
    forks = true;
    atomic_fetch_add(&forking, 1);
    parts_clean = wait_for_none(&looking, FORK_WAITS_MS);
}

static void in_parent(void)
{
    forks = false;
    atomic_fetch_sub(&forking, 1);
}

static void in_child(void)
{
    forks = false;
    lock_is_lost |= !parts_clean;
    atomic_store_explicit(&looking, 0, memory_order_relaxed);
    atomic_store_explicit(&forking, 0, memory_order_relaxed);
}

__attribute__((constructor)) static void watch_forks(void)
{
    /* Else no fork waits for a look: then there are none. */
    if (pthread_atfork(before_fork, in_parent, in_child)) lock_is_lost = true;
}
