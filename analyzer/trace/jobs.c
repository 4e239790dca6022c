#include "analyzer/trace/jobs.h"

#include <pthread.h>
#include <sched.h>

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
    struct job *jobs;
    size_t count, first; /* all before the first have begun */
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool failed;
};

static bool all_done(const struct job *job)
{
    return (!job->after[0] || job->after[0]->state == JOB_DONE) &&
           (!job->after[1] || job->after[1]->state == JOB_DONE);
}

static bool any_failed(const struct job *job)
{
    return (job->after[0] && job->after[0]->state == JOB_FAILED) ||
           (job->after[1] && job->after[1]->state == JOB_FAILED);
}

/* The next job that can begin; NULL when none is left. What a job reads is stored before it begins and what
 * it stores is read by those after it and by the caller: the lock, which is taken between them, orders both.
 */
static struct job *begin_next(struct queue *queue)
{
    for (;;) {
        bool waiting = false;
        for (size_t i = queue->first; i < queue->count; i++) {
            struct job *job = &queue->jobs[i];
            if (job->state != JOB_WAITS) {
                queue->first += i == queue->first;
            } else if (all_done(job)) {
                job->state = JOB_RUNS;
                return job;
            } else if (any_failed(job)) {
                job->state = JOB_FAILED;
            } else {
                waiting = true;
            }
        }
        if (!waiting) return NULL;
        pthread_cond_wait(&queue->done, &queue->lock);
    }
}

static void *work(void *context)
{
    struct queue *queue = context;
    pthread_mutex_lock(&queue->lock);
    for (struct job *job; (job = begin_next(queue));) {
        pthread_mutex_unlock(&queue->lock);
        bool good = job->run(job->context);
        pthread_mutex_lock(&queue->lock);
        job->state = good ? JOB_DONE : JOB_FAILED;
        queue->failed |= !good;
        pthread_cond_broadcast(&queue->done);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

bool jobs_run(struct job *jobs, size_t count, unsigned threads)
{
    struct queue queue = {
        .jobs = jobs, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
    pthread_t others[JOBS_THREADS_MAX - 1];
    unsigned made = 0;
    while (made + 1 < threads && made + 1 < count && made < JOBS_THREADS_MAX - 1 &&
           pthread_create(&others[made], NULL, work, &queue) == 0)
        made++;
    work(&queue);
    while (made > 0)
        pthread_join(others[--made], NULL);
    return !queue.failed;
}
