/* What files of other tools hold, before it is a trace: events with times of one clock, in any order. */
#ifndef CGTRACE_ANALYZER_CONVERT_MODEL_H
#define CGTRACE_ANALYZER_CONVERT_MODEL_H

#include "analyzer/convert/convert.h"
#include "analyzer/trace/strings.h"

/* Times are nanoseconds of the file's clock; beyond this, 146 years, none is taken. */
#define MODEL_TIME_LIMIT (INT64_C(1) << 62)

struct model_span {
    int64_t start, end;
    cg_str name;
    uint32_t thread;
    uint8_t kind; /* enum cg_value_SPAN_KIND */
    bool open;    /* its end is not in the file */
};
/* A call of the driver or the runtime, or a failed allocation. */
struct model_call {
    int64_t start, end;
    uint64_t correlation, requested; /* requested: bytes; only with error */
    cg_str api;
    uint32_t thread, stack; /* stack: number, CG_NONE: none */
    cg_str device;          /* CG_ABSENT: that of its work */
    uint32_t error;
    bool correlated;
};
struct model_interval {
    int64_t start, end;
    uint64_t correlation, bytes, shared;
    uint32_t grid[3], block[3];
    cg_str name, device, stream;
    uint8_t activity; /* enum model_activity */
    bool correlated, has_bytes, has_grid;
};
enum model_activity { MODEL_KERNEL, MODEL_MEMCPY, MODEL_MEMSET, MODEL_ACTIVITY_COUNT };
struct model_storage {
    int64_t time;
    uint64_t address, bytes;
    cg_str device;
    uint32_t thread, stack;
    bool alloc, preexisting;
};
struct model_sample {
    int64_t time;
    cg_str device;
    bool has_reserved, has_free;
    uint64_t reserved, free;
};
struct model_frame {
    cg_str file, function;
    uint64_t line;
};
/* Numbers pairs of words: (process, thread), for spans of a thread to find their parents in. */
struct model_thread {
    cg_str process, thread;
    bool numbered;
    uint64_t tid;
};

struct model {
    struct cg_strings *strings;
    struct model_span *spans;
    struct model_call *calls;
    struct model_interval *intervals;
    struct model_storage *storages;
    struct model_sample *samples;
    struct model_frame *frames;
    struct cg_list *stacks; /* into frames, innermost first */
    struct model_thread *threads;
    size_t span_count, span_room, call_count, call_room, interval_count, interval_room, storage_count,
        storage_room, sample_count, sample_room, frame_count, frame_room, stack_count, stack_room,
        thread_count, thread_room;

    /* About the run; "" and 0 where the file does not say. */
    const char *file; /* its name */
    const char *tool; /* what wrote it, for meta */
    bool training;
    uint64_t step; /* from 1; 0: not known */
    bool rank_known;
    uint64_t rank;
    uint64_t resolution_ns; /* of the file's times */
    int64_t epoch_ns;       /* the Unix time of the file's time 0; negative: not known */
    struct {
        uint32_t number;
        cg_str name;
        uint64_t bytes;
    } devices[64];
    size_t device_count;
    struct convert_report *report;
};

bool model_init(struct model *model, struct convert_report *report);
void model_free(struct model *model);

/* Interned; CG_ABSENT when memory is short. */
cg_str model_string(struct model *model, const char *bytes, size_t length);
struct cg_text model_text(const struct model *model, cg_str string);
/* "cuda:N", and so on. */
cg_str model_device(struct model *model, const char *kind, uint64_t number);

/* Each adds one; false when memory is short. */
bool model_add_span(struct model *model, struct model_span span);
bool model_add_call(struct model *model, struct model_call call);
bool model_add_interval(struct model *model, struct model_interval interval);
bool model_add_storage(struct model *model, struct model_storage storage);
bool model_add_sample(struct model *model, struct model_sample sample);

/* Writes the trace. 0 or the status of *error. */
int model_write(struct model *model, json_sink *sink, void *context, struct cg_error *error);

#endif
