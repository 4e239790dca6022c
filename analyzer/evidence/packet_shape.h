/* The shapes of a stored evidence packet (doc/spec/cli.md 4.3): what evidence.json must look like. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_PACKET_SHAPE_H
#define CGTRACE_ANALYZER_EVIDENCE_PACKET_SHAPE_H

#include "analyzer/evidence/shape.h"

/* The packet, and the parts of it that are written by themselves: T(name). */
#define PACKET_SHAPES(T)                                                                                     \
    T(packet)                                                                                                \
    T(provenance)                                                                                            \
    T(health)                                                                                                \
    T(capabilities)                                                                                          \
    T(timing) T(memory) T(graph) T(graph_summary) T(node) T(edge) T(tensor) T(gradient) T(tensor_stats)      \
        T(host_cost) T(device_cost) T(heavy_span) T(activations) T(activation_state) T(activation_operation) \
        T(manifest)
#define PACKET_SHAPE_DECLARATION(name) extern const struct shape_type shape_of_##name;
PACKET_SHAPES(PACKET_SHAPE_DECLARATION)
#undef PACKET_SHAPE_DECLARATION

#endif
