/* Every issue code of the health pass, once (doc/spec/trace.md 10 and 11).
 *
 * C(suffix, "wire name", CLASS, "message", "meaning")
 *   CLASS    ERROR, WARNING, or SOFT: an error, but a warning when the capture failed
 *   message  what a person is told: {subject} and {object} are quoted ids, {number} the count, {detail} the
 * text that HEALTH_DETAILS gives for the detail meaning  for the manual page The order is that of
 * emission. */
#ifndef CGTRACE_ANALYZER_PLANES_HEALTH_CODES_H
#define CGTRACE_ANALYZER_PLANES_HEALTH_CODES_H

#define HEALTH_CODES(C)                                                                                      \
    /* run and terminal */                                                                                   \
    C(RUN_PROVENANCE_INVALID, "run_provenance_invalid", ERROR, "the run's {detail}",                         \
      "a field of the run or of its comparison identity is blank or out of range")                           \
    C(COMPLETE_WITH_FAILURE_REASON, "complete_with_failure_reason", ERROR,                                   \
      "the capture is complete but gives the reason of a failure, {subject}",                                \
      "a complete capture has a reason")                                                                     \
    C(FAILED_WITHOUT_REASON, "failed_without_reason", ERROR, "the capture failed but gives no reason",       \
      "a failed capture has no reason, or a blank one")                                                      \
    C(TERMINAL_PRECEDES_EVIDENCE, "terminal_precedes_evidence", ERROR,                                       \
      "the terminal record lies before the latest host time, {number} ns",                                   \
      "the terminal record's time is before some host evidence")                                             \
    C(CAPTURE_FAILED, "capture_failed", WARNING, "the capture failed: {subject}",                            \
      "the outcome is failed; what was observed is diagnostic only")                                         \
    /* the set of spans */                                                                                   \
    C(DUPLICATE_SPAN_ID, "duplicate_span_id", ERROR, "span {subject} occurs more than once",                 \
      "span ids are not unique")                                                                             \
    C(ROOT_COUNT, "root_count", ERROR, "there are {number} spans without a parent; a trace has exactly one", \
      "the number of spans without a parent is not one")                                                     \
    C(MEASUREMENT_COUNT, "measurement_count", ERROR,                                                         \
      "there are {number} measured spans; a complete capture has exactly one",                               \
      "the number of measured spans is not one; not tested in a failed capture")                             \
    /* each span */                                                                                          \
    C(OPEN_SPAN, "open_span", SOFT, "span {subject} never ended", "a span was started and not ended")        \
    C(UNKNOWN_PARENT, "unknown_parent", ERROR, "the parent {object} of span {subject} does not exist",       \
      "a parent_id names no span")                                                                           \
    C(CHILD_OUTSIDE_PARENT, "child_outside_parent", ERROR,                                                   \
      "span {subject} does not lie within its parent {object}",                                              \
      "a closed span begins before its closed parent or ends after it")                                      \
    C(SPAN_CYCLE, "span_cycle", ERROR, "the ancestors of span {subject} form a cycle",                       \
      "following parents meets a span again")                                                                \
    /* evidence and spans */                                                                                 \
    C(UNKNOWN_SPAN, "unknown_span", ERROR, "{detail} names the span {subject}, which does not exist",        \
      "a record's span_id names no span")                                                                    \
    C(EMPTY_DEVICE_INTERVAL, "empty_device_interval", ERROR,                                                 \
      "a device interval of span {subject} has no length", "a device interval has duration 0")               \
    C(OPERATION_OUTSIDE_SPAN, "operation_outside_span", ERROR,                                               \
      "operation {subject} does not lie within its span {object}",                                           \
      "an operation begins before its closed span or ends after it")                                         \
    C(MEMORY_OUTSIDE_SPAN, "memory_outside_span", ERROR,                                                     \
      "a memory event of storage {subject} does not lie within its span {object}",                           \
      "a memory record's time is outside its closed span")                                                   \
    C(EMPTY_DEVICE_MEMORY_SAMPLE, "empty_device_memory_sample", ERROR,                                       \
      "a memory sample of device {subject} has no value",                                                    \
      "a device_memory record has none of its four values")                                                  \
    /* edges */                                                                                              \
    C(UNKNOWN_CALL_EDGE_SPAN, "unknown_call_edge_span", ERROR,                                               \
      "the call edge from {subject} to {object} names a span that does not exist",                           \
      "a call edge names an unknown span")                                                                   \
    C(CALL_EDGE_HIERARCHY_MISMATCH, "call_edge_hierarchy_mismatch", ERROR,                                   \
      "the call edge from {subject} to {object} does not lead from a parent to its child",                   \
      "the callee's parent is not the caller")                                                               \
    C(CALL_EDGE_DURATION_MISMATCH, "call_edge_duration_mismatch", ERROR,                                     \
      "the call edge from {subject} to {object} says {number} ns, which is not the callee's duration",       \
      "a call edge's duration is not that of the closed callee")                                             \
    C(EMPTY_DATA_EDGE_ENDPOINT, "empty_data_edge_endpoint", ERROR,                                           \
      "the data edge from {subject} to {object} has an empty end", "a data edge has an empty tensor id")     \
    C(UNKNOWN_DATA_EDGE_TENSOR, "unknown_data_edge_tensor", ERROR,                                           \
      "the data edge from {subject} to {object} names a tensor that no tensor record or operation has",      \
      "a data edge names a tensor that is in no tensor record and no operation")                             \
    /* storages */                                                                                           \
    C(ALLOCATION_SIZE_MISMATCH, "allocation_size_mismatch", ERROR,                                           \
      "storage {subject} on {object} is live with another size than {number} bytes",                         \
      "an alias or a free states another size than the allocation")                                          \
    C(DUPLICATE_ALLOCATION, "duplicate_allocation", ERROR,                                                   \
      "storage {subject} on {object} is allocated again while it is live",                                   \
      "a live storage is allocated again through a tensor it already has")                                   \
    C(UNPAIRED_FREE, "unpaired_free", ERROR, "storage {subject} on {object} is freed but was not live",      \
      "a free has no allocation")                                                                            \
    C(RETAINED_ALLOCATIONS, "retained_allocations", WARNING, "{number} storages are still live at the end",  \
      "storages are still live when the trace ends")                                                         \
    /* gradients */                                                                                          \
    C(EMPTY_GRADIENT_EVENT_ID, "empty_gradient_event_id", ERROR,                                             \
      "a gradient of {subject} {object} has a blank event id", "a gradient's event_id is blank")             \
    C(EMPTY_GRADIENT_PARAMETER_KEY, "empty_gradient_parameter_key", ERROR,                                   \
      "a gradient has the root {subject} and the key {object}, of which one is blank",                       \
      "a gradient's root or key is blank")                                                                   \
    C(DUPLICATE_GRADIENT_EVENT_ID, "duplicate_gradient_event_id", ERROR,                                     \
      "gradient event {subject} occurs more than once", "a gradient's event_id is not unique")               \
    C(GRADIENT_STATE_NORM_INCONSISTENT, "gradient_state_norm_inconsistent", ERROR,                           \
      "the norm of gradient {subject} {object} does not go with its state {detail}",                         \
      "a gradient's state and norm contradict each other")                                                   \
    C(GRADIENT_CONTRACT_MISSING, "gradient_contract_missing", ERROR,                                         \
      "complete gradient coverage is declared without a gradient contract",                                  \
      "complete gradients are declared without a contract")                                                  \
    C(GRADIENT_CONTRACT_WITHOUT_COMPLETE_COVERAGE, "gradient_contract_without_complete_coverage", ERROR,     \
      "there is a gradient contract, but complete gradient coverage is not declared",                        \
      "a gradient contract without complete gradients")                                                      \
    C(GRADIENT_CONTRACT_INVALID, "gradient_contract_invalid", ERROR,                                         \
      "the gradient contract is not valid: {detail}", "the gradient contract contradicts itself")            \
    C(GRADIENT_MANIFEST_DUPLICATE_KEY, "gradient_manifest_duplicate_key", ERROR,                             \
      "gradient {subject} {object} was observed {number} times", "a gradient was observed more than once")   \
    C(GRADIENT_MANIFEST_UNDECLARED_KEY, "gradient_manifest_undeclared_key", ERROR,                           \
      "gradient {subject} {object} is not in the contract", "an observed gradient is not in the contract")   \
    C(GRADIENT_MANIFEST_MISSING_KEY, "gradient_manifest_missing_key", SOFT,                                  \
      "gradient {subject} {object} is in the contract but was not observed",                                 \
      "a gradient of the contract was not observed")                                                         \
    C(GRADIENT_FAMILY_NON_FINITE, "gradient_family_non_finite", ERROR,                                       \
      "family {subject} has {number} gradients that are not finite",                                         \
      "a family has gradients that are not finite")                                                          \
    C(GRADIENT_ACTIVE_FAMILY_BELOW_MINIMUM, "gradient_active_family_below_minimum", ERROR,                   \
      "the active family {subject} has only {number} gradients present",                                     \
      "an active family has fewer gradients present than its minimum")                                       \
    C(GRADIENT_INACTIVE_FAMILY_LEAKAGE, "gradient_inactive_family_leakage", ERROR,                           \
      "the inactive family {subject} has {number} gradients attached", "an inactive family has gradients")   \
    C(GRADIENT_CONDITIONAL_FAMILY_BELOW_MINIMUM, "gradient_conditional_family_below_minimum", ERROR,         \
      "the conditional family {subject} has only {number} gradients present",                                \
      "a data-conditional family has some gradients, but fewer than its minimum")                            \
    /* absent evidence */                                                                                    \
    C(OPERATIONS_ABSENT, "operations_absent", WARNING, "no operation was recorded", "no op record")          \
    C(TENSORS_ABSENT, "tensors_absent", WARNING, "no tensor was recorded", "no tensor record")               \
    C(LOGICAL_MEMORY_ABSENT, "logical_memory_absent", WARNING, "no storage lifetime was recorded",           \
      "no memory record")                                                                                    \
    C(PHYSICAL_MEMORY_ABSENT, "physical_memory_absent", WARNING, "no device memory sample was recorded",     \
      "no device_memory record")                                                                             \
    C(DEVICE_TIMING_ABSENT, "device_timing_absent", WARNING, "no device interval was recorded",              \
      "no device_interval record")                                                                           \
    C(GRADIENTS_ABSENT, "gradients_absent", WARNING, "no gradient was recorded in a training capture",       \
      "training without gradient records")                                                                   \
    C(FORWARD_ABSENT, "forward_absent", WARNING, "no forward span was recorded in a training capture",       \
      "training without a span of step forward")                                                             \
    C(BACKWARD_ABSENT, "backward_absent", WARNING, "no backward span was recorded in a training capture",    \
      "training without a span of step backward")                                                            \
    C(OPTIMIZER_ABSENT, "optimizer_absent", WARNING, "no optimizer span was recorded in a training capture", \
      "training without a span of step optimizer")                                                           \
    /* required labels */                                                                                    \
    C(EMPTY_REQUIRED_SEMANTIC_LABEL, "empty_required_semantic_label", SOFT,                                  \
      "required semantic label {subject} is blank", "a required semantic label is blank")                    \
    C(DUPLICATE_REQUIRED_SEMANTIC_LABEL, "duplicate_required_semantic_label", SOFT,                          \
      "semantic label {subject} is required more than once", "a semantic label is required twice")           \
    C(REQUIRED_SEMANTIC_LABEL_CARDINALITY, "required_semantic_label_cardinality", SOFT,                      \
      "required semantic label {subject} is the name of {number} spans instead of exactly one",              \
      "a required semantic label is not the name of exactly one span")                                       \
    /* label classes */                                                                                      \
    C(EMPTY_SEMANTIC_LABEL_CLASSIFICATION, "empty_semantic_label_classification", SOFT,                      \
      "label {subject} in the {detail} list is blank", "a classified semantic label is blank")               \
    C(DUPLICATE_SEMANTIC_LABEL_CLASSIFICATION, "duplicate_semantic_label_classification", SOFT,              \
      "label {subject} occurs more than once in the {detail} list",                                          \
      "a semantic label occurs twice in one class")                                                          \
    C(UNREQUIRED_SEMANTIC_LABEL_CLASSIFICATION, "unrequired_semantic_label_classification", SOFT,            \
      "label {subject} in the {detail} list is not a required label",                                        \
      "a classified semantic label is not required")                                                         \
    C(OVERLAPPING_SEMANTIC_LABEL_CLASSIFICATION, "overlapping_semantic_label_classification", SOFT,          \
      "label {subject} in the {detail} list is classified already",                                          \
      "a semantic label is classified a second time")                                                        \
    C(INCOMPLETE_SEMANTIC_LABEL_PARTITION, "incomplete_semantic_label_partition", SOFT,                      \
      "the GPU-expected and CPU-only labels together are not the required labels",                           \
      "the two classes together are not the required labels")

enum health_code {
#define HEALTH_CODE_CONSTANT(suffix, name, class, message, meaning) HEALTH_##suffix,
    HEALTH_CODES(HEALTH_CODE_CONSTANT)
#undef HEALTH_CODE_CONSTANT
        HEALTH_CODE_COUNT
};

/* The texts that {detail} stands for: D(suffix, "text"). */
#define HEALTH_DETAILS(D)                                                                                    \
    D(NONE, "")                                                                                              \
    D(RUN_ID, "run_id is blank")                                                                             \
    D(CORRELATION_ID, "correlation_id is blank")                                                             \
    D(ENTRYPOINT, "entrypoint is blank")                                                                     \
    D(TIMESTAMP, "timestamp is blank")                                                                       \
    D(DEVICE, "device is blank")                                                                             \
    D(CAPTURE_STEP, "capture_step is 0; steps count from 1")                                                 \
    D(WARMUP_STEPS, "warmup_steps is not below its capture_step")                                            \
    D(WORKLOAD_ID, "workload_id is blank")                                                                   \
    D(MODEL_ID, "model_id is blank")                                                                         \
    D(CONFIG_ID, "config_id is blank")                                                                       \
    D(DATA_ID, "data_id is blank")                                                                           \
    D(SEED_POLICY, "seed_policy is blank")                                                                   \
    D(PRECISION, "precision is blank")                                                                       \
    D(DEVICE_STATE, "device_state is blank")                                                                 \
    D(IMPLEMENTATION_ID, "implementation_id is blank")                                                       \
    D(PAIR_ID, "pair_id is blank")                                                                           \
    D(PHYSICAL_BATCH, "physical_batch is 0")                                                                 \
    D(ACCUMULATION_STEPS, "accumulation_steps is 0")                                                         \
    D(IN_OP, "an op record")                                                                                 \
    D(IN_TENSOR, "a tensor record")                                                                          \
    D(IN_TENSOR_STATS, "a tensor_stats record")                                                              \
    D(IN_MEMORY, "a memory record")                                                                          \
    D(IN_DEVICE_INTERVAL, "a device_interval record")                                                        \
    D(STATE_PRESENT, "present")                                                                              \
    D(STATE_MISSING, "missing")                                                                              \
    D(STATE_ZERO, "zero")                                                                                    \
    D(STATE_NON_FINITE, "non_finite")                                                                        \
    D(EXPECTED_EMPTY, "it expects no gradient")                                                              \
    D(FAMILIES_EMPTY, "it has no family")                                                                    \
    D(DIGEST, "manifest_sha256 is not the digest of its expected gradients")                                 \
    D(ENTRY_BLANK, "entry {number} has a blank root, key or family")                                         \
    D(ENTRY_REPEATED, "gradient {subject} {object} is expected more than once")                              \
    D(FAMILY_BLANK, "the name of family {number} is blank")                                                  \
    D(FAMILY_REPEATED, "family {subject} occurs more than once")                                             \
    D(FAMILY_WITHOUT_ENTRY, "family {subject} has no gradient")                                              \
    D(FAMILY_INACTIVE_MINIMUM, "the inactive family {subject} asks for {number} gradients instead of 0")     \
    D(FAMILY_MINIMUM, "family {subject} asks for {number} gradients, which is not between 1 and the number " \
                      "of its gradients")                                                                    \
    D(ENTRY_WITHOUT_FAMILY, "family {subject} of an expected gradient is not declared")                      \
    D(GPU_LIST, "gpu_expected_semantic_labels")                                                              \
    D(CPU_LIST, "cpu_only_semantic_labels")

enum health_detail {
#define HEALTH_DETAIL_CONSTANT(suffix, text) HEALTH_DETAIL_##suffix,
    HEALTH_DETAILS(HEALTH_DETAIL_CONSTANT)
#undef HEALTH_DETAIL_CONSTANT
        HEALTH_DETAIL_COUNT
};

#endif
