/* A forked child. */
#include <pthread.h>

#include "preload/hooks/state.h"

/* Handles are forgotten: the child cannot use its parent's. Only the forking thread is left, so nobody holds
 * a lock. */
static void in_child(void)
{
    struct handle_map *maps[] = {&handle_streams, &handle_functions, &handle_contexts};
    handle_open_locks();
    for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
        handle_forget_all(maps[i]);
    atomic_store_explicit(&hook_legacy, 0, memory_order_relaxed);
    atomic_store_explicit(&hook_captures, 0, memory_order_relaxed);
    device_forked();
    hook_thread = (struct hook_thread){.device = CAP_NO_DEVICE};
}

__attribute__((constructor)) static void watch_forks(void)
{
    if (pthread_atfork(NULL, NULL, in_child)) record_no_forks();
}
