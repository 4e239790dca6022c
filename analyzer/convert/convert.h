/* Traces out of files of other tools: Chrome and kineto JSON, and memory snapshots of PyTorch. What is in the
 * file is taken and nothing else: coverage says partial or none, losses are counted. */
#ifndef CGTRACE_ANALYZER_CONVERT_CONVERT_H
#define CGTRACE_ANALYZER_CONVERT_CONVERT_H

#include "analyzer/trace/trace.h"
#include "common/json_doc.h"

/* Forms of files: F(constant suffix, "name", "what they are"). */
#define CONVERT_FORMS(F)                                                                                     \
    F(CHROME, "chrome", "Trace Event JSON, as Chrome, PyTorch's profiler (kineto) and others write it")      \
    F(SNAPSHOT, "pytorch-snapshot", "a memory snapshot of PyTorch, pickled with protocol 2 to 5")
#define CONVERT_FORM(suffix, name, meaning) CONVERT_##suffix,
enum convert_form { CONVERT_FORMS(CONVERT_FORM) CONVERT_FORM_COUNT };
#undef CONVERT_FORM
extern const char *const convert_form_names[CONVERT_FORM_COUNT];

/* What was not taken as it stood: L(member, "name", "meaning"). */
#define CONVERT_LOSSES(L)                                                                                    \
    L(other_events, "other_events",                                                                          \
      "events of kinds that a trace has no record for: flows, counters, "                                    \
      "annotations of the device, metadata")                                                                 \
    L(malformed, "malformed", "events without a name, time or duration that can be used")                    \
    L(without_address, "memory_without_address",                                                             \
      "events of an allocator without address or bytes: which storage they are of cannot be told")           \
    L(empty_intervals, "empty_intervals", "device work of 0 ns")                                             \
    L(unmatched_ends, "unmatched_ends", "ends without a beginning")                                          \
    L(clipped, "clipped", "spans cut where the one around them, or the file, ends")                          \
    L(not_nested, "not_nested",                                                                              \
      "spans that overlap another one of their thread: they hang under the measured region")                 \
    L(unknown_frees, "unknown_frees", "frees of storages that nothing says the size of")                     \
    L(missing_frees, "missing_frees",                                                                        \
      "storages whose address was given out again before a free of them: they end there")                    \
    L(times_made_up, "times_made_up", "events without a time: their order is kept, a microsecond apart")
struct convert_losses {
#define CONVERT_LOSS(member, name, meaning) uint64_t member;
    CONVERT_LOSSES(CONVERT_LOSS)
#undef CONVERT_LOSS
};

struct convert_report {
    enum convert_form form;
    uint64_t events;                                              /* read */
    uint64_t spans, ops, memory, device_memory, device_intervals; /* written */
    bool cut; /* the file ends in the middle: the trace's outcome is failed */
    struct convert_losses losses;
};

/* Reads the file (decompressed when it is gzip or Zstandard, told by its first bytes; "-" is standard input)
 * and writes a trace to the sink. Chrome's form is read in a stream and takes about 64 bytes of memory for
 * each event; a snapshot is held whole, in at most 64 bytes for each of its bytes. Returns 0 or an exit
 * status: CG_EXIT_INPUT for what is neither form, or damaged. */
int convert_file(const char *path, json_sink *sink, void *context, struct convert_report *report,
                 struct cg_error *error);
/* The same of bytes in memory; name stands for the path in messages. */
int convert_bytes(const char *name, const void *bytes, size_t length, json_sink *sink, void *context,
                  struct convert_report *report, struct cg_error *error);

#endif
