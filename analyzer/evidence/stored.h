/* Shared by the files that read stored evidence. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_STORED_H
#define CGTRACE_ANALYZER_EVIDENCE_STORED_H

#include "analyzer/evidence/evidence_private.h"
#include "analyzer/evidence/packet_shape.h"

/* Places of values in the packet. */
struct places {
    const char **at;
    size_t count;
};

struct evidence_stored {
    struct shape_reader reader;
    struct cg_trace *trace; /* made for the run's metadata; evidence->trace */
    const char *part[STORED_PART_COUNT];
    const char *activation_states[6];
    struct places rows[LIST_TENSOR_STATS + 1];
    struct places host, device, heaviest, operations;
    uint64_t issues[2]; /* by severity */
};

/* The places of a list's elements; NULL is an empty list. False when memory is short. */
bool places_make(struct shape_reader *reader, const char *list, struct places *places);

/* Fills evidence->gpu from the object; false when memory is short. */
bool stored_gpu(struct shape_reader *reader, const char *object, struct gpu_evidence *gpu);

/* Fills gpu->manifest from the object of a checked document; texts are the reader's. False when memory is
 * short. */
bool stored_manifest(struct shape_reader *reader, const char *object, struct gpu_evidence *gpu);

/* Fills evidence->activations and the timings of its operations; CG_EXIT_INPUT when an id is not that of its
 * op. */
int stored_activations(struct evidence *evidence, const char *name, struct cg_error *error);

/* The place of a value's word in a list ended by NULL; the value was checked to be one of them. */
unsigned stored_word(struct shape_reader *reader, const char *value, const char *const *words);

#endif
