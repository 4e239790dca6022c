/* Reads a trace with several threads, which take turns: each reads a block of lines and decodes it into a
 * batch of its own, and takes the records of the batch into the trace when those of all blocks before are
 * there. So the trace, and which defect is found, are the same for any number of threads. What does not
 * depend on the order, to write the rows, is done when the turn has passed on. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/trace/jobs.h"
#include "analyzer/trace/take.h"

/* Decoding a block takes twice the time of taking its records, so more threads would wait for their turn. */
enum { THREADS_DEFAULT_MOST = 3 };

struct loader;
struct worker {
    struct loader *loader;
    struct batch batch;
    uint64_t block; /* number of the one in the batch */
    pthread_t thread;
};

struct loader {
    struct cg_load_options options;
    pthread_mutex_t input_lock; /* for input and blocks */
    struct input *input;
    uint64_t blocks; /* that were read */

    pthread_mutex_t turn_lock; /* for turn_passed */
    pthread_cond_t turn_passed;
    _Atomic uint64_t turn; /* the block whose records are taken; who has it owns what follows */
    struct taker taker;
    int status;
    struct timespec last_progress;

    atomic_bool failed; /* no more blocks are wanted */
    struct worker *helpers;
    unsigned helper_count; /* that run */
};

/* turns */

/* Acquire: what was taken in the turns before is seen. */
static bool has_turn(const struct worker *worker)
{
    return atomic_load_explicit(&worker->loader->turn, memory_order_acquire) == worker->block;
}

static void await_turn(struct worker *worker)
{
    struct loader *loader = worker->loader;
    if (has_turn(worker)) return;
    pthread_mutex_lock(&loader->turn_lock);
    while (!has_turn(worker))
        pthread_cond_wait(&loader->turn_passed, &loader->turn_lock);
    pthread_mutex_unlock(&loader->turn_lock);
}

static void pass_turn(struct loader *loader)
{
    pthread_mutex_lock(&loader->turn_lock);
    /* Release: what was taken in this turn comes before the next one. */
    atomic_fetch_add_explicit(&loader->turn, 1, memory_order_release);
    pthread_cond_broadcast(&loader->turn_passed);
    pthread_mutex_unlock(&loader->turn_lock);
}

static void report_progress(struct loader *loader, uint64_t done)
{
    struct timespec now;
    if (loader->options.progress == NULL) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t passed = (int64_t)(now.tv_sec - loader->last_progress.tv_sec) * 1000000000 +
                     (now.tv_nsec - loader->last_progress.tv_nsec);
    if (passed < 100000000) return;
    loader->last_progress = now;
    loader->options.progress(loader->options.progress_context, done, input_total(loader->input));
}

/* The block that comes next; its turn comes whether there is one or not. */
static int read_block(struct worker *worker, struct cg_error *error)
{
    struct loader *loader = worker->loader;
    pthread_mutex_lock(&loader->input_lock);
    worker->block = loader->blocks++;
    int status = input_lines(loader->input, &worker->batch.block, error);
    pthread_mutex_unlock(&loader->input_lock);
    return status;
}

/* Decodes a block and takes its records. One with more records than a batch holds keeps its turn meanwhile.
 */
static void take_block(struct worker *worker)
{
    struct loader *loader = worker->loader;
    batch_rewind(&worker->batch);
    bool more = batch_decode(&worker->batch);
    await_turn(worker);
    while (loader->status == 0) {
        loader->status = take_batch(&loader->taker, &worker->batch, more);
        if (loader->status != 0 || !more) break;
        take_store(&loader->taker, &worker->batch);
        more = batch_decode(&worker->batch);
    }
    bool taken = loader->status == 0;
    /* Only advice to stop early. */
    if (!taken) atomic_store_explicit(&loader->failed, true, memory_order_relaxed);
    report_progress(loader, worker->batch.block.source_bytes);
    pass_turn(loader);
    if (taken) take_store(&loader->taker, &worker->batch);
}

static void start_helpers(struct loader *loader);

/* Blocks until there are no more. main: of the thread that was asked for the trace. */
static void take_blocks(struct worker *worker, bool main)
{
    struct loader *loader = worker->loader;
    struct cg_error error;
    while (!atomic_load_explicit(&loader->failed, memory_order_relaxed)) {
        int status = read_block(worker, &error);
        if (status != 0 || worker->batch.block.length == 0) {
            await_turn(worker);
            if (loader->status == 0 && status != 0) {
                loader->status = status;
                *loader->taker.error = error;
            }
            pass_turn(loader);
            return;
        }
        /* Most traces have one block. */
        if (main && worker->block == 1) start_helpers(loader);
        take_block(worker);
    }
}

static void *help(void *worker)
{
    take_blocks(worker, false);
    return NULL;
}

static unsigned threads_wanted(const struct loader *loader)
{
    if (loader->options.threads > 0) return loader->options.threads;
    unsigned count = jobs_processors();
    return count < THREADS_DEFAULT_MOST ? count : THREADS_DEFAULT_MOST;
}

/* As many as there can be: without them it takes longer. */
static void start_helpers(struct loader *loader)
{
    unsigned count = threads_wanted(loader) - 1;
    loader->helpers = count > 0 ? calloc(count, sizeof *loader->helpers) : NULL;
    if (loader->helpers == NULL) return;
    for (; loader->helper_count < count; loader->helper_count++) {
        struct worker *helper = &loader->helpers[loader->helper_count];
        helper->loader = loader;
        if (!batch_init(&helper->batch, &loader->options) ||
            pthread_create(&helper->thread, NULL, help, helper) != 0) {
            batch_free(&helper->batch);
            return;
        }
    }
}

static void end_helpers(struct loader *loader)
{
    for (unsigned i = 0; i < loader->helper_count; i++) {
        pthread_join(loader->helpers[i].thread, NULL);
        batch_free(&loader->helpers[i].batch);
    }
    free(loader->helpers);
}

static void read_trace(struct loader *loader)
{
    struct worker worker = {.loader = loader};
    clock_gettime(CLOCK_MONOTONIC, &loader->last_progress);
    if (batch_init(&worker.batch, &loader->options)) {
        take_blocks(&worker, true);
        end_helpers(loader);
    } else {
        loader->status = taker_no_memory(&loader->taker);
    }
    batch_free(&worker.batch);
    if (loader->status == 0) loader->status = take_end(&loader->taker, loader->options.extras);
}

/* Once through the input; *trace: NULL unless the status is 0. */
static int load_once(struct input *input, const char *name, const struct cg_load_options *options,
                     struct cg_trace **trace, struct cg_error *error)
{
    struct loader loader = {.options = *options,
                            .input = input,
                            .input_lock = PTHREAD_MUTEX_INITIALIZER,
                            .turn_lock = PTHREAD_MUTEX_INITIALIZER,
                            .turn_passed = PTHREAD_COND_INITIALIZER};
    struct cg_trace *made = calloc(1, sizeof *made);
    if (made != NULL && (made->strings = strings_new()) != NULL &&
        taker_init(&loader.taker, name, made, error)) {
        read_trace(&loader);
        made->file_bytes = input_bytes(input);
        made->threads = loader.options.threads;
    } else {
        loader.status = cg_fail(error, CG_EXIT_IO, "%s: out of memory", name);
    }
    taker_free(&loader.taker);
    if (loader.status != 0) {
        trace_free(made);
        made = NULL;
    }
    *trace = made;
    return loader.status;
}

static int load(struct input *input, const char *name, const struct cg_load_options *wanted,
                struct cg_trace **trace, struct cg_error *error)
{
    const struct cg_load_options options = wanted != NULL ? *wanted : (struct cg_load_options){0};
    struct cg_trace *made;
    if (options.block_bytes > 0) input_set_block(input, options.block_bytes);
    input_map(input);
    int status = load_once(input, name, &options, &made, error);
    if (input_changed(input)) {
        trace_free(made);
        *error = (struct cg_error){0};
        input_again(input);
        status = load_once(input, name, &options, &made, error);
    }
    input_close(input);
    if (status == 0) *trace = made;
    return status;
}

int trace_load(const char *path, const struct cg_load_options *options, struct cg_trace **trace,
               struct cg_error *error)
{
    struct input *input = input_open(path, error);
    if (input == NULL) return error->status;
    return load(input, input_name(path), options, trace, error);
}

int trace_load_bytes(const char *name, const void *bytes, size_t length,
                     const struct cg_load_options *options, struct cg_trace **trace, struct cg_error *error)
{
    struct input *input = input_open_bytes(name, bytes, length, error);
    if (input == NULL) return error->status;
    return load(input, name, options, trace, error);
}

int trace_load_descriptor(const char *name, int fd, const struct cg_load_options *options,
                          struct cg_trace **trace, struct cg_error *error)
{
    struct input *input = input_open_descriptor(name, fd, error);
    if (input == NULL) return error->status;
    if (options != NULL && options->tap != NULL) input_tap(input, options->tap, options->tap_context);
    return load(input, name, options, trace, error);
}
