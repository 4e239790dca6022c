#include "analyzer/trace/jobs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Some 10,000 records: what is made of them takes a hundred times as long as a thread takes to begin. */
enum { BYTES_WORTH_THREADS = 2 << 20 };

unsigned jobs_processors(void)
{
    cpu_set_t processors;
    return sched_getaffinity(0, sizeof processors, &processors) == 0 ? (unsigned)CPU_COUNT(&processors) : 1;
}

unsigned jobs_threads(uint64_t trace_bytes, unsigned asked)
{
    unsigned threads = asked > 0 ? asked : 1;
    if (asked == 0 && trace_bytes >= BYTES_WORTH_THREADS) threads = jobs_processors();
    return threads < JOBS_THREADS_MAX ? threads : JOBS_THREADS_MAX;
}

struct queue {
    const struct job *jobs;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
};

/* Relaxed: the numbers alone are shared here. What jobs read was stored before their thread was made, and
 * what they store is read after it was joined: pthread_create() and pthread_join() order both. */
static void *work(void *context)
{
    struct queue *queue = context;
    for (;;) {
        size_t number = atomic_fetch_add_explicit(&queue->next, 1, memory_order_relaxed);
        if (number >= queue->count) return NULL;
        const struct job *job = &queue->jobs[number];
        if (!job->run(job->context)) atomic_store_explicit(&queue->failed, true, memory_order_relaxed);
    }
}

bool jobs_run(const struct job *jobs, size_t count, unsigned threads)
{
    struct queue queue = {.jobs = jobs, .count = count};
    pthread_t others[JOBS_THREADS_MAX - 1];
    unsigned made = 0;
    while (made + 1 < threads && made + 1 < count && made < JOBS_THREADS_MAX - 1 &&
           pthread_create(&others[made], NULL, work, &queue) == 0)
        made++;
    work(&queue);
    while (made > 0)
        pthread_join(others[--made], NULL);
    return !atomic_load_explicit(&queue.failed, memory_order_relaxed);
}
