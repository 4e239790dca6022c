/*
 * Simulated time, and who does the work.
 *
 * Each stream has its own timeline: work begins at the latest of now, the end of the stream's work before it
 * and what it waits for, and lasts as long as its kind and size say. Its effect (bytes copied or set) happens
 * at once, in the thread that issues it: the order of issue is one of the orders that CUDA allows, and a
 * program may not look before it has synchronised. Nothing is left waiting that way, and a launch costs
 * little.
 *
 * What cannot be done at once is deferred: host functions, kernels that are host functions, waits for a
 * value, and everything that comes after such work in its stream or waits for it through an event or a
 * default stream. Deferred work belongs to a worker thread of its stream, which waits for the fences of what
 * it depends on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/graph.h"

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sim_now(void)
{
    return monotonic() + atomic_load_explicit(&sim.jumped_ns, memory_order_relaxed);
}

void sim_spend(uint64_t ns)
{
    if (!ns) return;
    for (uint64_t until = monotonic() + ns; monotonic() < until;)
        ;
}

void sim_jump(void)
{
    atomic_fetch_add_explicit(&sim.jumped_ns, sim.jump_ns, memory_order_relaxed);
}

static void sleep_unlocked(uint64_t ns)
{
    enum { SPIN_NS = 20000 }; /* a timer is later than that */
    uint64_t now = sim_now();
    if (ns > now + SPIN_NS) {
        uint64_t until = ns - SPIN_NS - atomic_load_explicit(&sim.jumped_ns, memory_order_relaxed);
        struct timespec t = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
            ;
    }
    while (sim_now() < ns)
        ;
}

void sim_sleep_until(uint64_t ns)
{
    if (ns <= sim_now()) return;
    pthread_mutex_unlock(&sim.lock);
    sleep_unlocked(ns);
    pthread_mutex_lock(&sim.lock);
}

/* ---- fences -------------------------------------------------------------------------------------------- */

static struct sim_fence *fence_new(void)
{
    struct sim_fence *f = sim_alloc(sizeof *f);
    f->references = 1;
    return f;
}

static struct sim_fence *fence_keep(struct sim_fence *f)
{
    f->references++;
    return f;
}

void sim_fence_release(struct sim_fence *f)
{
    if (f && --f->references == 0) free(f);
}

void sim_fence_wait(struct sim_fence *f)
{
    if (!f) return;
    fence_keep(f);
    while (!f->done)
        pthread_cond_wait(&sim.done, &sim.lock);
    sim_fence_release(f);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void run_copy(const struct sim_copy *c)
{
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(c->dst + z * c->dst_slice + y * c->dst_pitch,
                    c->src + z * c->src_slice + y * c->src_pitch, c->width);
}

static void run_set(const struct sim_set *s)
{
    for (size_t y = 0; y < s->height; y++) {
        uint8_t *row = s->dst + y * s->pitch;
        if (s->element == 1)
            memset(row, (int)s->value, s->width);
        else
            for (size_t x = 0; x < s->width; x++)
                memcpy(row + x * s->element, &s->value, s->element);
    }
}

static bool value_reached(const struct sim_value *v)
{
    uint64_t now = v->bytes == 4 ? __atomic_load_n((uint32_t *)v->address, __ATOMIC_ACQUIRE)
                                 : __atomic_load_n((uint64_t *)v->address, __ATOMIC_ACQUIRE);
    uint64_t difference = now - v->value;
    switch (v->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return v->bytes == 4 ? (int32_t)(uint32_t)difference >= 0 : (int64_t)difference >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return difference == 0;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & v->value) != 0;
    default:
        return (v->bytes == 4 ? ~(uint32_t)(now | v->value) : ~(now | v->value)) != 0;
    }
}

static void run_value(const struct sim_op *op)
{
    const struct sim_value *v = &op->u.value;
    if (op->work == SIM_W_WRITE_VALUE) {
        if (v->bytes == 4)
            __atomic_store_n((uint32_t *)v->address, (uint32_t)v->value, __ATOMIC_RELEASE);
        else
            __atomic_store_n((uint64_t *)v->address, v->value, __ATOMIC_RELEASE);
        return;
    }
    while (!value_reached(v))
        sleep_unlocked(sim_now() + 50000);
}

void sim_op_run(struct sim_op *op)
{
    switch (op->work) {
    case SIM_W_COPY:
        run_copy(&op->u.copy);
        break;
    case SIM_W_MEMSET:
        run_set(&op->u.set);
        break;
    case SIM_W_KERNEL:
        if (op->u.kernel.host) op->u.kernel.host(op->u.kernel.args, op->line.grid, op->line.block);
        break;
    case SIM_W_HOST:
        if (op->u.host.callback)
            op->u.host.callback(op->u.host.stream, CUDA_SUCCESS, op->u.host.data);
        else
            op->u.host.fn(op->u.host.data);
        break;
    case SIM_W_WRITE_VALUE:
    case SIM_W_WAIT_VALUE:
        run_value(op);
        break;
    case SIM_W_GRAPH:
        sim_plan_run(op->u.plan);
        break;
    case SIM_W_NOTHING:
    case SIM_W_RECORD:
    case SIM_W_FREE:
        break;
    }
}

void sim_op_discard(struct sim_op *op)
{
    if (op->work == SIM_W_KERNEL) free(op->u.kernel.args);
    if (op->work == SIM_W_GRAPH) sim_plan_release(op->u.plan);
}

struct sim_op *sim_op_copy(const struct sim_op *op)
{
    struct sim_op *copy = sim_new(SIM_OP, sizeof *copy);
    struct sim_object object = copy->object;
    *copy = *op;
    copy->object = object;
    return copy;
}

void sim_event_mark(struct sim_event *event, uint64_t end_ns, struct sim_fence *fence)
{
    if (fence) fence_keep(fence);
    sim_fence_release(event->fence);
    event->fence = fence;
    event->end_ns = end_ns;
    event->recorded = true;
    event->capture = NULL;
}

/* ---- the timeline -------------------------------------------------------------------------------------- */

static bool is_blocking(const struct sim_stream *s)
{
    return !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* What the stream's next work must wait for, in simulated time. Legacy default stream: all blocking streams
 * of its context; blocking stream: the legacy one. */
static uint64_t earliest(const struct sim_stream *s)
{
    const struct sim_context *c = s->context;
    uint64_t ns = s->tail_ns;
    if (s == c->legacy) {
        if (c->blocking_ns > ns) ns = c->blocking_ns;
    } else if (is_blocking(s) && c->legacy->tail_ns > ns) {
        ns = c->legacy->tail_ns;
    }
    return ns;
}

static void advance(struct sim_stream *s, uint64_t end_ns)
{
    if (end_ns > s->tail_ns) s->tail_ns = end_ns;
    if (is_blocking(s) && end_ns > s->context->blocking_ns) s->context->blocking_ns = end_ns;
}

static void free_in_order(const struct sim_op *op)
{
    if (op->u.storage->kind == SIM_K_GRAPH)
        sim_graph_storage_end(op->u.storage);
    else if (op->u.storage->pool)
        sim_pool_give_back(op->u.storage);
    else
        sim_storage_free(op->u.storage);
}

/* Runs the work under the stream's timeline. Lock held; given back meanwhile for work that takes real time.
 */
static void perform(struct sim_stream *stream, struct sim_op *op, uint64_t not_before)
{
    enum { SMALL = 64 << 10 };
    uint64_t begin = sim_now(), start = earliest(stream);
    if (not_before > start) start = not_before;
    if (begin > start) start = begin;
    bool real = (op->work == SIM_W_KERNEL && op->u.kernel.host) || op->work == SIM_W_HOST ||
                op->work == SIM_W_WAIT_VALUE ||
                (op->work == SIM_W_GRAPH && sim_plan_needs_worker(op->u.plan));
    bool waits = real && op->work != SIM_W_KERNEL; /* the host sees it run: not before its simulated time */
    uint64_t duration = op->duration_ns;
    if (real || op->line.bytes > SMALL) {
        pthread_mutex_unlock(&sim.lock);
        if (waits) sleep_unlocked(start);
        begin = sim_now();
        sim_op_run(op);
        uint64_t took = sim_now() - begin;
        pthread_mutex_lock(&sim.lock);
        if (real && (op->work != SIM_W_GRAPH || took > duration)) duration = took;
        if (waits && begin > start) start = begin;
    } else {
        sim_op_run(op);
    }
    op->line.start_ns = start;
    op->line.end_ns = start + duration;
    if (op->work == SIM_W_FREE) free_in_order(op);
    if (op->work == SIM_W_GRAPH) sim_plan_done(op->u.plan, start + duration);
    advance(stream, start + duration);
}

/* ---- deferred work ------------------------------------------------------------------------------------- */

static void add_dep(struct sim_op *op, struct sim_fence *fence)
{
    if (!fence || fence->done) return;
    op->deps = sim_realloc(op->deps, (op->dep_count + 1) * sizeof *op->deps);
    op->deps[op->dep_count++] = fence_keep(fence);
}

static bool undone(const struct sim_fence *fence)
{
    return fence && !fence->done;
}

/* Does deferred work stand before the stream's next work? */
static bool must_defer(const struct sim_stream *stream, const struct sim_fence *waits_for)
{
    if (undone(waits_for) || undone(stream->fence)) return true;
    if (stream == stream->context->legacy) {
        for (const struct sim_stream *s = stream->context->streams; s; s = s->next)
            if (is_blocking(s) && undone(s->fence)) return true;
        return false;
    }
    return is_blocking(stream) && undone(stream->context->legacy->fence);
}

static void gather_deps(struct sim_op *op, const struct sim_stream *stream)
{
    if (stream == stream->context->legacy) {
        for (const struct sim_stream *s = stream->context->streams; s; s = s->next)
            if (is_blocking(s) && s != stream) add_dep(op, s->fence);
    } else if (is_blocking(stream)) {
        add_dep(op, stream->context->legacy->fence);
    }
}

static void finish(struct sim_op *op)
{
    op->fence->end_ns = op->line.end_ns;
    op->fence->done = true;
    if (op->work == SIM_W_RECORD && op->u.event->fence == op->fence) op->u.event->end_ns = op->line.end_ns;
    if (op->has_line) {
        struct sim_line line = {
            .op = SIM_L_DONE, .seq = op->line.seq, .start_ns = op->line.start_ns, .end_ns = op->line.end_ns};
        sim_ledger_write(NULL, &line, CUDA_SUCCESS);
    }
    sim.deferred--;
    pthread_cond_broadcast(&sim.done);
    sim_op_discard(op);
    for (size_t i = 0; i < op->dep_count; i++)
        sim_fence_release(op->deps[i]);
    free(op->deps);
    sim_fence_release(op->fence);
    sim_delete(op);
}

static void *worker(void *arg)
{
    struct sim_stream *stream = arg;
    pthread_mutex_lock(&sim.lock);
    for (;;) {
        while (!stream->queue && !stream->closing)
            pthread_cond_wait(&stream->wake, &sim.lock);
        struct sim_op *op = stream->queue;
        if (!op) break;
        uint64_t not_before = op->not_before;
        for (size_t i = 0; i < op->dep_count; i++) {
            sim_fence_wait(op->deps[i]);
            if (op->deps[i]->end_ns > not_before) not_before = op->deps[i]->end_ns;
        }
        perform(stream, op, not_before);
        stream->queue = op->next;
        if (!stream->queue) stream->queue_end = &stream->queue;
        finish(op);
    }
    pthread_cond_destroy(&stream->wake);
    sim_fence_release(stream->fence);
    stream->object.magic = SIM_STREAM; /* back to the streams' own free list */
    sim_delete(stream);
    pthread_mutex_unlock(&sim.lock);
    return NULL;
}

static CUresult start_worker(struct sim_stream *stream)
{
    if (stream->has_worker) return CUDA_SUCCESS;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_cond_init(&stream->wake, NULL);
    stream->queue_end = &stream->queue;
    int error = pthread_create(&thread, &attributes, worker, stream);
    pthread_attr_destroy(&attributes);
    if (error) return CUDA_ERROR_OPERATING_SYSTEM;
    stream->has_worker = true;
    return CUDA_SUCCESS;
}

static CUresult defer(struct sim_stream *stream, struct sim_op *op, struct sim_fence *waits_for,
                      uint64_t not_before)
{
    CUresult result = start_worker(stream);
    if (result) return result;
    struct sim_op *copy = sim_op_copy(op);
    copy->not_before = not_before;
    copy->fence = fence_new();
    gather_deps(copy, stream);
    add_dep(copy, waits_for);
    sim_fence_release(stream->fence);
    stream->fence = fence_keep(copy->fence);
    if (op->work == SIM_W_RECORD) sim_event_mark(op->u.event, 0, copy->fence);
    op->line.pending = true;
    sim.deferred++;
    *stream->queue_end = copy;
    stream->queue_end = &copy->next;
    op->copy = copy;
    pthread_cond_signal(&stream->wake);
    return CUDA_SUCCESS;
}

static bool needs_worker(const struct sim_op *op)
{
    return op->work == SIM_W_HOST || op->work == SIM_W_WAIT_VALUE ||
           (op->work == SIM_W_KERNEL && op->u.kernel.host) ||
           (op->work == SIM_W_GRAPH && sim_plan_needs_worker(op->u.plan));
}

CUresult sim_submit_after(struct sim_call *call, struct sim_stream *stream, struct sim_op *op,
                          struct sim_fence *waits_for, uint64_t not_before)
{
    op->line.context = stream->context;
    op->line.device = stream->context->device;
    op->line.stream = sim_stream_handle(stream);
    op->line.has_stream = true;
    if (stream->capture) return sim_capture_op(call, stream, op);
    if (sim.captures) {
        CUresult r = sim_capture_implicit(stream);
        if (r) {
            sim_op_discard(op);
            return r;
        }
    }
    if (needs_worker(op) || (sim.deferred && must_defer(stream, waits_for)))
        return defer(stream, op, waits_for, not_before);
    if (waits_for && waits_for->end_ns > not_before) not_before = waits_for->end_ns;
    perform(stream, op, not_before);
    if (op->work == SIM_W_RECORD) sim_event_mark(op->u.event, op->line.end_ns, NULL);
    sim_op_discard(op);
    return CUDA_SUCCESS;
}

CUresult sim_submit(struct sim_call *call, struct sim_stream *stream, struct sim_op *op)
{
    return sim_submit_after(call, stream, op, NULL, 0);
}

void sim_submit_line(struct sim_call *call, CUresult result, struct sim_op *op)
{
    if (op->has_line && sim.ledger) sim_ledger_write(call, &op->line, result);
    if (op->copy) op->copy->line.seq = op->line.seq;
}

CUresult sim_submit_end(struct sim_call *call, CUresult result, struct sim_op *op)
{
    sim_submit_line(call, result, op);
    pthread_mutex_unlock(&sim.lock);
    return result;
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

bool sim_stream_idle(struct sim_stream *stream)
{
    if (stream == stream->context->legacy) {
        if (sim.deferred && must_defer(stream, NULL)) return false;
        return earliest(stream) <= sim_now();
    }
    return !undone(stream->fence) && stream->tail_ns <= sim_now();
}

void sim_wait_stream(struct sim_stream *stream)
{
    if (stream == stream->context->legacy)
        for (bool again = true; again && sim.deferred;) {
            again = false;
            for (struct sim_stream *s = stream->context->streams; s; s = s->next)
                if (is_blocking(s) && undone(s->fence)) {
                    sim_fence_wait(s->fence);
                    again = true;
                    break;
                }
        }
    sim_fence_wait(stream->fence);
    sim_sleep_until(stream == stream->context->legacy ? earliest(stream) : stream->tail_ns);
}

void sim_wait_context(struct sim_context *context)
{
    uint64_t latest = 0;
    for (bool again = true; again;) {
        again = false;
        latest = 0;
        for (struct sim_stream *s = context->streams; s; s = s->next) {
            if (undone(s->fence)) {
                sim_fence_wait(s->fence);
                again = true;
                break;
            }
            if (s->tail_ns > latest) latest = s->tail_ns;
        }
    }
    sim_sleep_until(latest);
}

void sim_wait_device(int device)
{
    for (struct sim_context *c = sim.contexts; c; c = c->next)
        if (c->device == device) sim_wait_context(c);
}
