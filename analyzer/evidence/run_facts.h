/* What comparison, series and campaign status keep of a trace, so that the trace itself can be freed: cohorts
 * are read one trace at a time. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_RUN_FACTS_H
#define CGTRACE_ANALYZER_EVIDENCE_RUN_FACTS_H

#include "analyzer/evidence/text.h"

/* One tensor_stats record. */
struct fact_stats {
    struct cg_text label;
    double rms, abs_max, mean;
    uint64_t non_finite, elements;
};

/* One gradient record; key is root and key joined by '/'. */
struct fact_gradient {
    struct cg_text key;
    enum cg_value_GRADIENT_STATE state;
    bool norm_known;
    double norm;
};

/* The nine conditions of a comparison identity, in output order: I(member, text or number). */
#define FACT_CONDITIONS(I)                                                                                   \
    I(workload_id, TEXT)                                                                                     \
    I(model_id, TEXT)                                                                                        \
    I(config_id, TEXT)                                                                                       \
    I(data_id, TEXT)                                                                                         \
    I(seed_policy, TEXT)                                                                                     \
    I(physical_batch, NUMBER)                                                                                \
    I(accumulation_steps, NUMBER)                                                                            \
    I(precision, TEXT)                                                                                       \
    I(device_state, TEXT)

#define FACT_TEXT(name)            struct cg_text name;
#define FACT_NUMBER(name)          uint64_t name;
#define FACT_CONDITION(name, type) FACT_##type(name)

struct fact_identity {
    bool present;
    FACT_CONDITIONS(FACT_CONDITION)
    struct cg_text implementation_id, pair_id; /* bytes NULL when absent */
};

struct run_facts {
    struct text_arena arena; /* owns every text */
    struct cg_text run_id, entrypoint, device;
    struct cg_text contract; /* canonical: equal contracts have equal bytes */
    struct cg_text failure_reason;
    enum cg_value_PHASE phase;
    enum cg_value_TIMING_MODE timing_mode;
    enum cg_value_SCOPE measurement_scope;
    enum cg_value_OUTCOME outcome;
    uint64_t capture_step, warmup_steps;
    bool device_synchronized; /* the measured region, at both ends */
    bool structurally_valid;
    struct fact_identity identity;
    uint64_t measured_count;       /* spans measured and closed */
    uint64_t measured_duration_ns; /* of the first of them in span order; 0 when there is none */
    struct fact_stats *stats;
    size_t stats_count;
    struct fact_gradient *gradients;
    size_t gradient_count;
};

/* Takes the facts out of a trace; nothing of the trace is kept. False when memory is short (facts are then
 * empty). */
bool run_facts_make(const struct cg_trace *trace, struct run_facts *facts);
void run_facts_free(struct run_facts *facts);

/* Byte equality; an absent text equals only an absent one. */
bool text_equal(struct cg_text a, struct cg_text b);

#endif
