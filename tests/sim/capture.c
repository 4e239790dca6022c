/*
 * Stream capture, by the rules of the CUDA C++ Programming Guide ("Prohibited and Unhandled Operations",
 * "Invalidation") and of cuThreadExchangeStreamCaptureMode. An event recorded into a capturing stream
 * succeeds and carries the capture to streams that wait for it; asking for its state is what fails (907).
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/graph.h"

static struct sim_capture *captures;

static void invalidate(struct sim_capture *c)
{
    c->invalid = true;
}

static bool blocking(const struct sim_stream *s)
{
    return !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* Does a potentially unsafe call of this thread disturb that capture? */
static bool disturbs(const struct sim_thread *thread, const struct sim_capture *c)
{
    if (thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    if (c->thread == thread) return c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_capture_forbids(struct sim_call *call)
{
    CUresult r = CUDA_SUCCESS;
    for (struct sim_capture *c = captures; c; c = c->next)
        if (disturbs(call->thread, c)) {
            invalidate(c);
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return r;
}

CUresult sim_capture_forbids_context(struct sim_context *context)
{
    CUresult r = CUDA_SUCCESS;
    for (struct sim_capture *c = captures; c; c = c->next)
        if (c->origin->context == context) {
            invalidate(c);
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return r;
}

/* Work on the legacy stream would wait for blocking streams: for one that captures it cannot. */
static CUresult implicit(const struct sim_stream *stream, bool invalidates)
{
    CUresult r = CUDA_SUCCESS;
    if (!captures || stream != stream->context->legacy) return r;
    for (struct sim_stream *s = stream->context->streams; s; s = s->next)
        if (s->capture && blocking(s)) {
            if (invalidates) invalidate(s->capture);
            r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    return r;
}

CUresult sim_capture_forbids_stream(struct sim_call *call, struct sim_stream *stream)
{
    (void)call;
    if (!stream->capture) return implicit(stream, true);
    invalidate(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult sim_capture_implicit(const struct sim_stream *stream)
{
    return implicit(stream, true);
}

/* ---- what a capturing stream is given ------------------------------------------------------------------ */

static void set_frontier(struct sim_stream *s, struct sim_node *const *nodes, size_t count)
{
    struct sim_node **copy = sim_alloc((count + 1) * sizeof *copy);
    if (count) memcpy(copy, nodes, count * sizeof *copy);
    free(s->frontier);
    s->frontier = copy;
    s->frontier_count = count;
}

static struct sim_node *add(struct sim_stream *s, CUgraphNodeType type)
{
    struct sim_node *n = sim_node_new(s->capture->graph, type, s->frontier, s->frontier_count);
    set_frontier(s, &n, 1);
    return n;
}

static CUgraphNodeType node_type(const struct sim_op *op)
{
    switch (op->work) {
    case SIM_W_KERNEL:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case SIM_W_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case SIM_W_MEMSET:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    case SIM_W_HOST:
        return CU_GRAPH_NODE_TYPE_HOST;
    case SIM_W_WRITE_VALUE:
    case SIM_W_WAIT_VALUE:
        return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    default:
        return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

static void copy_params(struct sim_node *n)
{
    const struct sim_copy *c = &n->op.u.copy;
    n->copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                              .srcDevice = (CUdeviceptr)(uintptr_t)c->src,
                              .srcPitch = c->src_pitch,
                              .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                              .dstDevice = (CUdeviceptr)(uintptr_t)c->dst,
                              .dstPitch = c->dst_pitch,
                              .WidthInBytes = c->width,
                              .Height = c->height,
                              .Depth = c->depth};
}

CUresult sim_capture_op(struct sim_call *call, struct sim_stream *stream, struct sim_op *op)
{
    (void)call;
    op->has_line = false; /* nothing was launched: the launch of the graph will be the line */
    if (stream->capture->invalid) {
        sim_op_discard(op);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (op->work == SIM_W_NOTHING) return CUDA_SUCCESS;
    struct sim_node *n = add(stream, op->work == SIM_W_GRAPH ? CU_GRAPH_NODE_TYPE_GRAPH : node_type(op));
    if (op->work == SIM_W_GRAPH) {
        n->child = sim_graph_clone(op->u.plan);
        sim_plan_release(op->u.plan);
    } else {
        sim_node_set_op(n, op);
        if (n->type == CU_GRAPH_NODE_TYPE_MEMCPY) copy_params(n);
    }
    return CUDA_SUCCESS;
}

CUresult sim_capture_alloc(struct sim_call *call, struct sim_stream *stream, size_t bytes,
                           struct sim_pool *pool, CUdeviceptr *out)
{
    (void)call;
    if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    struct sim_node *n = add(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    n->storage = sim_graph_storage(pool->device, bytes);
    *out = n->storage->base;
    return CUDA_SUCCESS;
}

CUresult sim_capture_free(struct sim_call *call, struct sim_stream *stream, CUdeviceptr p)
{
    (void)call;
    if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (size_t i = 0; i < stream->capture->graph->count; i++) {
        struct sim_node *a = stream->capture->graph->nodes[i];
        if (a->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || a->storage->base != p) continue;
        add(stream, CU_GRAPH_NODE_TYPE_MEM_FREE)->address = p;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_capture_record(struct sim_call *call, struct sim_stream *stream, struct sim_event *event,
                            unsigned flags)
{
    (void)call;
    if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
        add(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD)->event = event;
        return CUDA_SUCCESS;
    }
    free(event->nodes);
    event->nodes = sim_alloc((stream->frontier_count + 1) * sizeof *event->nodes);
    memcpy(event->nodes, stream->frontier, stream->frontier_count * sizeof *event->nodes);
    event->node_count = stream->frontier_count;
    event->capture = stream->capture;
    event->capture_id = stream->capture->id;
    event->recorded = true;
    return CUDA_SUCCESS;
}

/* The capture that the event was recorded into, if it is still under way. */
static struct sim_capture *capture_of(const struct sim_event *e)
{
    for (struct sim_capture *c = captures; c; c = c->next)
        if (c == e->capture && c->id == e->capture_id) return c;
    return NULL;
}

static void join_nodes(struct sim_stream *s, const struct sim_event *e)
{
    struct sim_node **all = sim_alloc((s->frontier_count + e->node_count + 1) * sizeof *all);
    size_t n = s->frontier_count;
    if (n) memcpy(all, s->frontier, n * sizeof *all);
    for (size_t i = 0; i < e->node_count; i++) {
        bool there = false;
        for (size_t k = 0; k < n; k++)
            there = there || all[k] == e->nodes[i];
        if (!there) all[n++] = e->nodes[i];
    }
    set_frontier(s, all, n);
    free(all);
}

CUresult sim_capture_wait(struct sim_call *call, struct sim_stream *stream, struct sim_event *event)
{
    (void)call;
    struct sim_capture *from = capture_of(event);
    if (!stream->capture && !from)
        return CUDA_ERROR_CAPTURED_EVENT; /* recorded into a capture that has ended */
    if (stream->capture && stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!from) {
        if (!event->recorded) return CUDA_SUCCESS;
        invalidate(stream->capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (from->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture && stream->capture != from) {
        invalidate(stream->capture);
        invalidate(from);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream == stream->context->legacy) {
        invalidate(from);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    stream->capture = from;
    join_nodes(stream, event);
    return CUDA_SUCCESS;
}

static void leave(struct sim_stream *s)
{
    s->capture = NULL;
    free(s->frontier);
    s->frontier = NULL;
    s->frontier_count = 0;
}

static void end(struct sim_capture *capture)
{
    for (struct sim_context *c = sim.contexts; c; c = c->next)
        for (struct sim_stream *s = c->streams; s; s = s->next)
            if (s->capture == capture) leave(s);
    for (struct sim_capture **p = &captures; *p; p = &(*p)->next)
        if (*p == capture) {
            *p = capture->next;
            sim.captures--;
            break;
        }
    sim_delete(capture);
}

void sim_capture_stop(struct sim_stream *stream)
{
    struct sim_capture *c = stream->capture;
    if (c->origin != stream) {
        invalidate(c);
        leave(stream);
        return;
    }
    if (!c->to_graph) sim_graph_delete(c->graph);
    end(c);
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

static CUresult begin_with_stream(struct sim_call *call, CUstream handle, struct sim_stream **stream)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    return r ? r : sim_stream_of(call, handle, stream);
}

static CUresult begin_capture(struct sim_call *call, CUstream handle, CUstreamCaptureMode mode,
                              struct sim_graph *graph, bool to_graph, const CUgraphNode *deps, size_t count)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED || (to_graph && !sim_is(graph, SIM_GRAPH))))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && s == s->context->legacy) r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!r && s->capture) r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r) {
        struct sim_capture *c = sim_new(SIM_CAPTURE, sizeof *c);
        c->id = sim.next_id++;
        c->mode = mode;
        c->thread = call->thread;
        c->origin = s;
        c->to_graph = to_graph;
        c->graph = to_graph ? graph : sim_graph_new();
        c->next = captures;
        captures = c;
        sim.captures++;
        s->capture = c;
        set_frontier(s, (struct sim_node *const *)deps, count);
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamBeginCapture, _ptsz, (CUstream stream), begin_capture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL,
         NULL, false, NULL, 0)
SIM_PAIR(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode), begin_capture, stream,
         mode, NULL, false, NULL, 0)
#if CUDA_VERSION >= 12030
SIM_PAIR(cuStreamBeginCaptureToGraph, _ptsz,
         (CUstream stream, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t count,
          CUstreamCaptureMode mode),
         ((void)edges, begin_capture), stream, mode, (struct sim_graph *)graph, true, deps, count)
#endif

/* Has every node found its way to the nodes where the origin stream stands? */
static bool joined(const struct sim_capture *c)
{
    size_t reached = 0;
    struct sim_node **queue = sim_alloc((c->graph->count + 1) * sizeof *queue);
    for (size_t i = 0; i < c->graph->count; i++)
        c->graph->nodes[i]->marked = false;
    for (size_t i = 0; i < c->origin->frontier_count; i++) {
        c->origin->frontier[i]->marked = true;
        queue[reached++] = c->origin->frontier[i];
    }
    for (size_t i = 0; i < reached; i++)
        for (size_t k = 0; k < queue[i]->dep_count; k++)
            if (!queue[i]->deps[k]->marked) {
                queue[i]->deps[k]->marked = true;
                queue[reached++] = queue[i]->deps[k];
            }
    free(queue);
    return c->to_graph || reached == c->graph->count;
}

static CUresult finish(struct sim_call *call, CUstream handle, CUgraph *out)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !s->capture) r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r && s->capture->origin != s) {
        invalidate(s->capture);
        r = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    } else if (!r && s->capture->thread != call->thread &&
               s->capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
        invalidate(s->capture);
        r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    } else if (!r) {
        struct sim_capture *c = s->capture;
        if (c->invalid)
            r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else if (!joined(c))
            r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        *out = r ? NULL : (CUgraph)c->graph;
        if (r && !c->to_graph) sim_graph_delete(c->graph);
        end(c);
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *out), finish, stream, out)

static CUstreamCaptureStatus status_of(const struct sim_stream *s)
{
    if (!s->capture) return CU_STREAM_CAPTURE_STATUS_NONE;
    return s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult is_capturing(struct sim_call *call, CUstream handle, CUstreamCaptureStatus *status)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !status) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = implicit(s, false);
    if (!r) *status = status_of(s);
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus *status), is_capturing, stream,
         status)

static CUresult info(struct sim_call *call, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                     CUgraph *graph, const CUgraphNode **deps, size_t *count)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !status) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = implicit(s, false);
    if (!r) {
        *status = status_of(s);
        if (s->capture) {
            if (id) *id = s->capture->id;
            if (graph) *graph = (CUgraph)s->capture->graph;
            if (deps) *deps = (const CUgraphNode *)s->frontier;
            if (count) *count = s->frontier_count;
        }
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamGetCaptureInfo, _ptsz, (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
         info, stream, status, id, NULL, NULL, NULL)
SIM_PAIR(cuStreamGetCaptureInfo_v2, _ptsz,
         (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
          const CUgraphNode **deps, size_t *count),
         info, stream, status, id, graph, deps, count)
#if CUDA_VERSION >= 12030
/* Edges are all of the default kind. */
static CUresult info_with_edges(struct sim_call *call, CUstream stream, CUstreamCaptureStatus *status,
                                cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
                                const CUgraphEdgeData **edges, size_t *count)
{
    if (edges) *edges = NULL;
    return info(call, stream, status, id, graph, deps, count);
}
SIM_PAIR(cuStreamGetCaptureInfo_v3, _ptsz,
         (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
          const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *count),
         info_with_edges, stream, status, id, graph, deps, edges, count)
#endif

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        CUstreamCaptureMode old = call.thread->capture_mode;
        call.thread->capture_mode = *mode;
        *mode = old;
    }
    return sim_end(&call, r, NULL);
}
