/* A file that is on its disk, but for the last of it, while it is still being written: what there is of it
 * when the machine dies, and little to wait for at its end. Of 4 million records in a row, on a disk that
 * keeps 1.2 GB a second, 1,110 MB came to it in a second; 1,050 without the disk's beginning at once, 740
 * with nothing but that. */
#ifndef CGTRACE_PRELOAD_EARLY_SYNC_H
#define CGTRACE_PRELOAD_EARLY_SYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/file.h"

struct early_sync {
    const struct file *file; /* where thread is: stays */
    pthread_t thread;
    bool made;             /* there is a thread, to be joined */
    bool over;             /* it cannot, or the disk is too slow: not asked again */
    uint64_t begun_bytes;  /* the disk has been asked to begin with them */
    uint64_t asked_bytes;  /* those that have been asked for, to be on it */
    _Atomic uint32_t work; /* futex; enum early_sync_work */
    int error;             /* errno of the first that failed: no later fsync() tells it again */
};

/* Makes the thread, whose making allocates: in a thread of the program's, which waits for no other of ours.
 * One of its others may wait for the writer and hold what the program's allocator needs. */
void early_sync_open(struct early_sync *sync);
/* Once bytes of the file are written: asks the thread to have them on the disk, if they are enough
 * and the last such request is done. Does not wait. For one thread at a time. */
void early_sync_look(struct early_sync *sync, const struct file *file, uint64_t bytes);
/* Waits for what is under way, and ends the thread. 0, or what went wrong. */
int early_sync_end(struct early_sync *sync);

#endif
