/* What the members of an evidence packet mean, for cgtrace-evidence(5) and cgtrace-nsight(5): M("name" or
 * "object.name", "meaning"). One with its object wins. Members that are the trace's own are in the event
 * table. */
#ifndef CGTRACE_MAN_EVIDENCE_MEMBERS_H
#define CGTRACE_MAN_EVIDENCE_MEMBERS_H

#define EVIDENCE_MEMBERS(M)                                                                                  \
    M("packet.schema", "schema of the packet")                                                               \
    M("packet.provenance", "what the trace says of its run")                                                 \
    M("packet.activations", "what activations cost, by operation")                                           \
    M("health", "whether the trace keeps the rules of its format, and what is recorded in it")               \
    M("capabilities", "how far each plane can be relied on")                                                 \
    M("findings", "what stands out")                                                                         \
    M("facts", "single figures of the run")                                                                  \
    M("gaps", "what the capture cannot say, and why; in ascending order, each once")                         \
    M("packet.graph",                                                                                        \
      "spans, operations and tensors, and the edges between them; only of a complete, valid "                \
      "capture")                                                                                             \
    M("tensor_stats", "statistics of tensors, in the order of the trace")                                    \
    M("timing", "device time by span and by clock")                                                          \
    M("packet.memory", "storages, and samples of devices")                                                   \
    M("gpu", "what Nsight Systems saw of the run")                                                           \
    M("structurally_valid", "no issue is an error")                                                          \
    M("capture_complete", "the outcome of the trace is complete")                                            \
    M("issues", "what is wrong or missing")                                                                  \
    M("severity", "an error makes the trace invalid")                                                        \
    M("issues.code", "which rule")                                                                           \
    M("message", "the same in words, with what it is about")                                                 \
    M("health.coverage", "how many records of each sort there are")                                          \
    M("coverage.spans", "spans")                                                                             \
    M("closed_spans", "spans that have ended")                                                               \
    M("root_spans", "spans without a parent; 1 in a valid trace")                                            \
    M("measured_spans", "measured regions; 1 in a valid trace")                                              \
    M("coverage.operations", "operations")                                                                   \
    M("coverage.tensors", "tensor records")                                                                  \
    M("coverage.gradients", "gradient records")                                                              \
    M("memory_events", "allocations and frees")                                                              \
    M("device_memory_samples", "samples of devices")                                                         \
    M("device_intervals", "device intervals")                                                                \
    M("call_edges", "call edges")                                                                            \
    M("data_edges", "data edges")                                                                            \
    M("forward_spans", "spans of step forward")                                                              \
    M("backward_spans", "spans of step backward")                                                            \
    M("optimizer_spans", "spans of step optimizer")                                                          \
    M("structural_trace", "the trace keeps every structural rule")                                           \
    M("outer_wall_time", "duration of the measured region")                                                  \
    M("nested_host_time", "host time of the spans inside of it")                                             \
    M("nested_device_time", "device time of spans")                                                          \
    M("operation_coverage", "operations")                                                                    \
    M("tensor_coverage", "tensors")                                                                          \
    M("gradient_coverage", "gradients, held against their contract")                                         \
    M("logical_memory_coverage", "storages")                                                                 \
    M("physical_memory_coverage", "samples of devices")                                                      \
    M("gpu_correlation", "labels of the trace found in the reports of Nsight Systems")                       \
    M("provenance_binding", "those reports belong to this run")                                              \
    M("level", "how far")                                                                                    \
    M("source", "what it is taken from, or was judged by; none: nothing")                                    \
    M("structural_trace.reason", "why it has this level")                                                    \
    M("findings.code", "which finding")                                                                      \
    M("findings.summary", "the finding in words")                                                            \
    M("findings.source", "the span or report that it is about")                                              \
    M("requires", "the capabilities that it rests on")                                                       \
    M("qualification", "the weakest of their levels")                                                        \
    M("facts.code", "which fact")                                                                            \
    M("facts.label", "the fact's name for people")                                                           \
    M("facts.value", "the figure")                                                                           \
    M("facts.capability", "the capability that it rests on")                                                 \
    M("value.kind", "what the value is")                                                                     \
    M("value.value", "the value: nanoseconds, bytes, a count, or a text")                                    \
    M("graph.schema", "schema of the graph")                                                                 \
    M("graph.spans", "nodes: spans by id, then operations in the order of the trace, then tensors by id")    \
    M("edges", "edges, by their two ends")                                                                   \
    M("graph.tensors", "tensor records, in the order of the trace")                                          \
    M("graph.gradients", "gradient records, in the order of the trace")                                      \
    M("graph.summary", "the heaviest spans of the measured region")                                          \
    M("spans.id", "span id, SPAN/op/N of an operation, tensor/ID of a tensor")                               \
    M("parent_id", "node around it")                                                                         \
    M("name", "name")                                                                                        \
    M("spans.kind", "what the node is; the span without a parent is the root")                               \
    M("start_ns", "start on the host's clock")                                                               \
    M("host_self_time_ns", "host time outside of its children")                                              \
    M("host_total_time_ns", "host duration")                                                                 \
    M("spans.device_timings", "device time recorded on the span itself, by clock; times of two clocks are "  \
                              "not added")                                                                   \
    M("spans.shape", "shape of the output or the tensor")                                                    \
    M("spans.dtype", "its element type")                                                                     \
    M("allocated_bytes", "bytes of the storages allocated in it")                                            \
    M("peak_live_bytes", "most bytes alive at a time")                                                       \
    M("residual_bytes", "bytes of storages allocated in or below it that are alive at its end")              \
    M("dense_bytes", "dense footprint of the output or the tensor")                                          \
    M("clock_id", "clock of a device")                                                                       \
    M("busy_ns", "length of the union of its intervals")                                                     \
    M("edges.kind", "call or data")                                                                          \
    M("edges.host_duration_ns", "the callee's host duration")                                                \
    M("edges.label", "name of the operation, or input or output")                                            \
    M("outer_wall_time_ns", "duration of the measured region")                                               \
    M("slowest_host_spans", "at most 8, by host time inside of the measured region")                         \
    M("slowest_device_spans", "at most 8, by device time")                                                   \
    M("heaviest_spans", "at most 8, by allocated bytes")                                                     \
    M("slowest_host_spans.id", "span id")                                                                    \
    M("slowest_device_spans.id", "span id")                                                                  \
    M("heaviest_spans.id", "span id")                                                                        \
    M("scope", "in the measured region, or beside it at the same time")                                      \
    M("measured_overlap_self_time_ns", "its self time as far as it overlaps the measured region")            \
    M("full_duration_ns", "its whole host duration")                                                         \
    M("measured_overlap_duration_ns", "how much of that overlaps the measured region")                       \
    M("device_busy_ns", "device time of the span")                                                           \
    M("device_coverage", "declared coverage, at least partial when there are intervals")                     \
    M("device_spans", "device time by span and clock")                                                       \
    M("device_clocks", "device time by clock")                                                               \
    M("backends", "what measured the intervals")                                                             \
    M("streams", "streams that the intervals were on")                                                       \
    M("interval_count", "number of intervals")                                                               \
    M("logical", "storages: allocations and frees")                                                          \
    M("physical", "samples of devices")                                                                      \
    M("storage_allocation_count", "allocations")                                                             \
    M("matched_storage_free_count", "frees of them")                                                         \
    M("total_allocated_bytes", "bytes of all allocations")                                                   \
    M("logical.peak", "the moment at which most bytes were alive")                                           \
    M("logical.timeline", "live bytes after each moment at which something changed")                         \
    M("lifetimes", "each storage, in the order of allocation")                                               \
    M("by_device", "the same by device")                                                                     \
    M("live_bytes", "bytes alive")                                                                           \
    M("live_bytes_by_device", "the same by device")                                                          \
    M("live_bytes_by_category", "the same by category")                                                      \
    M("live_allocations", "the storages that were alive")                                                    \
    M("storage_id", "storage")                                                                               \
    M("tensor_ids", "tensors that had it")                                                                   \
    M("allocation_span_id", "span that allocated it")                                                        \
    M("op_name", "operation that allocated it")                                                              \
    M("bytes", "its size")                                                                                   \
    M("start_timestamp_ns", "when it was allocated")                                                         \
    M("end_timestamp_ns", "when it was freed")                                                               \
    M("peak_timestamp_ns", "when that was")                                                                  \
    M("physical.timeline", "the samples")                                                                    \
    M("sample_count", "samples")                                                                             \
    M("used_sample_count", "of these, with used_bytes")                                                      \
    M("free_sample_count", "of these, with free_bytes")                                                      \
    M("reserved_sample_count", "of these, with reserved_bytes")                                              \
    M("capacity_sample_count", "of these, with capacity_bytes")                                              \
    M("peak_used_bytes", "most bytes in use that were sampled")                                              \
    M("peak_used_timestamp_ns", "when that was")                                                             \
    M("peak_reserved_bytes", "most bytes reserved that were sampled")                                        \
    M("peak_reserved_timestamp_ns", "when that was")                                                         \
    M("minimum_free_bytes", "fewest bytes free that were sampled")                                           \
    M("minimum_free_timestamp_ns", "when that was")                                                          \
    M("maximum_observed_capacity_bytes", "greatest capacity that was sampled")                               \
    M("definition", "which operations count as activations")                                                 \
    M("activations.coverage", "whether operations are linked to activations")                                \
    M("host_time", "whether they have host times")                                                           \
    M("device_time", "whether they have device times of their own")                                          \
    M("dense_output", "whether their dense footprints are known")                                            \
    M("activations.logical_memory", "whether storages are linked to them")                                   \
    M("physical_memory_attribution", "always unavailable: samples name no operation")                        \
    M("unattributed_activation_storages", "storages of that category that no operation is linked to")        \
    M("activations.operations", "the operations, in the order of the trace")                                 \
    M("operations.id", "SPAN/op/N")                                                                          \
    M("op_index", "its number among the operations of its span, from 0")                                     \
    M("output_tensor_id", "tensor that it writes")                                                           \
    M("observed_host_duration_ns", "host duration of the call")                                              \
    M("operations.device_timings", "device time of the operation itself, by clock")                          \
    M("dense_output_bytes", "dense footprint of the output")                                                 \
    M("logical_allocated_bytes", "bytes of the storages linked to it")                                       \
    M("logical_storage_count", "number of these storages")                                                   \
    M("logical_storage_live_duration_ns", "sum of how long they lived")                                      \
    M("logical_byte_nanoseconds", "sum of bytes times nanoseconds alive")                                    \
    M("logical_retained_bytes_at_measured_end", "bytes of those alive at the end of the measured region")    \
    M("classification_sources", "what makes it an activation")                                               \
    M("status", "whether there is anything from Nsight Systems")                                             \
    M("gpu.reason", "why not")                                                                               \
    M("raw_report", "the report that the tables were made from")                                             \
    M("source_csv", "the tables that were read")                                                             \
    M("gpu.provenance", "whether the files are those of this run")                                           \
    M("gpu.coverage", "which tables there are")                                                              \
    M("gpu.correlation", "labels of the trace against the NVTX ranges on the GPU")                           \
    M("diagnostics", "what was found wrong or missing")                                                      \
    M("limits", "by file: how many rows there are, and how many are kept")                                   \
    M("gpu.kernels", "kernels, by total time")                                                               \
    M("runtime_calls", "calls of the runtime, by total time")                                                \
    M("memory_operations", "copies and memsets, by total time")                                              \
    M("nvtx_ranges", "NVTX ranges as the work under them lay on the GPU")                                    \
    M("gpu.gpu_timeline", "kernels, copies and memsets, one by one")                                         \
    M("phase_attribution", "ranges whose operations were all found: how long the GPU was busy in them")      \
    M("path", "path in the folder of the reports, with / between its parts")                                 \
    M("size_bytes", "size")                                                                                  \
    M("sha256", "SHA-256 of its bytes, 64 hexadecimal digits")                                               \
    M("binding", "bound: the manifest names this run, and every file is as it says")                         \
    M("manifest", "the manifest")                                                                            \
    M("manifest.schema", "candle-graph/nsight-capture/1")                                                    \
    M("run", "the run that was profiled")                                                                    \
    M("manifest.correlation", "what ties the run to other artifacts")                                        \
    M("tool", "the profiler")                                                                                \
    M("commands", "command lines that were run")                                                             \
    M("hardware", "where")                                                                                   \
    M("source_revisions", "revision of each component")                                                      \
    M("manifest.required_semantic_labels", "those of the trace's contract")                                  \
    M("manifest.gpu_expected_semantic_labels", "those of the trace's contract")                              \
    M("manifest.cpu_only_semantic_labels", "those of the trace's contract")                                  \
    M("artifacts", "every file that belongs to the capture, without the manifest")                           \
    M("run.id", "run_id of the trace")                                                                       \
    M("started_at", "when it began; free text")                                                              \
    M("correlation.id", "correlation_id of the trace")                                                       \
    M("tool.name", "nsys by custom")                                                                         \
    M("version", "its version; free text")                                                                   \
    M("hardware.host", "name of the machine")                                                                \
    M("devices", "its devices")                                                                              \
    M("kernel_summary", "times of kernels, by name")                                                         \
    M("runtime_summary", "times of calls, by name")                                                          \
    M("memory_summary", "times of copies and memsets, by kind")                                              \
    M("nvtx_projection", "NVTX ranges as projected to the GPU")                                              \
    M("coverage.gpu_timeline", "kernels, copies and memsets, one by one")                                    \
    M("mode", "how labels were compared")                                                                    \
    M("clock_aligned", "always false: these times are on no clock of the trace")                             \
    M("correlation.complete", "every expected label was found, and no other")                                \
    M("ledger", "label by label")                                                                            \
    M("correlation.reason", "why it is not complete")                                                        \
    M("label_form", "whether the labels of the report begin with a colon, as newer versions write them")     \
    M("ledger.expected", "labels that should show on the GPU")                                               \
    M("cpu_only", "labels that should not")                                                                  \
    M("observed", "labels of the trace that do")                                                             \
    M("matched", "expected and observed")                                                                    \
    M("missing_expected", "expected, not observed")                                                          \
    M("unexpected_observed", "observed, not expected")                                                       \
    M("unexpected_cpu_only", "of cpu_only, observed")                                                        \
    M("duplicates", "labels with more than one range")                                                       \
    M("semantic_key", "label")                                                                               \
    M("occurrences", "number of ranges")                                                                     \
    M("total_rows", "rows of the file")                                                                      \
    M("displayed_rows", "rows that are kept")                                                                \
    M("truncated", "there are more rows than are kept")                                                      \
    M("total_ns", "total time")                                                                              \
    M("kernels.count", "how often")                                                                          \
    M("average_ns", "average time, cut to whole nanoseconds")                                                \
    M("minimum_ns", "shortest")                                                                              \
    M("maximum_ns", "longest")                                                                               \
    M("kernels.category", "class of a memory operation")                                                     \
    M("nvtx_ranges.kind", "what the row is")                                                                 \
    M("context", "CUDA context")                                                                             \
    M("nvtx_ranges.stream", "stream")                                                                        \
    M("nvtx_ranges.correlation_id", "correlation id of the driver")                                          \
    M("nvtx_ranges.start_ns", "start on the report's clock")                                                 \
    M("duration_ns", "duration")                                                                             \
    M("projected_start_ns", "start of the first operation under the range, on the GPU")                      \
    M("projected_duration_ns", "from there to the end of the last one")                                      \
    M("gpu_operations", "operations under the range, as the report counts them")                             \
    M("gpu_busy_ns", "length of the union of the operations, inside of the projected range")                 \
    M("gpu_operation_count", "rows that were joined")                                                        \
    M("join_keys", "by what they were joined")

#endif
