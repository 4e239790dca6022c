/* cgtrace.h: what a program can tell its trace beside what the recorder sees by itself: spans, operations,
 * tensors, statistics, storages, gradients, and where a capture begins and ends.
 *
 *     #include <cgtrace.h>
 *
 *     cgtrace_span step = cgtrace_span_begin("train_step");
 *     cgtrace_scalar("loss", loss);
 *     cgtrace_span_end(step);
 *
 * Header only, C11 and C++11 and later, with GCC's or Clang's extensions. Nothing to link (before glibc 2.34:
 * -ldl). A program that includes it needs no library: each call looks for the table of functions that
 * libcgtrace.so exports, once for each source file, and without one does nothing. The table tells its size,
 * so a program built with a newer header runs with an older library: what that lacks does nothing.
 *
 * Every function may be called from any thread, also inside of a CUDA callback. None keeps a pointer that it
 * is given: texts and lists are copied. None changes errno.
 *
 * Signal handlers may call them too. Where one has interrupted another call that is being recorded on its
 * thread (of this API, NVTX or CUDA), what it calls is not recorded, and counted in the trace (nested_calls):
 * CGTRACE_OFF, or the span 0. What opens a capture starts a thread, for which the C library allocates, and
 * the first call in a source file looks for the table with dlsym(): a handler that may have interrupted
 * malloc leaves to others the first call of the process and of its source file, cgtrace_session_begin(),
 * and the begin of a region that CGTRACE_RANGE selects.
 *
 * Results. Below zero: a mistake of the caller (enum cgtrace_result); nothing was recorded, and nothing else
 * has changed. CGTRACE_OK: recorded. Above zero: correct, and not recorded: CGTRACE_OFF, CGTRACE_LOST. A
 * program may ignore all of them.
 *
 * Texts end with NUL and are UTF-8; what is not valid UTF-8 is written as U+FFFD. Names of spans and
 * operations have at most CGTRACE_NAME_MAX bytes (over 256 they are shortened in the trace and written whole
 * once), all other texts at most CGTRACE_TEXT_MAX. A blank text (nothing but white space) is refused where a
 * text is needed. Where a text may be left out, NULL is none.
 *
 * Times are nanoseconds of the capture's clock, which begins at 0 with the capture; cgtrace_now() reads it.
 * Structures are filled with zeros first ({0} in C, {} in C++): zero means "not given" everywhere. Ids of
 * tensors and storages are the framework's numbers, from 1 on.
 *
 * The table CGTRACE_FUNCTIONS below is what all of it is made from: the functions, the library's table,
 * libcgtrace(3). */
#ifndef CGTRACE_H
#define CGTRACE_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CGTRACE_NAME_MAX   4096 /* bytes of a span's or an operation's name */
#define CGTRACE_TEXT_MAX   256  /* bytes of any other text */
#define CGTRACE_RANK_MAX   64   /* dimensions of a shape */
#define CGTRACE_INPUTS_MAX 1024 /* inputs of an operation */
#define CGTRACE_UNKNOWN    UINT64_MAX

/* R(constant, value, "what it means") */
#define CGTRACE_RESULTS(R)                                                                                   \
    R(CGTRACE_OK, 0, "recorded")                                                                             \
    R(CGTRACE_OFF, 1, "nothing is being recorded: no library, switched off, or outside of the capture")      \
    R(CGTRACE_LOST, 2, "there was no room for it; the loss is counted in the trace")                         \
    R(CGTRACE_E_NULL, -1, "a pointer that is needed is NULL")                                                \
    R(CGTRACE_E_BLANK, -2, "a text that is needed is blank")                                                 \
    R(CGTRACE_E_TOO_BIG, -3, "a text is too long, or a list has too many entries")                           \
    R(CGTRACE_E_VALUE, -4,                                                                                   \
      "a number is out of its range, an enumeration's value is unknown, an id is 0, "                        \
      "or state and norm of a gradient contradict each other")                                               \
    R(CGTRACE_E_TIME, -5, "a time is in the future, before the span that it belongs to, or has no length")   \
    R(CGTRACE_E_NOT_OPEN, -6, "the span is not open")                                                        \
    R(CGTRACE_E_THREAD, -7, "the span was begun by another thread")                                          \
    R(CGTRACE_E_ORDER, -8, "spans that were begun inside of it are still open")                              \
    R(CGTRACE_E_PARENT, -9, "the caller is not the span directly around the callee")                         \
    R(CGTRACE_E_MEASURED, -10, "the capture has its measured region, or ends without the one it is to have") \
    R(CGTRACE_E_STORAGE, -11, "the storage is not alive, or alive with other bytes or this very tensor")     \
    R(CGTRACE_E_UNKNOWN, -12, "no tensor or operation of this capture named the id, or no such span")        \
    R(CGTRACE_E_FULL, -13, "a table of the recorder is full")                                                \
    R(CGTRACE_E_RUN, -14, "capture_step is 0, or warmup_steps is not below it")                              \
    R(CGTRACE_E_IDENTITY, -15, "the identity lacks a text, or a number of it is 0")                          \
    R(CGTRACE_E_LABELS, -16, "required labels are blank or repeated, or the classes do not partition them")  \
    R(CGTRACE_E_GRADIENTS, -17,                                                                              \
      "the gradient manifest breaks a rule, or coverage and manifest contradict, "                           \
      "or the manifest has no such key or had it already")                                                   \
    R(CGTRACE_E_BUSY, -18, "a capture is open")                                                              \
    R(CGTRACE_E_NO_SESSION, -19, "no session is open that cgtrace_session_begin() began")                    \
    R(CGTRACE_E_OPEN_SPANS, -20, "spans are still open")                                                     \
    R(CGTRACE_E_IO, -21, "a file could not be created or written")

enum cgtrace_result {
#define CGTRACE_RESULT_(constant, value, meaning) constant = value,
    CGTRACE_RESULTS(CGTRACE_RESULT_)
#undef CGTRACE_RESULT_
};

/* A span: above 0 an open or completed one; 0: not recorded; below 0: enum cgtrace_result. Ending one that is
 * not above 0 is harmless. It means nothing in another process or capture. */
typedef int64_t cgtrace_span;

enum cgtrace_kind { CGTRACE_KIND_FUNCTION, CGTRACE_KIND_OP, CGTRACE_KIND_MODULE };

/* The part of a training step. From the name: forward, backward or optimizer, also as last part of a path
 * such as trainer/update-10/forward. */
enum cgtrace_step {
    CGTRACE_STEP_FROM_NAME,
    CGTRACE_STEP_NONE,
    CGTRACE_STEP_FORWARD,
    CGTRACE_STEP_BACKWARD,
    CGTRACE_STEP_OPTIMIZER
};

enum cgtrace_phase { CGTRACE_PHASE_AUTO, CGTRACE_PHASE_TRAIN, CGTRACE_PHASE_INFER };

/* What a tensor or storage is used for. From the step around it: forward activation, backward gradient,
 * optimizer optimizer; in no step parameter where a gradient is asked for, else activation. */
enum cgtrace_category {
    CGTRACE_CATEGORY_FROM_STEP,
    CGTRACE_CATEGORY_PARAMETER,
    CGTRACE_CATEGORY_ACTIVATION,
    CGTRACE_CATEGORY_GRADIENT,
    CGTRACE_CATEGORY_OPTIMIZER,
    CGTRACE_CATEGORY_OTHER
};

enum cgtrace_gradient_state {
    CGTRACE_GRADIENT_PRESENT,   /* with a norm above 0 */
    CGTRACE_GRADIENT_MISSING,   /* without a norm: give 0 */
    CGTRACE_GRADIENT_ZERO,      /* with the norm 0 */
    CGTRACE_GRADIENT_NON_FINITE /* without a norm: give 0 */
};

/* An operation of the framework. */
struct cgtrace_op_info {
    const char *name;
    const uint64_t *inputs; /* ids of the tensors read */
    size_t input_count;
    uint64_t output;       /* id of the tensor written; 0: none */
    const uint64_t *shape; /* of the output; rank 0 is a scalar */
    size_t rank;
    const char *dtype;     /* f32, bf16, ...; NULL: unknown */
    const char *device;    /* cuda:0, ...; NULL: cpu */
    uint64_t duration_ns;  /* host duration */
    uint64_t timestamp_ns; /* its start; 0: it ends now */
    uint64_t output_bytes; /* dense footprint; 0: worked out from shape and dtype */
    uint64_t input_bytes;  /* dense footprints of the inputs, summed */
};

/* A tensor as it is seen at one place. */
struct cgtrace_tensor_info {
    uint64_t tensor;
    const char *label; /* the caller's name for it, or NULL; never an identity */
    const uint64_t *shape;
    size_t rank;
    const char *dtype, *device; /* as in an operation */
    uint64_t bytes;             /* dense footprint; 0: worked out from shape and dtype */
    enum cgtrace_category category;
    int requires_grad;
};

/* Statistics of a tensor of which the caller knows the numbers; the number of elements follows from the
 * shape. */
struct cgtrace_stats_info {
    const char *label; /* joins runs; needed */
    const uint64_t *shape;
    size_t rank;
    const char *dtype;
    uint64_t non_finite; /* elements that are NaN or infinite */
    double rms, abs_max, mean;
};

/* A storage that a framework's allocator gives out. The numbers are the framework's own: they may be those of
 * storages of the driver. */
struct cgtrace_storage_info {
    uint64_t storage, tensor; /* the storage, and the tensor through which it is seen */
    uint64_t bytes;
    const char *device; /* part of the storage's identity; NULL: cpu */
    const char *op;     /* the operation that allocates, or NULL */
    const uint64_t *shape;
    size_t rank;
    const char *dtype;
    enum cgtrace_category category;
    int requires_grad;
};

/* Work on a device that the program has timed. */
struct cgtrace_interval_info {
    cgtrace_span span;              /* that it belongs to, open or ended; 0: the innermost of the thread */
    const char *device, *stream;    /* needed */
    const char *clock, *backend;    /* needed: whose clock the times are of, and what measured */
    uint64_t start_ns, duration_ns; /* on that clock; longer than 0 */
    const char *activity, *name;    /* kernel, memcpy, ...; its name; or NULL */
    uint64_t correlation;           /* 0: none */
};

/* What makes runs comparable. All texts but implementation_id and pair_id are needed, both numbers are above
 * 0. */
struct cgtrace_identity_info {
    const char *implementation_id, *workload_id, *model_id, *config_id, *data_id, *seed_policy;
    uint64_t physical_batch, accumulation_steps;
    const char *precision, *device_state, *pair_id;
};

/* What the trace is declared to hold. Seen: what the recorder finds out by itself. What is declared is a
 * limit: the trace says less when less was seen, or when records were lost. */
enum cgtrace_level { CGTRACE_LEVEL_SEEN, CGTRACE_LEVEL_NONE, CGTRACE_LEVEL_PARTIAL, CGTRACE_LEVEL_COMPLETE };
enum cgtrace_scope {
    CGTRACE_SCOPE_UNKNOWN,
    CGTRACE_SCOPE_PROFILED_WORK,
    CGTRACE_SCOPE_PRODUCTION_EQUIVALENT
};
enum cgtrace_expectation {
    CGTRACE_EXPECT_ACTIVE,
    CGTRACE_EXPECT_INACTIVE, /* min_present is 0 */
    CGTRACE_EXPECT_DATA_CONDITIONAL
};
struct cgtrace_gradient_entry {
    const char *root, *key, *family;
};
struct cgtrace_gradient_family {
    const char *family;
    enum cgtrace_expectation expectation;
    size_t min_present;
};
struct cgtrace_contract_info {
    enum cgtrace_scope scope;
    enum cgtrace_level operations, activations, tensors, gradients, logical_memory, physical_memory,
        device_timing;
    /* The gradient manifest: given exactly when gradients is CGTRACE_LEVEL_COMPLETE. */
    const struct cgtrace_gradient_entry *entries;
    size_t entry_count;
    const struct cgtrace_gradient_family *families;
    size_t family_count;
    /* Span names that occur exactly once; of them, those that show on the GPU and those that do not. */
    const char *const *required_labels, *const *gpu_labels, *const *cpu_labels;
    size_t required_count, gpu_count, cpu_count;
};

struct cgtrace_tag_info {
    const char *key, *value;
};

/* A capture that the program begins and ends itself. */
struct cgtrace_session_info {
    const char *entrypoint; /* what is run; needed */
    const char *path;       /* of the trace; NULL: as the settings say (CGTRACE_OUTPUT) */
    enum cgtrace_phase phase;
    uint64_t capture_step;      /* the update or inference that is captured, from 1; needed */
    uint64_t warmup_steps;      /* completed before it; CGTRACE_UNKNOWN: capture_step - 1 */
    const char *correlation_id; /* NULL: made from entrypoint, phase and capture_step */
    int own_measured;           /* the program gives the measured region: cgtrace_measured_begin() */
    const struct cgtrace_tag_info *tags;
    size_t tag_count;
    const struct cgtrace_identity_info *identity; /* or NULL */
    const struct cgtrace_contract_info *contract; /* or NULL */
};

/* F(name, type, result without the library, (parameters), (parameters in the table), (arguments), "in one
 * line", "more, with every error but CGTRACE_OFF and CGTRACE_LOST") */
#define CGTRACE_FUNCTIONS(F)                                                                                 \
    F(cgtrace_version, const char *, "", (void), (void), (), "version of the library",                       \
      "Static text; empty without the library.")                                                             \
    F(cgtrace_recording, int, 0, (void), (void), (), "whether anything is recorded now",                     \
      "1 or 0. For work that only serves recording. Opens nothing: before the first event of a "             \
      "process that records whole it is 1, too.")                                                            \
                                                                                                             \
    F(cgtrace_span_begin, cgtrace_span, 0, (const char *name), (const char *name), (name), "begins a span",  \
      "On the calling thread, inside of the spans that are open there; of kind function, with the "          \
      "step that its name says. Spans nest: each is ended on its thread, the inner ones first.\n"            \
      "CGTRACE_E_NULL, CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: the name. CGTRACE_E_FULL: too many "              \
      "different texts.")                                                                                    \
    F(cgtrace_span_begin_as, cgtrace_span, 0,                                                                \
      (const char *name, enum cgtrace_kind kind, enum cgtrace_step step),                                    \
      (const char *name, enum cgtrace_kind kind, enum cgtrace_step step), (name, kind, step),                \
      "begins a span of a kind and a step", "As cgtrace_span_begin(), and CGTRACE_E_VALUE: kind or step.")   \
    F(cgtrace_measured_begin, cgtrace_span, 0, (const char *name), (const char *name), (name),               \
      "begins the measured region",                                                                          \
      "The span whose duration is the run's total, in a session with own_measured; exactly one. As "         \
      "cgtrace_span_begin(), and CGTRACE_E_MEASURED: there is one, or the capture measures its "             \
      "whole.")                                                                                              \
    F(cgtrace_span_end, int, CGTRACE_OFF, (cgtrace_span span), (cgtrace_span span), (span), "ends a span",   \
      "By the thread that began it, when no other span is open in it. Ranges of NVTX that are open "         \
      "in it go on behind it. CGTRACE_OFF also for 0, and for a span of a capture that has ended "           \
      "(which ended it). What is below 0 is given back.\n"                                                   \
      "CGTRACE_E_THREAD: another thread began it. CGTRACE_E_NOT_OPEN: never begun, or ended "                \
      "already. CGTRACE_E_ORDER: spans are open in it.")                                                     \
    F(cgtrace_span_complete, cgtrace_span, 0,                                                                \
      (const char *name, enum cgtrace_kind kind, uint64_t start_ns, uint64_t duration_ns),                   \
      (const char *name, enum cgtrace_kind kind, uint64_t start_ns, uint64_t duration_ns),                   \
      (name, kind, start_ns, duration_ns), "records a span that is over",                                    \
      "Of the host, on no thread's stack: it may overlap any other. Its number serves "                      \
      "cgtrace_device_interval().\n"                                                                         \
      "CGTRACE_E_NULL, CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: the name. CGTRACE_E_VALUE: kind. "                \
      "CGTRACE_E_TIME: it has no length or ends in the future. CGTRACE_E_FULL: too many different "          \
      "texts.")                                                                                              \
    F(cgtrace_now, int, CGTRACE_OFF, (uint64_t * ns), (uint64_t * ns), (ns), "reads the capture's clock",    \
      "*ns is left alone unless CGTRACE_OK is returned. In the first 20 ms of a process that is "            \
      "captured at once, the functions that take or give times wait until the clock's rate is "              \
      "known.\n"                                                                                             \
      "CGTRACE_E_NULL: ns.")                                                                                 \
    F(cgtrace_from_monotonic, int, CGTRACE_OFF, (uint64_t monotonic_ns, uint64_t * ns),                      \
      (uint64_t monotonic_ns, uint64_t * ns), (monotonic_ns, ns), "converts a time of CLOCK_MONOTONIC",      \
      "To the capture's clock. Exact to less than a microsecond for times of the last minutes.\n"            \
      "CGTRACE_E_NULL: ns. CGTRACE_E_TIME: before the capture began, or in the future.")                     \
                                                                                                             \
    F(cgtrace_op, int, CGTRACE_OFF, (const struct cgtrace_op_info *info),                                    \
      (const struct cgtrace_op_info *info, size_t size), (info, sizeof *info), "records an operation",       \
      "In the innermost open span of the thread, in which it must lie.\n"                                    \
      "CGTRACE_E_NULL: info, its name, or a list with entries. CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: "         \
      "a text, too many inputs or dimensions. CGTRACE_E_VALUE: an input is 0. CGTRACE_E_TIME: it "           \
      "begins before the span or ends in the future. CGTRACE_E_FULL: too many different texts.")             \
    F(cgtrace_tensor, int, CGTRACE_OFF, (const struct cgtrace_tensor_info *info),                            \
      (const struct cgtrace_tensor_info *info, size_t size), (info, sizeof *info), "records a tensor",       \
      "CGTRACE_E_NULL: info, or the shape. CGTRACE_E_VALUE: the id is 0, or the category. "                  \
      "CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: a text, too many dimensions. CGTRACE_E_FULL: too many "           \
      "different texts.")                                                                                    \
    F(cgtrace_tensor_stats, int, CGTRACE_OFF, (const struct cgtrace_stats_info *info),                       \
      (const struct cgtrace_stats_info *info, size_t size), (info, sizeof *info),                            \
      "records statistics of a tensor",                                                                      \
      "CGTRACE_E_NULL: info, its label, or the shape. CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: a text, "          \
      "too many dimensions. CGTRACE_E_VALUE: the elements overflow 64 bits, non_finite is above "            \
      "them, a number is not finite, rms or abs_max is below 0. CGTRACE_E_FULL: too many different "         \
      "texts.")                                                                                              \
    F(cgtrace_tensor_values, int, CGTRACE_OFF,                                                               \
      (const char *label, const uint64_t *shape, size_t rank, const float *values),                          \
      (const char *label, const uint64_t *shape, size_t rank, const float *values),                          \
      (label, shape, rank, values), "works out statistics of values in host memory, and records them",       \
      "As cgtrace_tensor_stats(), of dtype f32; the statistics are over all elements, in 32-bit "            \
      "floats; one that is not finite is written as 0, non_finite stands for it.\n"                          \
      "CGTRACE_E_NULL: label, shape, or values with elements. CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: "          \
      "label, too many dimensions. CGTRACE_E_VALUE: the elements overflow 64 bits. CGTRACE_E_FULL: "         \
      "too many different texts.")                                                                           \
    F(cgtrace_scalar, int, CGTRACE_OFF, (const char *label, double value),                                   \
      (const char *label, double value), (label, value), "records a number",                                 \
      "As statistics of one element; one that is not finite is recorded as such.\n"                          \
      "CGTRACE_E_NULL, CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: the label. CGTRACE_E_FULL: too many "             \
      "different texts.")                                                                                    \
    F(cgtrace_alloc, int, CGTRACE_OFF, (const struct cgtrace_storage_info *info),                            \
      (const struct cgtrace_storage_info *info, size_t size), (info, sizeof *info),                          \
      "records that a storage begins",                                                                       \
      "Now. A storage that is alive may be recorded again with the same bytes and another tensor: "          \
      "an alias.\n"                                                                                          \
      "CGTRACE_E_NULL: info, or the shape. CGTRACE_E_VALUE: storage or tensor is 0, or the "                 \
      "category. CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: a text, too many dimensions. "                          \
      "CGTRACE_E_STORAGE: it is alive with other bytes, or with this tensor. CGTRACE_E_FULL: no "            \
      "memory for one more, or too many different texts.")                                                   \
    F(cgtrace_free, int, CGTRACE_OFF, (uint64_t storage, const char *device),                                \
      (uint64_t storage, const char *device), (storage, device), "records that a storage ends",              \
      "Now, with all its aliases; by any thread.\n"                                                          \
      "CGTRACE_E_VALUE: storage is 0. CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: the device. "                      \
      "CGTRACE_E_STORAGE: no such storage is alive.")                                                        \
    F(cgtrace_device_memory, int, CGTRACE_OFF,                                                               \
      (const char *device, uint64_t used, uint64_t free_bytes, uint64_t reserved, uint64_t capacity),        \
      (const char *device, uint64_t used, uint64_t free_bytes, uint64_t reserved, uint64_t capacity),        \
      (device, used, free_bytes, reserved, capacity), "records how much of a device's memory is used now",   \
      "In bytes, CGTRACE_UNKNOWN for what is not known; at least one is.\n"                                  \
      "CGTRACE_E_NULL, CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: the device. CGTRACE_E_VALUE: nothing is "         \
      "known. CGTRACE_E_FULL: too many different texts.")                                                    \
    F(cgtrace_device_interval, int, CGTRACE_OFF, (const struct cgtrace_interval_info *info),                 \
      (const struct cgtrace_interval_info *info, size_t size), (info, sizeof *info),                         \
      "records timed work of a device",                                                                      \
      "CGTRACE_E_NULL: info, or a text that is needed. CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: a text. "         \
      "CGTRACE_E_TIME: it has no length, or its end overflows 64 bits. CGTRACE_E_UNKNOWN: no span "          \
      "of this capture. CGTRACE_E_FULL: too many different texts.")                                          \
    F(cgtrace_gradient, int, CGTRACE_OFF,                                                                    \
      (const char *root, const char *key, enum cgtrace_gradient_state state, double norm),                   \
      (const char *root, const char *key, enum cgtrace_gradient_state state, double norm),                   \
      (root, key, state, norm), "records the gradient of a parameter",                                       \
      "root: the collection that key is a parameter of. With a gradient manifest: one of its keys, "         \
      "once.\n"                                                                                              \
      "CGTRACE_E_NULL, CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: root or key. CGTRACE_E_VALUE: the "               \
      "state, or a norm that does not go with it. CGTRACE_E_GRADIENTS: not in the manifest, or "             \
      "recorded already. CGTRACE_E_FULL: too many different texts.")                                         \
    F(cgtrace_call_edge, int, CGTRACE_OFF, (cgtrace_span caller, cgtrace_span callee),                       \
      (cgtrace_span caller, cgtrace_span callee), (caller, callee), "records that one span calls another",   \
      "While the callee is open, by its thread; it is written when the callee ends, with its "               \
      "duration. caller: the span directly around it; 0: whatever that is. CGTRACE_OFF also when "           \
      "either is 0 or of a capture that has ended.\n"                                                        \
      "CGTRACE_E_THREAD: another thread began the callee. CGTRACE_E_NOT_OPEN: it is not open. "              \
      "CGTRACE_E_PARENT: the caller is not directly around it.")                                             \
    F(cgtrace_data_edge, int, CGTRACE_OFF, (uint64_t from_tensor, uint64_t to_tensor),                       \
      (uint64_t from_tensor, uint64_t to_tensor), (from_tensor, to_tensor),                                  \
      "records that one tensor is made from another",                                                        \
      "CGTRACE_E_VALUE: an id is 0. CGTRACE_E_UNKNOWN: no tensor and no operation of this capture "          \
      "has named one of them so far (of the first eight millions), or their records were lost.")             \
                                                                                                             \
    F(cgtrace_tag, int, CGTRACE_OFF, (const char *key, const char *value),                                   \
      (const char *key, const char *value), (key, value), "adds a tag to the trace",                         \
      "To that which is open, and to later ones; of equal keys the last counts.\n"                           \
      "CGTRACE_E_NULL: key or value. CGTRACE_E_BLANK: the key. CGTRACE_E_TOO_BIG: one of them. "             \
      "CGTRACE_E_FULL: 64 tags are set.")                                                                    \
    F(cgtrace_identity, int, CGTRACE_OFF, (const struct cgtrace_identity_info *info),                        \
      (const struct cgtrace_identity_info *info, size_t size), (info, sizeof *info),                         \
      "declares what makes the run comparable",                                                              \
      "Of the trace that is open and of later ones, in place of CGTRACE_IDENTITY; NULL: none.\n"             \
      "CGTRACE_E_IDENTITY: a needed text is NULL or blank, an optional one blank, a number 0. "              \
      "CGTRACE_E_TOO_BIG: a text. CGTRACE_E_FULL: no memory.")                                               \
    F(cgtrace_contract, int, CGTRACE_OFF, (const struct cgtrace_contract_info *info),                        \
      (const struct cgtrace_contract_info *info, size_t size), (info, sizeof *info),                         \
      "declares what the trace holds",                                                                       \
      "Of the trace that is open and of later ones, in place of CGTRACE_CONTRACT; NULL: none. The "          \
      "manifest's digest is worked out here.\n"                                                              \
      "CGTRACE_E_NULL: a list with entries, or a text in one. CGTRACE_E_TOO_BIG: a text, or more "           \
      "than 1 MiB in all. CGTRACE_E_VALUE: an enumeration. CGTRACE_E_LABELS: a label is blank, "             \
      "repeated or not UTF-8, a class names one that is not required, or the classes overlap or "            \
      "leave one out. CGTRACE_E_GRADIENTS: manifest without complete gradients or the reverse, no "          \
      "families, a text blank or not UTF-8, a key twice, a family twice, without entries or not "            \
      "declared, min_present out of range. CGTRACE_E_FULL: no memory.")                                      \
                                                                                                             \
    F(cgtrace_capture_explicit_only, int, CGTRACE_OFF, (void), (void), (),                                   \
      "has nothing captured but what cgtrace_session_begin() begins",                                        \
      "To be called before the first CUDA call, NVTX range or other call of this API.\n"                     \
      "CGTRACE_E_BUSY: a capture is open.")                                                                  \
    F(cgtrace_session_begin, int, CGTRACE_OFF, (const struct cgtrace_session_info *info),                    \
      (const struct cgtrace_session_info *info, size_t size), (info, sizeof *info), "begins a capture",      \
      "Its own trace, of all that the process does until it is finished; one at a time.\n"                   \
      "CGTRACE_E_NULL: info, entrypoint, a list with entries, or a text in one. CGTRACE_E_BLANK, "           \
      "CGTRACE_E_TOO_BIG: a text. CGTRACE_E_VALUE: the phase. CGTRACE_E_RUN: the steps. "                    \
      "CGTRACE_E_BUSY: a capture is open. CGTRACE_E_IO: its files could not be made. And the "               \
      "errors of cgtrace_identity() and cgtrace_contract().")                                                \
    F(cgtrace_session_finish, int, CGTRACE_OFF, (char *path, size_t path_size),                              \
      (char *path, size_t path_size), (path, path_size), "ends the capture, complete",                       \
      "When it returns the trace is in its place; path (NULL: not wanted) is filled with where, "            \
      "cut to path_size with its NUL.\n"                                                                     \
      "CGTRACE_E_NO_SESSION: none is open. CGTRACE_E_MEASURED: own_measured, and none was begun. "           \
      "CGTRACE_E_OPEN_SPANS: spans are open on the calling thread; the capture goes on. "                    \
      "CGTRACE_E_IO: the trace could not be written; it is over all the same.")                              \
    F(cgtrace_session_fail, int, CGTRACE_OFF, (const char *reason, char *path, size_t path_size),            \
      (const char *reason, char *path, size_t path_size), (reason, path, path_size),                         \
      "ends the capture, failed",                                                                            \
      "As cgtrace_session_finish(), with a reason; spans may be open.\n"                                     \
      "CGTRACE_E_NULL, CGTRACE_E_BLANK, CGTRACE_E_TOO_BIG: the reason; the capture goes on. "                \
      "CGTRACE_E_NO_SESSION: none is open. CGTRACE_E_IO: the trace could not be written; it is over all "    \
      "the same.")                                                                                           \
    F(cgtrace_flush, int, CGTRACE_OFF, (void), (void), (),                                                   \
      "has everything written that was recorded so far",                                                     \
      "To the unfinished trace: after it no ending of the process can lose it. Waits for the "               \
      "writer.\n"                                                                                            \
      "CGTRACE_E_IO: it could not be written.")

/* ---- the rest of this file is how it works ---- */

struct cgtrace_api {
    size_t size; /* of the library's table: it has the functions that lie within */
#define CGTRACE_MEMBER_(name, type, absent, parameters, table_parameters, arguments, summary, text)          \
    type(*name) table_parameters;
    CGTRACE_FUNCTIONS(CGTRACE_MEMBER_)
#undef CGTRACE_MEMBER_
};

static const struct cgtrace_api *cgtrace_table_;

__attribute__((cold, noinline, unused)) static const struct cgtrace_api *cgtrace_fetch_(void)
{
    static struct cgtrace_api absent; /* of size 0 */
    int past = errno;
    const struct cgtrace_api *found =
        (const struct cgtrace_api *)dlsym(NULL, "cgtrace_api_1"); /* RTLD_DEFAULT */

    if (!found) {
        dlerror(); /* nobody asked for that message */
        found = &absent;
    }
    errno = past;
    __atomic_store_n(&cgtrace_table_, found, __ATOMIC_RELAXED);
    return found;
}

/* Two branches, always taken the same way, and no call where there is no library. The table is constant, so
 * nothing has to be ordered. */
#define CGTRACE_STUB_(name, type, absent, parameters, table_parameters, arguments, summary, text)            \
    __attribute__((unused)) static inline type name parameters                                               \
    {                                                                                                        \
        const struct cgtrace_api *cgtrace_ = __atomic_load_n(&cgtrace_table_, __ATOMIC_RELAXED);             \
        if (__builtin_expect(!cgtrace_, 0)) cgtrace_ = cgtrace_fetch_();                                     \
        return cgtrace_->size > offsetof(struct cgtrace_api, name) ? cgtrace_->name arguments : (absent);    \
    }
CGTRACE_FUNCTIONS(CGTRACE_STUB_)
#undef CGTRACE_STUB_

/* ---- without the library, too ---- */

/* A result in words; static text. */
__attribute__((unused)) static inline const char *cgtrace_result_text(int result)
{
    switch (result) {
#define CGTRACE_CASE_(constant, value, meaning)                                                              \
    case value:                                                                                              \
        return meaning;
        CGTRACE_RESULTS(CGTRACE_CASE_)
#undef CGTRACE_CASE_
    default:
        return "unknown result";
    }
}

/* Whether a word that a user typed is a name, without regard to case, '-' and '_' alike. */
__attribute__((unused)) static inline int cgtrace_same_word_(const char *typed, const char *name)
{
    for (;; typed++, name++) {
        char c = *typed == '-' ? '_' : *typed;

        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (c != *name) return 0;
        if (!c) return 1;
    }
}

/* A phase that a user typed: train or training; infer, inference, eval or evaluate. CGTRACE_E_NULL;
 * CGTRACE_E_VALUE: none of them; *phase is left alone then. */
__attribute__((unused)) static inline int cgtrace_parse_phase(const char *text, enum cgtrace_phase *phase)
{
    static const char *const names[] = {"train", "training", "infer", "inference", "eval", "evaluate"};

    if (!text || !phase) return CGTRACE_E_NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!cgtrace_same_word_(text, names[i])) continue;
        *phase = i < 2 ? CGTRACE_PHASE_TRAIN : CGTRACE_PHASE_INFER;
        return CGTRACE_OK;
    }
    return CGTRACE_E_VALUE;
}

/* A step that a user typed: forward or fwd; backward, backward_pass, bwd or backprop; optimizer, optim or
 * step. Errors as above. */
__attribute__((unused)) static inline int cgtrace_parse_step(const char *text, enum cgtrace_step *step)
{
    static const char *const names[] = {"forward",  "fwd",       "backward", "backward_pass", "bwd",
                                        "backprop", "optimizer", "optim",    "step"};

    if (!text || !step) return CGTRACE_E_NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!cgtrace_same_word_(text, names[i])) continue;
        *step = i < 2 ? CGTRACE_STEP_FORWARD : i < 6 ? CGTRACE_STEP_BACKWARD : CGTRACE_STEP_OPTIMIZER;
        return CGTRACE_OK;
    }
    return CGTRACE_E_VALUE;
}

/* Selects the one invocation that is to be captured, counted from 1. CGTRACE_E_NULL; CGTRACE_E_VALUE: 0. */
struct cgtrace_selector {
    uint64_t invocation;
};
__attribute__((unused)) static inline int cgtrace_select(struct cgtrace_selector *selector,
                                                         uint64_t invocation)
{
    if (!selector) return CGTRACE_E_NULL;
    if (!invocation) return CGTRACE_E_VALUE;
    selector->invocation = invocation;
    return CGTRACE_OK;
}
/* 1 when this invocation is the selected one. */
__attribute__((unused)) static inline int cgtrace_selected(const struct cgtrace_selector *selector,
                                                           uint64_t invocation)
{
    return selector && invocation && selector->invocation == invocation;
}

#ifdef __cplusplus
/* A span from here to the end of the scope. */
namespace cgtrace
{
class span
{
  public:
    explicit span(const char *name) : handle_(cgtrace_span_begin(name)) {}
    span(const char *name, cgtrace_kind kind, cgtrace_step step = CGTRACE_STEP_FROM_NAME)
        : handle_(cgtrace_span_begin_as(name, kind, step))
    {
    }
    ~span() { cgtrace_span_end(handle_); }
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    cgtrace_span handle() const { return handle_; }

  private:
    cgtrace_span handle_;
};
} // namespace cgtrace
#else
__attribute__((unused)) static inline void cgtrace_leave_(const cgtrace_span *span)
{
    cgtrace_span_end(*span);
}
#define CGTRACE_JOIN_(a, b) a##b
#define CGTRACE_NAME_(a, b) CGTRACE_JOIN_(a, b)
/* A span from here to the end of the block: CGTRACE_SPAN("forward"); */
#define CGTRACE_SPAN(name)                                                                                   \
    __attribute__((cleanup(cgtrace_leave_), unused)) const cgtrace_span CGTRACE_NAME_(                       \
        cgtrace_span_, __LINE__) = cgtrace_span_begin(name)
#endif

#endif
