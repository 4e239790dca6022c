/* The event model of candle-graph/trace/10: the twelve kinds and their fields, once.
 *
 * The scanner, the validator, the columns of the analyzer, the recorder's formatter, cgtrace-trace(5) and the
 * JSON Schema are made from these tables; nothing else lists a field. Source: doc/spec/trace.md 3, 4 and 5.
 *
 * A field is F(id, "wire name", TYPE, PRESENCE, argument, "meaning"):
 *
 *   TYPE  STR OPT_STR U64 OPT_U64 F64 OPT_F64 BOOL ENUM OPT_ENUM U64_LIST STR_LIST STACK; in meta and in the
 *         objects of a stack also OBJECT, OBJECT_LIST and MAP
 *   PRESENCE
 *     REQUIRED          missing or null rejects the file
 *     DEFAULT           missing gives the default (0, false, empty list, first value of the enum unless
 * said); null rejects OPTIONAL          missing and null both mean absent IF_CALL, IF_DATA  required in an
 * edge of that edge_kind, an unknown field in the other EXTRA             not part of the format: a field of
 * ours that other readers ignore; kept only when it has the right type, never a reason to reject argument the
 * enum's name for ENUM and OPT_ENUM, the object's table for OBJECT, OBJECT_LIST and STACK, else NONE
 *
 * The order is the one in which producers write. */
#ifndef CGTRACE_COMMON_EVENT_TABLE_H
#define CGTRACE_COMMON_EVENT_TABLE_H

#define CG_SCHEMA_TRACE_10 "candle-graph/trace/10"
#define CG_SCHEMA_TRACE_9  "candle-graph/trace/9"

/* ---- enums: E(ENUM NAME, constant suffix, "wire value"); the first is 0
 * ------------------------------------- */

#define CG_SPAN_KIND_VALUES(E)                                                                               \
    E(SPAN_KIND, FUNCTION, "function") E(SPAN_KIND, OP, "op") E(SPAN_KIND, MODULE, "module")
#define CG_STEP_VALUES(E)                                                                                    \
    E(STEP, FORWARD, "forward") E(STEP, BACKWARD, "backward") E(STEP, OPTIMIZER, "optimizer")
#define CG_PHASE_VALUES(E) E(PHASE, TRAIN, "train") E(PHASE, INFER, "infer")
#define CG_TIMING_MODE_VALUES(E)                                                                             \
    E(TIMING_MODE, HOST, "host") E(TIMING_MODE, DEVICE_SYNCHRONIZED, "device_synchronized")
#define CG_OUTCOME_VALUES(E) E(OUTCOME, COMPLETE, "complete") E(OUTCOME, FAILED, "failed")
#define CG_GRADIENT_STATE_VALUES(E)                                                                          \
    E(GRADIENT_STATE, PRESENT, "present")                                                                    \
    E(GRADIENT_STATE, MISSING, "missing")                                                                    \
    E(GRADIENT_STATE, ZERO, "zero") E(GRADIENT_STATE, NON_FINITE, "non_finite")
#define CG_ACTION_VALUES(E) E(ACTION, ALLOC, "alloc") E(ACTION, FREE, "free")
/* `other` is the default of every category field, but not the first value on the wire's list. */
#define CG_CATEGORY_VALUES(E)                                                                                \
    E(CATEGORY, PARAMETER, "parameter")                                                                      \
    E(CATEGORY, ACTIVATION, "activation")                                                                    \
    E(CATEGORY, GRADIENT, "gradient") E(CATEGORY, OPTIMIZER, "optimizer") E(CATEGORY, OTHER, "other")
#define CG_COVERAGE_VALUES(E)                                                                                \
    E(COVERAGE, NONE, "none") E(COVERAGE, PARTIAL, "partial") E(COVERAGE, COMPLETE, "complete")
#define CG_SCOPE_VALUES(E)                                                                                   \
    E(SCOPE, UNKNOWN, "unknown")                                                                             \
    E(SCOPE, PROFILED_WORK, "profiled_work") E(SCOPE, PRODUCTION_EQUIVALENT, "production_equivalent")
#define CG_EXPECTATION_VALUES(E)                                                                             \
    E(EXPECTATION, ACTIVE, "active")                                                                         \
    E(EXPECTATION, INACTIVE, "inactive") E(EXPECTATION, DATA_CONDITIONAL, "data_conditional")
#define CG_EDGE_KIND_VALUES(E) E(EDGE_KIND, CALL, "call") E(EDGE_KIND, DATA, "data")

/* N(enum name, values, default constant suffix where a field has PRESENCE DEFAULT) */
#define CG_ENUMS(N)                                                                                          \
    N(SPAN_KIND, CG_SPAN_KIND_VALUES, FUNCTION)                                                              \
    N(STEP, CG_STEP_VALUES, FORWARD)                                                                         \
    N(PHASE, CG_PHASE_VALUES, TRAIN)                                                                         \
    N(TIMING_MODE, CG_TIMING_MODE_VALUES, HOST)                                                              \
    N(OUTCOME, CG_OUTCOME_VALUES, COMPLETE)                                                                  \
    N(GRADIENT_STATE, CG_GRADIENT_STATE_VALUES, PRESENT)                                                     \
    N(ACTION, CG_ACTION_VALUES, ALLOC)                                                                       \
    N(CATEGORY, CG_CATEGORY_VALUES, OTHER)                                                                   \
    N(COVERAGE, CG_COVERAGE_VALUES, NONE)                                                                    \
    N(SCOPE, CG_SCOPE_VALUES, UNKNOWN)                                                                       \
    N(EXPECTATION, CG_EXPECTATION_VALUES, ACTIVE)                                                            \
    N(EDGE_KIND, CG_EDGE_KIND_VALUES, CALL)

/* records */

#define CG_SPAN_START_FIELDS(F)                                                                              \
    F(id, "id", STR, REQUIRED, NONE, "identity of the span, unique in the stream")                           \
    F(parent_id, "parent_id", OPT_STR, OPTIONAL, NONE, "id of the enclosing span; absent: root")             \
    F(name, "name", STR, REQUIRED, NONE, "semantic name; labels are compared with it")                       \
    F(start_ns, "start_ns", U64, REQUIRED, NONE, "host time of its start")                                   \
    F(span_kind, "span_kind", ENUM, REQUIRED, SPAN_KIND, "class of the span")                                \
    F(measured, "measured", BOOL, DEFAULT, NONE, "the region whose duration is the run's total")             \
    F(step, "step", OPT_ENUM, OPTIONAL, STEP, "part of a training step")
#define CG_SPAN_START_EXTRAS(F)                                                                              \
    F(tid, "tid", OPT_U64, EXTRA, NONE, "thread that opened it")                                             \
    F(source, "source", OPT_STR, EXTRA, NONE, "what opened it: session, region, api or nvtx")                \
    F(domain, "domain", OPT_STR, EXTRA, NONE, "NVTX domain")                                                 \
    F(category, "category", OPT_STR, EXTRA, NONE, "NVTX category")                                           \
    F(color, "color", OPT_U64, EXTRA, NONE, "ARGB colour asked for")                                         \
    F(payload, "payload", OPT_F64, EXTRA, NONE, "number given with an NVTX range")                           \
    F(continues, "continues", OPT_STR, EXTRA, NONE,                                                          \
      "id of the span before: the same range, cut when one around it was popped first")                      \
    F(clipped, "clipped", OPT_STR, EXTRA, NONE, "start, end or both: cut at the captured region's border")   \
    F(enclosing, "enclosing", STR_LIST, EXTRA, NONE,                                                         \
      "measured region: names of the ranges around it on its thread, outermost first")                       \
    F(name_full, "name_full", OPT_STR, EXTRA, NONE, "a name over 256 bytes, whole, once")                    \
    F(name_raw, "name_raw", OPT_STR, EXTRA, NONE, "bytes in hexadecimal of a name that is not valid UTF-8")

#define CG_SPAN_END_FIELDS(F)                                                                                \
    F(id, "id", STR, REQUIRED, NONE, "a span already started and not yet ended")                             \
    F(duration_ns, "duration_ns", U64, DEFAULT, NONE, "host wall duration")
#define CG_SPAN_END_EXTRAS(F)                                                                                \
    F(tid, "tid", OPT_U64, EXTRA, NONE, "thread that ended it, where it is not the one that opened it")      \
    F(clipped, "clipped", OPT_STR, EXTRA, NONE, "end or both: the program did not end it in the region")

#define CG_OP_FIELDS(F)                                                                                      \
    F(span_id, "span_id", STR, REQUIRED, NONE, "span it belongs to")                                         \
    F(op_name, "op_name", STR, REQUIRED, NONE, "name of the operation")                                      \
    F(inputs, "inputs", STR_LIST, DEFAULT, NONE, "ids of the tensors read")                                  \
    F(output, "output", OPT_STR, OPTIONAL, NONE, "id of the tensor written")                                 \
    F(shape, "shape", U64_LIST, REQUIRED, NONE, "shape of the output; [] is a scalar")                       \
    F(dtype, "dtype", STR, REQUIRED, NONE, "element type of the output")                                     \
    F(device, "device", STR, REQUIRED, NONE, "device it ran on")                                             \
    F(duration_ns, "duration_ns", U64, REQUIRED, NONE, "host duration")                                      \
    F(timestamp_ns, "timestamp_ns", U64, DEFAULT, NONE, "host time of its start")                            \
    F(output_dense_bytes, "output_dense_bytes", OPT_U64, OPTIONAL, NONE, "dense footprint of the output")    \
    F(input_dense_bytes, "input_dense_bytes", U64, REQUIRED, NONE,                                           \
      "sum of the dense footprints of the inputs")
#define CG_OP_EXTRAS(F)                                                                                      \
    F(tid, "tid", OPT_U64, EXTRA, NONE, "thread that made the call")                                         \
    F(api, "api", OPT_STR, EXTRA, NONE, "driver or runtime entry point that was called")                     \
    F(correlation, "correlation", OPT_U64, EXTRA, NONE, "joins the call with its device interval")           \
    F(grid, "grid", U64_LIST, EXTRA, NONE, "blocks of the launch: x, y, z")                                  \
    F(block, "block", U64_LIST, EXTRA, NONE, "threads of a block: x, y, z")                                  \
    F(shared_bytes, "shared_bytes", OPT_U64, EXTRA, NONE, "dynamic shared memory of a block")                \
    F(captured, "captured", BOOL, EXTRA, NONE, "did no work: became a node of the graph being captured")     \
    F(stream_id, "stream_id", OPT_STR, EXTRA, NONE, "stream the work was enqueued on")                       \
    F(bytes, "bytes", OPT_U64, EXTRA, NONE, "bytes copied, set or allocated")                                \
    F(error, "error", OPT_U64, EXTRA, NONE, "CUresult of a call that failed")                                \
    F(requested_bytes, "requested_bytes", OPT_U64, EXTRA, NONE, "bytes asked for by a failed allocation")    \
    F(stack, "stack", STACK, EXTRA, STACK, "calls that led here; its frames come with its first use")        \
    F(name_full, "name_full", OPT_STR, EXTRA, NONE, "a name over 256 bytes, whole, once")                    \
    F(name_raw, "name_raw", OPT_STR, EXTRA, NONE, "bytes in hexadecimal of a name that is not valid UTF-8")

/* More extra fields of ops, about graphs, which the analyzer passes over. */
#define CG_OP_GRAPH_EXTRAS(F)                                                                                \
    F(graph, "graph", OPT_STR, EXTRA, NONE, "graph:N, the graph that the call makes ready or launches")      \
    F(nodes, "nodes", MAP, EXTRA, NONE,                                                                      \
      "of a graph made ready or updated: how many nodes of each type, those of child graphs included; "      \
      "bodies of conditional nodes are not looked into")                                                     \
    F(kernels, "kernels", MAP, EXTRA, NONE, "its kernels, by name, and how many nodes each has; at most 32") \
    F(kernels_left_out, "kernels_left_out", OPT_U64, EXTRA, NONE, "kernel nodes that are not in kernels")

#define CG_TENSOR_FIELDS(F)                                                                                  \
    F(span_id, "span_id", STR, REQUIRED, NONE, "span it was seen in")                                        \
    F(tensor_id, "tensor_id", STR, REQUIRED, NONE, "identity given by the framework; joins records")         \
    F(label, "label", OPT_STR, OPTIONAL, NONE, "the caller's name of the observation; never an identity")    \
    F(shape, "shape", U64_LIST, REQUIRED, NONE, "shape")                                                     \
    F(dtype, "dtype", STR, REQUIRED, NONE, "element type")                                                   \
    F(device, "device", STR, REQUIRED, NONE, "device")                                                       \
    F(requires_grad, "requires_grad", BOOL, DEFAULT, NONE, "a gradient is asked for")                        \
    F(dense_bytes, "dense_bytes", OPT_U64, OPTIONAL, NONE, "dense footprint")                                \
    F(category, "category", ENUM, DEFAULT, CATEGORY, "what it is used for")

#define CG_TENSOR_STATS_FIELDS(F)                                                                            \
    F(span_id, "span_id", STR, REQUIRED, NONE, "span it was measured in")                                    \
    F(label, "label", STR, REQUIRED, NONE, "join key across runs; not blank")                                \
    F(shape, "shape", U64_LIST, REQUIRED, NONE, "shape; [] is one element")                                  \
    F(dtype, "dtype", STR, REQUIRED, NONE, "element type")                                                   \
    F(elements, "elements", U64, REQUIRED, NONE, "number of elements: the product of the shape")             \
    F(non_finite, "non_finite", U64, REQUIRED, NONE, "elements that are NaN or infinite")                    \
    F(rms, "rms", F64, REQUIRED, NONE, "root mean square")                                                   \
    F(abs_max, "abs_max", F64, REQUIRED, NONE, "largest magnitude")                                          \
    F(mean, "mean", F64, REQUIRED, NONE, "mean")

#define CG_MEMORY_FIELDS(F)                                                                                  \
    F(timestamp_ns, "timestamp_ns", U64, REQUIRED, NONE, "host time")                                        \
    F(storage_id, "storage_id", STR, REQUIRED, NONE, "backend storage; aliases share it")                    \
    F(tensor_id, "tensor_id", STR, REQUIRED, NONE, "tensor through which it was seen")                       \
    F(span_id, "span_id", STR, REQUIRED, NONE, "span it happened in")                                        \
    F(op_name, "op_name", OPT_STR, OPTIONAL, NONE, "operation that allocated")                               \
    F(device, "device", STR, REQUIRED, NONE, "device; part of the storage's identity")                       \
    F(bytes, "bytes", U64, REQUIRED, NONE, "size of the storage")                                            \
    F(action, "action", ENUM, REQUIRED, ACTION, "begin or end of its life")                                  \
    F(shape, "shape", U64_LIST, DEFAULT, NONE, "shape")                                                      \
    F(dtype, "dtype", STR, REQUIRED, NONE, "element type")                                                   \
    F(category, "category", ENUM, DEFAULT, CATEGORY, "what it is used for")
#define CG_MEMORY_EXTRAS(F)                                                                                  \
    F(tid, "tid", OPT_U64, EXTRA, NONE, "thread that made the call")                                         \
    F(api, "api", OPT_STR, EXTRA, NONE, "driver or runtime entry point that was called")                     \
    F(address, "address", OPT_STR, EXTRA, NONE, "address of the storage, 0x and hexadecimal")                \
    F(memory_kind, "memory_kind", OPT_STR, EXTRA, NONE, "device, managed, host, registered, pool, ...")      \
    F(end_reason, "end_reason", OPT_STR, EXTRA, NONE, "why it ended when nobody freed it")                   \
    F(preexisting, "preexisting", BOOL, EXTRA, NONE, "alive before the captured region began")               \
    F(stack, "stack", STACK, EXTRA, STACK, "calls that led here; its frames come with its first use")

#define CG_DEVICE_MEMORY_FIELDS(F)                                                                           \
    F(timestamp_ns, "timestamp_ns", U64, REQUIRED, NONE, "host time of the sample")                          \
    F(device, "device", STR, REQUIRED, NONE, "device")                                                       \
    F(used_bytes, "used_bytes", OPT_U64, OPTIONAL, NONE, "in use on the device")                             \
    F(free_bytes, "free_bytes", OPT_U64, OPTIONAL, NONE, "free on the device")                               \
    F(reserved_bytes, "reserved_bytes", OPT_U64, OPTIONAL, NONE, "held by a caching allocator")              \
    F(capacity_bytes, "capacity_bytes", OPT_U64, OPTIONAL, NONE, "capacity, observed by itself")
#define CG_DEVICE_MEMORY_EXTRAS(F)                                                                           \
    F(pool_used_bytes, "pool_used_bytes", OPT_U64, EXTRA, NONE, "of reserved_bytes, what is allocated")

#define CG_DEVICE_INTERVAL_FIELDS(F)                                                                         \
    F(span_id, "span_id", STR, REQUIRED, NONE, "span the work belongs to")                                   \
    F(device, "device", STR, REQUIRED, NONE, "device")                                                       \
    F(stream_id, "stream_id", STR, REQUIRED, NONE, "stream")                                                 \
    F(clock_id, "clock_id", STR, REQUIRED, NONE, "clock of start_ns")                                        \
    F(backend, "backend", STR, REQUIRED, NONE, "what measured it")                                           \
    F(start_ns, "start_ns", U64, REQUIRED, NONE, "start on that device clock")                               \
    F(duration_ns, "duration_ns", U64, REQUIRED, NONE, "duration on that device clock")
#define CG_DEVICE_INTERVAL_EXTRAS(F)                                                                         \
    F(activity, "activity", OPT_STR, EXTRA, NONE, "kernel, memcpy, memset or graph")                         \
    F(name, "name", OPT_STR, EXTRA, NONE, "kernel or kind of copy")                                          \
    F(correlation, "correlation", OPT_U64, EXTRA, NONE, "joins the interval with the call that issued it")   \
    F(bytes, "bytes", OPT_U64, EXTRA, NONE, "bytes moved")                                                   \
    F(uncertainty_ns, "uncertainty_ns", OPT_U64, EXTRA, NONE,                                                \
      "how far the duration may be too long; too short it is by a microsecond at most")

#define CG_GRADIENT_FIELDS(F)                                                                                \
    F(event_id, "event_id", STR, REQUIRED, NONE, "unique in the stream")                                     \
    F(root, "root", STR, REQUIRED, NONE, "parameter collection")                                             \
    F(key, "key", STR, REQUIRED, NONE, "parameter under the root")                                           \
    F(state, "state", ENUM, REQUIRED, GRADIENT_STATE, "what was found")                                      \
    F(norm, "norm", OPT_F64, OPTIONAL, NONE, "norm, where the state has one")

#define CG_EDGE_FIELDS(F)                                                                                    \
    F(edge_kind, "edge_kind", ENUM, REQUIRED, EDGE_KIND, "decides which of the others are there")            \
    F(from_span, "from_span", OPT_STR, IF_CALL, NONE, "caller")                                              \
    F(to_span, "to_span", OPT_STR, IF_CALL, NONE, "callee")                                                  \
    F(host_duration_ns, "host_duration_ns", OPT_U64, IF_CALL, NONE, "the callee's duration")                 \
    F(from_tensor, "from_tensor", OPT_STR, IF_DATA, NONE, "tensor read")                                     \
    F(to_tensor, "to_tensor", OPT_STR, IF_DATA, NONE, "tensor written")

#define CG_TERMINAL_FIELDS(F)                                                                                \
    F(outcome, "outcome", ENUM, REQUIRED, OUTCOME, "how the capture ended")                                  \
    F(timestamp_ns, "timestamp_ns", U64, REQUIRED, NONE, "host time; not before any host evidence")          \
    F(reason, "reason", OPT_STR, OPTIONAL, NONE, "not blank when failed, absent when complete")

/* ---- meta: the run's fields on one level, and the objects in it
 * ----------------------------------------------- */

#define CG_META_FIELDS(F)                                                                                    \
    F(schema, "schema", STR, REQUIRED, NONE, "candle-graph/trace/10 or candle-graph/trace/9")                \
    F(run_id, "run_id", STR, REQUIRED, NONE, "identity of this capture")                                     \
    F(correlation_id, "correlation_id", STR, REQUIRED, NONE, "key shared with outside artifacts")            \
    F(entrypoint, "entrypoint", STR, REQUIRED, NONE, "what was run")                                         \
    F(phase, "phase", ENUM, REQUIRED, PHASE, "training or inference")                                        \
    F(timestamp, "timestamp", STR, REQUIRED, NONE, "time of capture, ISO 8601 by convention")                \
    F(capture_step, "capture_step", U64, REQUIRED, NONE, "selected update or inference, one-based")          \
    F(warmup_steps, "warmup_steps", U64, REQUIRED, NONE, "completed before it")                              \
    F(device, "device", STR, REQUIRED, NONE, "device that the caller asked for")                             \
    F(measured_region_device_synchronized, "measured_region_device_synchronized", BOOL, DEFAULT, NONE,       \
      "the measured region has device synchronisation at both ends")                                         \
    F(timing_mode, "timing_mode", ENUM, REQUIRED, TIMING_MODE, "how nested spans are timed")                 \
    F(capture_contract, "capture_contract", OBJECT, REQUIRED, CONTRACT, "what the producer declares")        \
    F(comparison_identity, "comparison_identity", OBJECT, OPTIONAL, IDENTITY, "what makes runs comparable")  \
    F(tags, "tags", MAP, REQUIRED, NONE, "free provenance; the last of equal keys counts")                   \
    F(candle_version, "candle_version", OPT_STR, OPTIONAL, NONE, "version of the framework")

#define CG_IDENTITY_FIELDS(F)                                                                                \
    F(implementation_id, "implementation_id", OPT_STR, OPTIONAL, NONE, "build under test")                   \
    F(workload_id, "workload_id", STR, REQUIRED, NONE, "workload")                                           \
    F(model_id, "model_id", STR, REQUIRED, NONE, "model")                                                    \
    F(config_id, "config_id", STR, REQUIRED, NONE, "configuration")                                          \
    F(data_id, "data_id", STR, REQUIRED, NONE, "data")                                                       \
    F(seed_policy, "seed_policy", STR, REQUIRED, NONE, "how seeds are chosen")                               \
    F(physical_batch, "physical_batch", U64, REQUIRED, NONE, "batch size; greater than 0")                   \
    F(accumulation_steps, "accumulation_steps", U64, REQUIRED, NONE,                                         \
      "gradient accumulation; greater than 0")                                                               \
    F(precision, "precision", STR, REQUIRED, NONE, "numeric precision")                                      \
    F(device_state, "device_state", STR, REQUIRED, NONE, "clocks, power and sharing of the device")          \
    F(pair_id, "pair_id", OPT_STR, OPTIONAL, NONE, "pairs a baseline run with a candidate run")

#define CG_CONTRACT_FIELDS(F)                                                                                \
    F(measurement_scope, "measurement_scope", ENUM, REQUIRED, SCOPE, "what the measured time stands for")    \
    F(operations, "operations", ENUM, REQUIRED, COVERAGE, "op records")                                      \
    F(activations, "activations", ENUM, DEFAULT, COVERAGE, "activation links")                               \
    F(tensors, "tensors", ENUM, DEFAULT, COVERAGE, "tensor records")                                         \
    F(gradients, "gradients", ENUM, DEFAULT, COVERAGE, "gradient records")                                   \
    F(gradient_contract, "gradient_contract", OBJECT, OPTIONAL, GRADIENT_CONTRACT, "expected gradients")     \
    F(logical_memory, "logical_memory", ENUM, REQUIRED, COVERAGE, "memory records")                          \
    F(physical_memory, "physical_memory", ENUM, REQUIRED, COVERAGE, "device_memory records")                 \
    F(device_timing, "device_timing", ENUM, REQUIRED, COVERAGE, "device_interval records")                   \
    F(required_semantic_labels, "required_semantic_labels", STR_LIST, DEFAULT, NONE,                         \
      "span names that must occur exactly once")                                                             \
    F(gpu_expected_semantic_labels, "gpu_expected_semantic_labels", STR_LIST, DEFAULT, NONE,                 \
      "of these, those that must show on the GPU")                                                           \
    F(cpu_only_semantic_labels, "cpu_only_semantic_labels", STR_LIST, DEFAULT, NONE,                         \
      "of these, those that must not")

#define CG_GRADIENT_CONTRACT_FIELDS(F)                                                                       \
    F(manifest_sha256, "manifest_sha256", STR, REQUIRED, NONE,                                               \
      "digest of expected, sha256: and 64 hex digits")                                                       \
    F(expected, "expected", OBJECT_LIST, REQUIRED, GRADIENT_ENTRY, "the parameters, in order")               \
    F(families, "families", OBJECT_LIST, REQUIRED, GRADIENT_FAMILY, "one contract for each family")
#define CG_GRADIENT_ENTRY_FIELDS(F)                                                                          \
    F(root, "root", STR, REQUIRED, NONE, "parameter collection")                                             \
    F(key, "key", STR, REQUIRED, NONE, "parameter under the root")                                           \
    F(family, "family", STR, REQUIRED, NONE, "family it belongs to")
#define CG_GRADIENT_FAMILY_FIELDS(F)                                                                         \
    F(family, "family", STR, REQUIRED, NONE, "name of the family")                                           \
    F(expectation, "expectation", ENUM, REQUIRED, EXPECTATION, "what its gradients should do")               \
    F(min_present, "min_present", U64, REQUIRED, NONE, "how many must be present")

/* ---- the objects of a stack ---- */

#define CG_STACK_FIELDS(F)                                                                                   \
    F(id, "id", STR, REQUIRED, NONE, "identity of the stack in the trace")                                   \
    F(frames, "frames", OBJECT_LIST, OPTIONAL, FRAME,                                                        \
      "the calls, innermost first; once, in the first record that has this stack")                           \
    F(truncated, "truncated", BOOL, DEFAULT, NONE, "there were more calls around these")
#define CG_FRAME_FIELDS(F)                                                                                   \
    F(module, "module", OPT_STR, OPTIONAL, NONE, "path of the program or library; absent: code of none")     \
    F(build_id, "build_id", OPT_STR, OPTIONAL, NONE, "build-id of the module, hexadecimal")                  \
    F(offset, "offset", U64, REQUIRED, NONE,                                                                 \
      "return address, counted in the addresses of the module's file; without a module, the address")        \
    F(symbol, "symbol", OPT_STR, OPTIONAL, NONE, "function there, as it is linked (mangled)")                \
    F(source, "source", OBJECT_LIST, OPTIONAL, SOURCE,                                                       \
      "functions of the source there, the innermost inlined one first; written by symbolize")
#define CG_SOURCE_FIELDS(F)                                                                                  \
    F(function, "function", STR, REQUIRED, NONE, "function, demangled")                                      \
    F(mangled, "mangled", OPT_STR, OPTIONAL, NONE, "its linkage name, where that is another")                \
    F(file, "file", OPT_STR, OPTIONAL, NONE, "path of the source file")                                      \
    F(line, "line", OPT_U64, OPTIONAL, NONE, "line of the call in it")

/* A stack with more frames, or more functions in one of them, is not kept. */
#define CG_FRAMES_MAX  1024
#define CG_SOURCES_MAX 64

#define CG_NO_EXTRAS(F)

/* kinds: K(constant suffix, column member, "wire kind", fields, extras, "meaning") */

#define CG_KINDS(K)                                                                                          \
    K(META, meta, "meta", CG_META_FIELDS, CG_NO_EXTRAS, "first record: the run")                             \
    K(SPAN_START, span_start, "span_start", CG_SPAN_START_FIELDS, CG_SPAN_START_EXTRAS, "a span begins")     \
    K(SPAN_END, span_end, "span_end", CG_SPAN_END_FIELDS, CG_SPAN_END_EXTRAS, "a span ends")                 \
    K(OP, op, "op", CG_OP_FIELDS, CG_OP_EXTRAS, "an operation of the host")                                  \
    K(TENSOR, tensor, "tensor", CG_TENSOR_FIELDS, CG_NO_EXTRAS, "a tensor observed")                         \
    K(TENSOR_STATS, tensor_stats, "tensor_stats", CG_TENSOR_STATS_FIELDS, CG_NO_EXTRAS,                      \
      "statistics of a tensor")                                                                              \
    K(MEMORY, memory, "memory", CG_MEMORY_FIELDS, CG_MEMORY_EXTRAS, "a storage allocated or freed")          \
    K(DEVICE_MEMORY, device_memory, "device_memory", CG_DEVICE_MEMORY_FIELDS, CG_DEVICE_MEMORY_EXTRAS,       \
      "a sample of a device")                                                                                \
    K(DEVICE_INTERVAL, device_interval, "device_interval", CG_DEVICE_INTERVAL_FIELDS,                        \
      CG_DEVICE_INTERVAL_EXTRAS, "work on a device, on its clock")                                           \
    K(GRADIENT, gradient, "gradient", CG_GRADIENT_FIELDS, CG_NO_EXTRAS, "the gradient of a parameter")       \
    K(EDGE, edge, "edge", CG_EDGE_FIELDS, CG_NO_EXTRAS, "a call or a data dependence")                       \
    K(TERMINAL, terminal, "terminal", CG_TERMINAL_FIELDS, CG_NO_EXTRAS, "last record: the outcome")

/* what C needs of them */

enum cg_kind {
#define CG_KIND_CONSTANT(suffix, member, wire, fields, extras, meaning) CG_KIND_##suffix,
    CG_KINDS(CG_KIND_CONSTANT)
#undef CG_KIND_CONSTANT
        CG_KIND_COUNT
};

/* enum cg_value_PHASE { CG_PHASE_TRAIN, CG_PHASE_INFER, CG_PHASE_COUNT_ } and so on. */
#define CG_ENUM_CONSTANT(name, suffix, wire) CG_##name##_##suffix,
#define CG_ENUM_TYPE(name, values, initial)  enum cg_value_##name{values(CG_ENUM_CONSTANT) CG_##name##_COUNT};
CG_ENUMS(CG_ENUM_TYPE)
#undef CG_ENUM_TYPE
#undef CG_ENUM_CONSTANT

/* cg_name_PHASE[CG_PHASE_TRAIN] is "train". */
#define CG_ENUM_WIRE(name, suffix, wire) wire,
#define CG_ENUM_NAMES(name, values, initial)                                                                 \
    static const char *const cg_name_##name[] __attribute__((unused)) = {values(CG_ENUM_WIRE)};
CG_ENUMS(CG_ENUM_NAMES)
#undef CG_ENUM_NAMES
#undef CG_ENUM_WIRE

#endif
