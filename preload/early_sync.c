#include "preload/early_sync.h"

#include <sys/prctl.h>

#include "preload/own_thread.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"

enum early_sync_work { IDLE, SYNC, LEAVE };

enum {
    PIECE = 32 << 20,
    TAKEN = 4 << 20, /* what the disk is asked to begin with at once */
    /* A process is not gone, even a killed one, before its fsync() under way is: a disk that is further
     * behind than this is left to the kernel. */
    BEHIND = 256 << 20,
    LOOK_NS = 1000 * 1000 * 1000, /* a sandbox may forbid the call that wakes */
};

static void *run(void *argument)
{
    struct early_sync *sync = argument;
    uint32_t work;

    prctl(PR_SET_NAME, "cgtrace", 0, 0, 0);
    record_self.busy = record_frame(); /* nothing that this thread does is recorded */
    /* Acquire: what was written of the file comes before its being asked for. */
    while ((work = atomic_load_explicit(&sync->work, memory_order_acquire)) != LEAVE) {
        if (work == SYNC) {
            int error = file_sync_kept(sync->file);

            if (!sync->error) sync->error = error;
            /* Release: the error comes before its being done. */
            atomic_store_explicit(&sync->work, IDLE, memory_order_release);
            futex_wake(&sync->work, 1);
        } else {
            futex_wait(&sync->work, IDLE, LOOK_NS);
        }
    }
    return NULL;
}

void early_sync_open(struct early_sync *sync)
{
    sync->made = own_thread_begin(&sync->thread, PTHREAD_CREATE_JOINABLE, run, sync);
}

/* The disk takes what is whole while the rest is made. A file system that cannot is not asked again. */
static void begin(struct early_sync *sync, const struct file *file, uint64_t bytes)
{
    uint64_t whole = bytes - bytes % TAKEN;

    if (whole <= sync->begun_bytes) return;
    if (file_begin_sync(file, sync->begun_bytes, whole - sync->begun_bytes))
        sync->begun_bytes = UINT64_MAX;
    else
        sync->begun_bytes = whole;
}

void early_sync_look(struct early_sync *sync, const struct file *file, uint64_t bytes)
{
    SIGNALS_HELD;

    begin(sync, file, bytes);
    if (!sync->made || sync->over || bytes - sync->asked_bytes < PIECE) return;
    if (bytes - sync->asked_bytes > BEHIND) sync->over = true;
    /* Acquire: the error comes before its being done. */
    if (sync->over || atomic_load_explicit(&sync->work, memory_order_acquire) == SYNC) return;
    sync->file = file;
    sync->over = sync->error != 0;
    if (sync->over) return;
    sync->asked_bytes = bytes;
    /* Release: what was written comes before its being asked for. */
    atomic_store_explicit(&sync->work, SYNC, memory_order_release);
    futex_wake(&sync->work, 1);
}

int early_sync_end(struct early_sync *sync)
{
    SIGNALS_HELD;

    sync->over = true;
    if (!sync->made) return sync->error;
    while (atomic_load_explicit(&sync->work, memory_order_acquire) == SYNC)
        futex_wait(&sync->work, SYNC, LOOK_NS);
    atomic_store_explicit(&sync->work, LEAVE, memory_order_relaxed);
    futex_wake(&sync->work, 1);
    pthread_join(sync->thread, NULL);
    sync->made = false;
    return sync->error;
}
