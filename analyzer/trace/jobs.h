/* Independent pieces of work, done beside one another where there are processors for it. What a job makes
 * must not depend on the thread that makes it, nor on when: then results are the same on every machine. */
#ifndef CGTRACE_ANALYZER_TRACE_JOBS_H
#define CGTRACE_ANALYZER_TRACE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job {
    bool (*run)(void *context); /* false: it failed */
    void *context;
    const struct job *after[2]; /* earlier ones of the list, which must be done before; NULL: none */
    enum { JOB_WAITS, JOB_RUNS, JOB_DONE, JOB_FAILED } state; /* for jobs_run() alone */
};

/* Processors that this process may use; 1 when that cannot be said. */
unsigned jobs_processors(void);

/* How many threads jobs over a trace get: as many as were asked for; with 0 for a trace of few bytes one,
 * else one for each processor that this process may use. At most JOBS_THREADS_MAX. */
enum { JOBS_THREADS_MAX = 8 };
unsigned jobs_threads(uint64_t trace_bytes, unsigned asked);

/* Begins the jobs in their order (the longest is best the first), each as soon as those that it comes after
 * are done, on this thread and up to threads - 1 others; on fewer where no more can be made. Returns when all
 * are done: whether none failed. None is left out but those after one that failed, which have then failed
 * too. */
bool jobs_run(struct job *jobs, size_t count, unsigned threads);

#endif
