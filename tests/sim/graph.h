/* Graphs: nodes, the graphs that hold them, what instantiation makes of them. */
#ifndef CGTRACE_TESTS_SIM_GRAPH_H
#define CGTRACE_TESTS_SIM_GRAPH_H

#include "tests/sim/internal.h"

struct sim_node {
    struct sim_object object;
    struct sim_graph *graph;
    CUgraphNodeType type;
    bool disabled;
    struct sim_op op; /* work of kernel, copy, set and host nodes */
    struct sim_node **deps;
    size_t dep_count;
    CUDA_MEMCPY3D copy; /* as given */
    struct sim_event *event;
    struct sim_storage *storage; /* of an allocation node */
    CUdeviceptr address;         /* that a free node frees */
    struct sim_graph *child;
    struct sim_node *origin; /* the node that this one was cloned from */
    struct sim_node *image;  /* scratch: its clone while cloning */
    size_t pending;          /* scratch: dependencies not yet in order */
    uint64_t end_ns;         /* scratch: end within a launch */
    bool marked;
};

struct sim_graph {
    struct sim_object object;
    struct sim_node **nodes;
    size_t count;
    /* of what instantiation made of a graph */
    unsigned users; /* the instance, and its launches that are not done */
    bool host;      /* holds host functions, or kernels that are */
};

struct sim_exec {
    struct sim_object object;
    /* A clone, children put in place of their nodes, in an order that dependencies allow. A launch has it as
     * it was then, whatever becomes of the instance: sim_exec_own(). */
    struct sim_graph *graph;
    cuuint64_t flags;
};

/* A capture under way. */
struct sim_capture {
    struct sim_object object;
    uint64_t id;
    CUstreamCaptureMode mode;
    struct sim_thread *thread;
    struct sim_stream *origin;
    struct sim_graph *graph;
    bool invalid, to_graph;
    struct sim_capture *next;
};

struct sim_graph *sim_graph_new(void);
/* A node of the graph that depends on `deps`, which are copied. */
struct sim_node *sim_node_new(struct sim_graph *graph, CUgraphNodeType type, struct sim_node *const *deps,
                              size_t count);
/* Takes over the work. */
void sim_node_set_op(struct sim_node *node, const struct sim_op *op);
void sim_node_depend(struct sim_node *node, struct sim_node *on);
void sim_node_delete(struct sim_node *node);
void sim_graph_delete(struct sim_graph *graph);
struct sim_graph *sim_graph_clone(struct sim_graph *graph);

/* Before a change: a graph that launches still run is left to them, the instance gets one of its own. */
void sim_exec_own(struct sim_exec *exec);
/* What instantiation made of the node, or NULL. */
struct sim_node *sim_exec_node(const struct sim_exec *exec, const struct sim_node *node);

/* Address space for a graph's allocation: it has its address from now on, and memory while it lives. */
struct sim_storage *sim_graph_storage(int device, size_t bytes);
void sim_graph_storage_end(struct sim_storage *storage);

#endif
