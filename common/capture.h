/* The capture file `<trace>.cgt`: what the threads of a program have committed, readable after any death of
 * it.
 *
 * One file for each process that records, made with fallocate and mapped MAP_SHARED: what a thread has stored
 * there is in the page cache and survives SIGKILL. The JSONL is derived from it. Rings are bounded, so the
 * capture file alone is not the run: the writer appends lines to `<trace>.part`, then publishes in here how
 * many bytes of it are whole and up to where each ring is in them, and only then frees the slots. Recovery
 * cuts `.part` at the published length and adds what the rings still hold.
 *
 *   header      from the first byte, written once when the session opens, but for the members marked (live)
 *   publication two copies, each with its checksum; the one with the greater valid sequence counts
 *   rings       a directory of CAP_RINGS_MAX entries, one cache line pair each
 *   strings     an append-only area: {u32 head, bytes}, each at a multiple of 8; a string's number is its
 *               offset / 8; see CAP_STRING_LENGTH
 *   stacks      an append-only area of modules and stacks, each at a multiple of 8 and known by its offset /
 * 8; first in it a directory: the number of each module (struct cap_module), by its index slots       the
 * slots of the rings, each ring where its entry says
 *
 * All numbers are in the machine's byte order; the header says which. Offsets are from the start of the file,
 * lengths in bytes, times in ticks of the header's clock unless a name ends in _ns. */
#ifndef CGTRACE_COMMON_CAPTURE_H
#define CGTRACE_COMMON_CAPTURE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CAP_MAGIC       "cgtrace\n"
#define CAP_VERSION     2u
#define CAP_ENDIAN      0x01020304u
#define CAP_RINGS_MAX   1024u
#define CAP_SLOT        64u
#define CAP_GAPS_MAX    8u
#define CAP_UNTIMED_MAX 16u
#define CAP_CLOCKS_MAX  16u

/* The head of a string: its length, and what its last path part says about a training step: 0, or 1 + the
 * value of enum cg_value_STEP. */
#define CAP_STRING_MAX (64u * 1024)
/* Areas are so large at most that a number of theirs has so many bits. */
#define CAP_NUMBER_BITS            21
#define CAP_NUMBER(number)         ((number) & ((1u << CAP_NUMBER_BITS) - 1))
#define CAP_AREA_MAX               (UINT64_C(8) << CAP_NUMBER_BITS)
#define CAP_STRING_LENGTH(head)    ((head)&0x00ffffffu)
#define CAP_STRING_STEP(head)      ((head) >> 24 & 0x0fu)
#define CAP_STRING_HEAD(len, step) ((uint32_t)(len) | (uint32_t)(step) << 24)
#define CAP_STRING_BYTES(len)      (((uint64_t)(len) + 4 + 7) & ~UINT64_C(7))

/* ---- stacks ---- */

#define CAP_MODULES_MAX     4096u /* entries of the directory; index 0 is no module */
#define CAP_FRAMES_MAX      128u
#define CAP_BUILD_ID_MAX    32u
#define CAP_PATH_MAX        1023u
#define CAP_STACK_CUT       1u /* flag: there were more frames around these */
#define CAP_DIRECTORY_BYTES (CAP_MODULES_MAX * (uint64_t)sizeof(uint32_t))

struct cap_module {
    uint16_t path_length, id_length;
    char bytes[]; /* the path, then the bytes of the build-id */
};
/* A frame: index of its module << 48 | return address in the module's file; without a module, in memory. */
#define CAP_FRAME(module, offset) ((uint64_t)(module) << 48 | ((offset) & ((UINT64_C(1) << 48) - 1)))
#define CAP_FRAME_MODULE(frame)   ((uint32_t)((frame) >> 48))
#define CAP_FRAME_OFFSET(frame)   ((frame) & ((UINT64_C(1) << 48) - 1))
struct cap_stack {
    uint32_t ordinal; /* from 1, in the order in which they were put here: stack:1 and so on */
    uint16_t count, flags;
    uint64_t frames[]; /* innermost call first */
};

/* Ticks to nanoseconds: ns = (tick - tick0) * mult >> shift, in 128 bits. One rate for the whole session: so
 * times of one thread and of several threads keep their order, and a child's interval stays inside its
 * parent's. */
struct cap_clock {
    uint32_t source; /* 0: CLOCK_MONOTONIC, 1: invariant TSC */
    uint32_t shift;
    uint64_t mult;
    uint64_t tick0; /* time 0 of the session */
};
/* The three clocks read together; spread_ticks bounds how far apart the first two reads were. */
struct cap_anchor {
    uint64_t tick;
    int64_t monotonic_ns;
    int64_t realtime_ns;
    uint64_t spread_ticks;
};

/* One moment on a device's clock and on the host's. */
struct cap_device_anchor {
    uint64_t device_ns;
    uint64_t host_tick;
    uint64_t uncertainty_ns; /* how far the two may lie apart */
};
/* The clock of device intervals of one context: "cuda:<device>/ctx:<number>". */
struct cap_device_clock {
    uint32_t number;
    uint8_t device;
    _Atomic uint8_t anchors; /* 0: none was taken; 1: the first; 2: that and the last one */
    struct cap_device_anchor anchor[2];
};

#define CAP_ENCLOSING_MAX 32u

/* The measured region. */
struct cap_region {
    uint32_t name, domain; /* string numbers */
    int32_t tid;           /* thread that opened it; 0: the process' own */
    uint32_t outside;      /* number of the span that records outside of all spans of their thread belong to:
                              of other threads than that one */
    uint16_t step;         /* CAP_FLAG_STEP form */
    uint8_t source;        /* enum cap_span_source */
    uint8_t own;           /* 1: a measured span of the program's is the region, and there is no other */
    uint32_t enclosing_count;
    uint32_t enclosing[CAP_ENCLOSING_MAX]; /* names of the ranges around it, outermost first */
};

struct cap_header {
    char magic[8];
    uint32_t version;
    uint32_t endian;
    uint64_t file_bytes;
    uint64_t publication_offset; /* struct cap_publication[2] */
    uint64_t rings_offset;       /* struct cap_ring[CAP_RINGS_MAX] */
    uint64_t strings_offset, strings_bytes;
    uint64_t stacks_offset, stacks_bytes;
    uint32_t api_count; /* entry points; their names are the first strings after the empty one */
    uint32_t api_first; /* string number of the name of entry point 0; the others stand behind it in order */
    int32_t pid;
    int32_t rank;                 /* -1: none known */
    uint64_t process_start_ticks; /* /proc/self/stat field 22: tells a process from a later one with the same
                                     pid */
    struct cap_clock clock;       /* (live) the rate is refined once, before the first line is written */
    struct cap_anchor first;
    struct cap_anchor last;        /* (live) of the writer's last round */
    _Atomic uint64_t strings_used; /* (live) */
    _Atomic uint64_t stacks_used;  /* (live) */
    _Atomic uint32_t rings_used;   /* (live) entries of the directory that were ever used */
    _Atomic uint32_t closed;       /* (live) 1 when the trace is in place and this file is no longer needed */
    _Atomic uint64_t lost_without_ring;        /* (live) records of threads that could get no ring */
    _Atomic uint64_t lost_retired;             /* (live) records lost by threads that have ended */
    _Atomic uint64_t gaps[CAP_GAPS_MAX];       /* (live) enum cap_gap: what passed unseen */
    _Atomic uint64_t untimed[CAP_UNTIMED_MAX]; /* (live) enum cap_untimed: work without an interval */
    _Atomic uint64_t pending;                  /* (live) work whose events have not been read yet */
    _Atomic uint64_t timing_ns;                /* (live) host time that timing has cost */
    _Atomic uint32_t device_clocks;            /* (live) entries of device_clock that are used */
    struct cap_device_clock device_clock[CAP_CLOCKS_MAX];
    struct cap_region region; /* its names are in the string area */
    char part_path[1024];     /* absolute */
    char trace_path[1024];    /* absolute; final name */
    char meta[];              /* NUL-ended JSON object: the parts of meta known at the start */
};

#define CAP_TYPES_MAX 32u

/* What the lines of a trace say in sum. */
struct cap_written {
    uint64_t latest_ns;              /* latest host time */
    uint64_t records[CAP_TYPES_MAX]; /* by enum cap_type */
    uint64_t op_lines, memory_lines;
    uint64_t skipped;      /* work of devices that was not timed, to keep the budget */
    uint32_t steps;        /* one bit for each step that a span had */
    uint32_t first_device; /* 1 + ordinal of the first device that a record named; 0: none */
};

/* What of `.part` is whole. checksum: XXH64 of the members before it, of tail only `rings`. */
struct cap_publication {
    uint64_t sequence;
    uint64_t part_bytes;
    uint64_t meta_room;   /* bytes of the first line, which is blank until the end, without its end of line */
    uint64_t not_written; /* records that could not be written */
    struct cap_written written;
    uint64_t rings;
    uint64_t tail[CAP_RINGS_MAX]; /* slots of each ring that are in part_bytes */
    _Atomic uint64_t checksum;
};

enum cap_ring_state {
    CAP_RING_FREE,    /* never used, or drained, published and given back */
    CAP_RING_OWNED,   /* a thread records in it */
    CAP_RING_RETIRED, /* its thread has ended; the writer drains it, then frees it */
};

/* Head and tail count slots from the ring's first use and never go back; slot n stands at n & (slots - 1). */
struct cap_ring {
    /* producer's line */
    _Atomic uint64_t head; /* slots committed */
    _Atomic uint64_t lost; /* records dropped, by the owner alone */
    uint64_t pad2;
    uint64_t slots_offset;
    uint32_t slots; /* power of two */
    _Atomic uint32_t state;
    int32_t tid;
    uint32_t pad0;
    char name[16]; /* thread's name when it took the ring */
    /* consumer's line */
    _Atomic uint64_t tail; /* slots free again; advances after the publication that covers them */
    uint64_t pad1[7];
} __attribute__((aligned(64)));

/* ---- records ---- */

/* T(constant suffix, payload member, "meaning"). API_*, TENSOR and what follows it: what the program says of
 * itself through cgtrace.h. */
#define CAP_TYPES(T)                                                                                         \
    T(PAD, none, "skip")                                                                                     \
    T(CALL, call, "a call without bytes: synchronisation, context, module, stream or event calls")           \
    T(LAUNCH, launch, "a kernel or graph launch")                                                            \
    T(COPY, copy, "a copy or a memset")                                                                      \
    T(ALLOC, memory, "an allocation: a call, and when it succeeded a storage that begins")                   \
    T(FREE, memory, "a call that frees, and the storage that ends")                                          \
    T(END, memory, "a storage that ends without a call that frees it: see flags")                            \
    T(SPAN_BEGIN, span_data, "a span begins")                                                                \
    T(SPAN_END, span_data, "a span ends")                                                                    \
    T(SPAN, span_data, "a span that is complete")                                                            \
    T(SAMPLE, sample, "memory of a device")                                                                  \
    T(INTERVAL, interval, "work on a device")                                                                \
    T(API_OP, api_op, "an operation; words: shape, inputs")                                                  \
    T(TENSOR, tensor, "a tensor; words: shape")                                                              \
    T(STATS, stats, "statistics of a tensor; words: abs_max, mean, shape")                                   \
    T(SCALAR, scalar, "statistics of one number")                                                            \
    T(API_ALLOC, storage, "a storage of a framework begins; words: shape")                                   \
    T(API_FREE, storage, "a storage of a framework ends")                                                    \
    T(API_INTERVAL, api_interval,                                                                            \
      "work on a device, timed by the program; begin and ticks: on its clock, ns")                           \
    T(GRADIENT, gradient, "the gradient of a parameter")                                                     \
    T(DATA_EDGE, data_edge, "one tensor is made from another")                                               \
    T(GRAPH, graph,                                                                                          \
      "a call that makes a graph ready; words: type << 32 | count of its nodes, then name << 32 | count of " \
      "its kernels")

enum cap_type {
#define CAP_TYPE(suffix, member, meaning) CAP_##suffix,
    CAP_TYPES(CAP_TYPE)
#undef CAP_TYPE
        CAP_TYPE_COUNT
};
_Static_assert(CAP_TYPE_COUNT <= CAP_TYPES_MAX, "a publication has room for every type");

/* Kinds of memory: M(constant suffix, "wire value of memory_kind") */
#define CAP_MEMORY_KINDS(M)                                                                                  \
    M(DEVICE, "device")                                                                                      \
    M(PITCH, "pitch")                                                                                        \
    M(MANAGED, "managed")                                                                                    \
    M(HOST, "host")                                                                                          \
    M(REGISTERED, "registered")                                                                              \
    M(POOL, "pool")                                                                                          \
    M(ARRAY, "array")                                                                                        \
    M(MIPMAPPED, "mipmapped_array")                                                                          \
    M(VMM, "vmm")                                                                                            \
    M(GRAPH, "graph")
enum cap_memory_kind {
#define CAP_MEMORY_KIND(suffix, wire) CAP_MEMORY_##suffix,
    CAP_MEMORY_KINDS(CAP_MEMORY_KIND)
#undef CAP_MEMORY_KIND
        CAP_MEMORY_KIND_COUNT
};

/* Why a storage ended: R(constant suffix, "wire value of end_reason"); the first is an ordinary free and is
 * not written. */
#define CAP_END_REASONS(R)                                                                                   \
    R(FREE, "free")                                                                                          \
    R(CTX_DESTROY, "ctx_destroy")                                                                            \
    R(PRIMARY_RESET, "primary_reset")
enum cap_end_reason {
#define CAP_END_REASON(suffix, wire) CAP_END_##suffix,
    CAP_END_REASONS(CAP_END_REASON)
#undef CAP_END_REASON
        CAP_END_REASON_COUNT
};

/* What opened a span: O(constant suffix, "wire value of source") */
#define CAP_SPAN_SOURCES(O)                                                                                  \
    O(SESSION, "session")                                                                                    \
    O(REGION, "region")                                                                                      \
    O(API, "api")                                                                                            \
    O(NVTX, "nvtx")
enum cap_span_source {
#define CAP_SPAN_SOURCE(suffix, wire) CAP_SOURCE_##suffix,
    CAP_SPAN_SOURCES(CAP_SPAN_SOURCE)
#undef CAP_SPAN_SOURCE
        CAP_SPAN_SOURCE_COUNT
};

enum cap_payload { CAP_PAYLOAD_NONE, CAP_PAYLOAD_U64, CAP_PAYLOAD_I64, CAP_PAYLOAD_F64 };

/* What passes unseen, counted in the header: G(constant suffix, "key in terminal.not_covered", "meaning") */
#define CAP_GAPS(G)                                                                                          \
    G(UNKNOWN_ENTRY_POINT, "unknown_entry_points", "look-ups answered with an entry point that has no hook") \
    G(NESTED, "nested_calls", "calls from inside a hook of the same thread")                                 \
    G(ABANDONED, "abandoned_calls",                                                                          \
      "calls left for good: by a jump out of a signal's handler, or the thread's end in one")                \
    G(UNKNOWN_FREE, "unknown_frees", "frees of storages whose allocation was not seen, or the reverse")      \
    G(UNKNOWN_SPAN_END, "unknown_span_ends", "ends of spans that were not open on their thread")             \
    G(STRADDLING, "straddling_calls", "calls that were under way when the captured region began or ended")   \
    G(STACK, "stacks_without_room",                                                                          \
      "calls without their stack: no room in the capture file, or it was taken during a fork")
enum cap_gap {
#define CAP_GAP(suffix, wire, meaning) CAP_GAP_##suffix,
    CAP_GAPS(CAP_GAP)
#undef CAP_GAP
        CAP_GAP_COUNT
};
_Static_assert(CAP_GAP_COUNT <= CAP_GAPS_MAX, "the header has room for every gap");

/* What a device interval is of: A(constant suffix, "wire value of activity", "name where there is no other").
 * The copies stand in the order of enum record_copy_kind. */
#define CAP_ACTIVITIES(A)                                                                                    \
    A(HTOD, "memcpy", "HtoD")                                                                                \
    A(DTOH, "memcpy", "DtoH")                                                                                \
    A(DTOD, "memcpy", "DtoD")                                                                                \
    A(HTOH, "memcpy", "HtoH")                                                                                \
    A(PEER, "memcpy", "PtoP")                                                                                \
    A(UNIFIED, "memcpy", "unified")                                                                          \
    A(MEMSET, "memset", "memset")                                                                            \
    A(KERNEL, "kernel", "")                                                                                  \
    A(GRAPH, "graph", "graph")
enum cap_activity {
#define CAP_ACTIVITY(suffix, wire, name) CAP_ACTIVITY_##suffix,
    CAP_ACTIVITIES(CAP_ACTIVITY)
#undef CAP_ACTIVITY
        CAP_ACTIVITY_COUNT
};
_Static_assert(CAP_ACTIVITY_COUNT <= 16, "the detail of a record holds every activity");

/* Why a device's work has no interval: U(constant suffix, "key in terminal.coverage.device_timing.untimed",
 * "meaning") */
#define CAP_UNTIMEDS(U)                                                                                      \
    U(BUDGET, "budget", "left out so that timing costs no more than its budget")                             \
    U(CAPTURED, "captured", "its stream is part of a capture, where no event may be recorded")               \
    U(POOL_EMPTY, "pool_empty", "too much work was under way: no pair of events was left")                   \
    U(ERROR, "error", "the driver refused to record or to read an event")                                    \
    U(NOT_READY, "not_ready", "not done when its context ended")                                             \
    U(SESSION_END, "session_end", "not done or not read when the session ended")                             \
    U(RESOLUTION, "below_resolution", "both events bear the same time")                                      \
    U(FORM, "form", "a form of call that is not timed")                                                      \
    U(LOST, "lost", "the record of the call or of its interval found no room")
enum cap_untimed {
#define CAP_UNTIMED(suffix, wire, meaning) CAP_UNTIMED_##suffix,
    CAP_UNTIMEDS(CAP_UNTIMED)
#undef CAP_UNTIMED
        CAP_UNTIMED_COUNT
};
_Static_assert(CAP_UNTIMED_COUNT <= CAP_UNTIMED_MAX, "the header has room for every reason");

/* Types of a graph's nodes, in the order of the driver's numbers: N("key in nodes") */
#define CAP_NODE_TYPES(N)                                                                                    \
    N("kernel")                                                                                              \
    N("memcpy")                                                                                              \
    N("memset")                                                                                              \
    N("host")                                                                                                \
    N("child_graph")                                                                                         \
    N("empty")                                                                                               \
    N("wait_event")                                                                                          \
    N("event_record")                                                                                        \
    N("ext_semas_signal")                                                                                    \
    N("ext_semas_wait")                                                                                      \
    N("mem_alloc")                                                                                           \
    N("mem_free")                                                                                            \
    N("batch_mem_op")                                                                                        \
    N("conditional")                                                                                         \
    N("other")
enum {
#define CAP_ONE_MORE(key) +1
    CAP_NODE_TYPE_COUNT = CAP_NODE_TYPES(CAP_ONE_MORE),
#undef CAP_ONE_MORE
    CAP_GRAPH_KERNELS_MAX = 32
};

/* Numbers of the two spans that every session has. */
enum { CAP_SPAN_ROOT = 1, CAP_SPAN_REGION = 2 };

/* Flags of a record. */
enum {
    CAP_FLAG_DETAIL = 0x000f,      /* memory kind, copy kind, span source or activity, by type */
    CAP_FLAG_STEP = 0x00f0,        /* SPAN_*: its own step; ALLOC, FREE, END: of the innermost span around the
                                      allocation that has one:        0, or 1 + the value of enum cg_value_STEP */
    CAP_FLAG_REASON = 0x0f00,      /* FREE, END: enum cap_end_reason << 8 */
    CAP_FLAG_MEASURED = 0x0400,    /* SPAN_BEGIN: the measured region, opened by the program itself */
    CAP_FLAG_CALL_EDGE = 0x0800,   /* SPAN_END: an edge from its parent is written with it */
    CAP_FLAG_NS = 0x0800,          /* API_OP, SPAN, SAMPLE: begin and ticks are nanoseconds of the session */
    CAP_FLAG_DEVICE_TEXT = 0x0010, /* SAMPLE: result is the string number of the device's name */
    CAP_FLAG_REQUIRES_GRAD = 0x0100, /* TENSOR */
    CAP_FLAG_HAS_BYTES = 0x0200,     /* TENSOR, API_OP: the dense bytes are given, not worked out */
    CAP_FLAG_SKIPPED = 0x0400,       /* LAUNCH, COPY: not timed, to keep the budget */
    CAP_FLAG_CLIPPED_START = 0x0100, /* SPAN_BEGIN, SPAN: open when the region began */
    CAP_FLAG_CLIPPED_END = 0x0200,   /* SPAN_END, SPAN: not ended by the program */
    CAP_FLAG_NO_CALL = 0x1000,       /* FREE, END: no op is written */
    CAP_FLAG_PREEXISTING = 0x2000,   /* ALLOC: alive when the region began */
    CAP_FLAG_GRAPH = 0x4000,      /* LAUNCH: of a graph, whose number stands in `shared`; with words, they are
                                     those of a GRAPH, and grid has types, kernels, kernels_left_out */
    CAP_FLAG_NO_STORAGE = 0x4000, /* ALLOC, FREE: the call alone (it failed, or the storage is not known) */
    CAP_FLAG_CAPTURED = 0x8000,   /* CALL, LAUNCH, COPY: no work, a node of a graph that is being captured */
};

#define CAP_NO_DEVICE 255u /* host memory and calls without a device: device "cpu" */

#define CAP_RECORD_SLOTS 255u /* that one record may have */
#define CAP_SLOT_WORDS   (CAP_SLOT / 8)
#define CAP_RANK_MAX     64u
#define CAP_INPUTS_MAX   1024u

/* One record: a slot of this form, and `slots - 1` slots right behind it that hold words alone, 64 bits each.
 * A record does not wrap: a PAD fills the end of its ring. */
struct cap_record {
    uint64_t begin; /* tick; INTERVAL: bytes moved */
    uint32_t span;  /* number of the innermost recorded open span of the thread; SPAN_*: of this span */
    uint8_t type;   /* enum cap_type */
    uint8_t slots;
    uint8_t session;
    uint8_t device; /* ordinal, or CAP_NO_DEVICE */
    uint16_t api;
    uint16_t flags;
    int32_t result; /* CUresult; SPAN_BEGIN: the span that this one continues; SPAN: the thread that opened
                       it, where another ended it; else 0 */
    uint64_t ticks; /* duration; SAMPLE: 1 + bytes in use of the device's pool, 0: not known;
                       INTERVAL: number of its clock << 32 | name */
    union {
        struct {
            uint64_t bytes;
            uint32_t stream;
            uint32_t stack;
        } call;
        struct {
            uint64_t name : CAP_NUMBER_BITS, stream : CAP_NUMBER_BITS, stack : CAP_NUMBER_BITS, unused : 1;
            uint32_t grid[3];
            uint16_t block[3];
            uint16_t pad;
            uint32_t shared;
        } launch;
        struct {
            uint64_t bytes, destination, source;
            uint32_t stream, stack;
        } copy;
        struct {
            uint64_t address, bytes, storage;
            uint32_t stream, stack;
        } memory;
        struct {
            uint32_t name, parent, domain, category;
            uint8_t kind;         /* enum cg_value_SPAN_KIND */
            uint8_t payload_type; /* enum cap_payload */
            uint16_t has_color;
            uint32_t color;
            uint64_t payload; /* bits of a value of that type */
        } span_data;
        struct {
            uint64_t used, free, reserved, capacity;
        } sample; /* UINT64_MAX: not known */
        struct {
            uint64_t start_ns, duration_ns, correlation;
            uint32_t stream, uncertainty_ns;
        } interval;
        struct {
            uint32_t name, dtype, device;
            uint16_t inputs; /* how many; the rank stands in `api` */
            uint16_t pad;
            uint64_t output; /* 0: none */
            uint64_t output_bytes;
        } api_op; /* words: bytes of the inputs, shape, inputs */
        struct {
            uint64_t tensor, bytes;
            uint32_t label, dtype, device; /* the rank stands in `api`, the category in the flags' detail */
            uint32_t pad;
        } tensor;
        struct {
            uint64_t elements, non_finite;
            double rms;
            uint32_t label, dtype; /* the rank stands in `api` */
        } stats;
        struct {
            double value;
            uint32_t label;
        } scalar;
        struct {
            uint64_t storage, tensor, bytes;
            uint32_t device,
                dtype; /* rank and category as in a tensor; result: string number of the operation's name */
        } storage;
        struct {
            uint32_t device, stream, clock, backend;
            uint32_t name, activity;
            uint64_t correlation; /* 0: none */
        } api_interval;
        struct {
            uint64_t number;
            double norm; /* where the state, the flags' detail, has one */
            uint32_t root, key;
        } gradient;
        struct {
            uint64_t from, to;
        } data_edge;
        struct {
            uint32_t number, stream;
            uint16_t types, kernels;   /* how many words of each */
            uint32_t kernels_left_out; /* nodes whose kernels have no name, or found no word */
            uint32_t stack;
        } graph;
    };
};
_Static_assert(sizeof(struct cap_record) == CAP_SLOT, "a record is one slot");

/* The words of a record, behind its first slot; how many there are. */
static inline const uint64_t *cap_words(const struct cap_record *record, size_t *count)
{
    *count = record->slots > 1 ? (record->slots - 1u) * (size_t)CAP_SLOT_WORDS : 0;
    return (const uint64_t *)(record + 1);
}
static inline unsigned cap_slots(size_t words)
{
    return (unsigned)(1 + (words + CAP_SLOT_WORDS - 1) / CAP_SLOT_WORDS);
}

/* The number that joins a launch with its device interval: from where its record stands, so it costs nothing.
 */
static inline uint64_t cap_correlation(uint32_t ring, uint64_t slot)
{
    return ((uint64_t)ring << 40) | (slot + 1);
}

/* A line of text that a launcher leaves beside the capture file, named like it with this behind: how the
 * program ended, when it could not complete its trace. */
#define CAP_END_SUFFIX ".end"

static inline uint64_t cap_ns(const struct cap_clock *clock, uint64_t tick)
{
    return tick <= clock->tick0
               ? 0
               : (uint64_t)(((unsigned __int128)(tick - clock->tick0) * clock->mult) >> clock->shift);
}

#endif
