/* Reads a trace: lines from the input, records from the decoder, rules by the sequence, rows into the
 * columns. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/trace/columns.h"
#include "analyzer/trace/input.h"
#include "analyzer/trace/meta_extras.h"
#include "analyzer/trace/sequence.h"
#include "common/dense.h"
#include "common/utf8.h"

enum { BATCH = 64, BATCH_BYTES = 4 << 20 };

/* A record that is decoded and not yet taken. */
struct waiting {
    uint64_t line;
    enum cg_kind kind;
    struct record record;
};

/* Sizes of the dtypes seen last, by the low bits of their number. */
enum { DTYPE_CACHE = 64 };

struct loader {
    const char *name;
    struct cg_load_options options;
    struct cg_error *error;
    struct input *input;
    struct decoder decoder;
    struct sequence sequence;
    struct columns_capacity capacity;
    struct cg_trace *trace;
    uint64_t line; /* from 1; of the record in hand */
    struct waiting waiting[BATCH];
    unsigned waiting_count;
    struct timespec last_progress;
    struct {
        cg_str dtype;
        unsigned bytes;
    } dtype_cache[DTYPE_CACHE];
};

/* errors */

/* In a line with a byte that is not UTF-8 that is the defect, unless another one comes before it. */
static int line_fault(struct loader *loader, const char *line, const char *record_name)
{
    struct decode_fault *fault = &loader->decoder.fault;
    const char *end = rawmemchr(line, '\n'), *text = fault->text, *field = fault->field;
    if (fault->no_memory) return cg_fail(loader->error, CG_EXIT_IO, "%s: out of memory", loader->name);
    const char *broken = line + utf8_valid_length(line, (size_t)(end - line));
    const char *at = fault->at != NULL ? fault->at : line;
    if (broken < end && (broken <= at || fault->at == NULL)) {
        at = broken;
        text = "not valid UTF-8";
        field = NULL;
    }
    uint64_t byte = (uint64_t)(at - line) + 1;
    const char *cut = at == end && input_cut(loader->input) ? " (the file is cut off here)" : "";
    if (field != NULL)
        return cg_fail(loader->error, CG_EXIT_INPUT, "%s:%" PRIu64 ":%" PRIu64 ": %s%sfield \"%s\": %s%s",
                       loader->name, loader->line, byte, record_name, record_name[0] != '\0' ? ": " : "",
                       field, text, cut);
    return cg_fail(loader->error, CG_EXIT_INPUT, "%s:%" PRIu64 ":%" PRIu64 ": %s%s%s%s", loader->name,
                   loader->line, byte, record_name, record_name[0] != '\0' ? ": " : "", text, cut);
}

static int syntax_fault(struct loader *loader, const char *line, const char *at, const char *text)
{
    struct decode_fault *fault = &loader->decoder.fault;
    *fault = (struct decode_fault){.at = at};
    strncpy(fault->text, text, sizeof fault->text - 1);
    return line_fault(loader, line, "");
}

static int sequence_fault(struct loader *loader)
{
    if (loader->sequence.no_memory)
        return cg_fail(loader->error, CG_EXIT_IO, "%s: out of memory", loader->name);
    return cg_fail(loader->error, CG_EXIT_INPUT, "%s:%" PRIu64 ": %s", loader->name, loader->line,
                   loader->sequence.fault);
}

static int no_memory(struct loader *loader)
{
    return cg_fail(loader->error, CG_EXIT_IO, "%s: out of memory", loader->name);
}

/* rows */

static bool resolve(struct loader *loader, cg_str dtype, struct cg_list shape, uint64_t *bytes)
{
    unsigned slot = dtype % DTYPE_CACHE;
    struct cg_text text = trace_text(loader->trace, dtype);
    if (loader->dtype_cache[slot].dtype != dtype) {
        loader->dtype_cache[slot].dtype = dtype;
        loader->dtype_cache[slot].bytes = dense_element_bytes(text.bytes, text.length);
    }
    return loader->dtype_cache[slot].bytes != 0 &&
           dense_bytes(loader->decoder.u64_pool + shape.first, shape.count, text.bytes, text.length, bytes);
}

/* doc/spec/trace.md 8: footprints that the producer left out. */
static void resolve_dense_bytes(struct loader *loader, enum cg_kind kind)
{
    struct cg_trace *trace = loader->trace;
    if (kind == CG_KIND_OP) {
        struct cg_ops *ops = &trace->op;
        size_t row = ops->rows - 1;
        if (!ops->output_dense_bytes_set[row])
            ops->output_dense_bytes_set[row] =
                resolve(loader, ops->dtype[row], ops->shape[row], &ops->output_dense_bytes[row]);
    } else if (kind == CG_KIND_TENSOR) {
        struct cg_tensors *tensors = &trace->tensor;
        size_t row = tensors->rows - 1;
        if (!tensors->dense_bytes_set[row])
            tensors->dense_bytes_set[row] =
                resolve(loader, tensors->dtype[row], tensors->shape[row], &tensors->dense_bytes[row]);
    }
}

static int take_record(struct loader *loader, enum cg_kind kind, const struct record *record)
{
    if (!sequence_record(&loader->sequence, kind, &loader->decoder, record)) return sequence_fault(loader);
    if (kind == CG_KIND_META)
        return columns_set_run(loader->trace, &loader->decoder, record) ? 0 : no_memory(loader);
    switch (columns_append(loader->trace, &loader->capacity, kind, &loader->decoder, record)) {
    case COLUMNS_NO_MEMORY:
        return no_memory(loader);
    case COLUMNS_TOO_MANY:
        return cg_fail(loader->error, CG_EXIT_INPUT,
                       "%s:%" PRIu64 ": more than 4294967294 records of one kind", loader->name,
                       loader->line);
    case COLUMNS_DONE:
        break;
    }
    if (kind == CG_KIND_OP && record->present >> OP_FIELD_error & 1)
        loader->trace->out_of_memory_count += record->value[OP_FIELD_error].u == CG_OUT_OF_MEMORY;
    resolve_dense_bytes(loader, kind);
    return 0;
}

/* Takes the records of the batch in their order, and begins a new one. */
static int take_batch(struct loader *loader)
{
    uint64_t line = loader->line;
    int status = 0;
    if (!decoder_resolve(&loader->decoder)) return no_memory(loader);
    for (unsigned i = 0; i < loader->waiting_count && status == 0; i++) {
        const struct waiting *waiting = &loader->waiting[i];
        loader->line = waiting->line;
        status = take_record(loader, waiting->kind, &waiting->record);
    }
    loader->waiting_count = 0;
    if (status != 0) return status;
    loader->line = line;
    return decoder_begin(&loader->decoder) ? 0 : no_memory(loader);
}

/* lines */

/* A line that does not begin with a brace: blank, white space before the record, or no record. begin is set
 * to the brace, or to NULL when the line is blank. */
static int unusual_start(struct loader *loader, const char *line, const char **begin)
{
    const char *end = rawmemchr(line, '\n'), *text = line;
    size_t length = (size_t)(end - line);
    utf8_trim(&text, &length);
    *begin = length == 0 ? NULL : text;
    if (length == 0 || *text == '{') return 0;
    int status = take_batch(loader);
    if (status != 0) return status;
    if (!sequence_may_follow(&loader->sequence)) return sequence_fault(loader);
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return syntax_fault(loader, line, text, "byte order mark, expected a JSON object");
    return syntax_fault(loader, line, text, "expected a JSON object");
}

/* The record that begins at begin in this line; *next is set behind the line feed. What defect a line has
 * counts only when the records before it have none. */
static int take_line_record(struct loader *loader, const char *line, const char *begin, const char **next)
{
    struct waiting *waiting = &loader->waiting[loader->waiting_count];
    const char *end;
    int status;
    waiting->line = loader->line;
    waiting->kind = CG_KIND_COUNT;
    if (!decode_record(&loader->decoder, begin, &waiting->kind, &waiting->record, &end)) {
        struct decode_fault fault = loader->decoder.fault;
        const char *name = waiting->kind < CG_KIND_COUNT ? schema_objects[waiting->kind].name : "";
        if ((status = take_batch(loader)) != 0) return status;
        loader->decoder.fault = fault;
        return line_fault(loader, line, name);
    }
    if (*end != '\n') {
        const char *feed = rawmemchr(end, '\n');
        size_t rest = (size_t)(feed - end);
        utf8_trim(&end, &rest);
        if (rest > 0)
            return (status = take_batch(loader)) != 0
                       ? status
                       : syntax_fault(loader, line, end, "text after the record");
        end = feed;
    }
    *next = end + 1;
    loader->waiting_count++;
    /* Alone in their batch: whether a record may follow, and which schema holds, must be known before the
     * next line. */
    if (waiting->kind == CG_KIND_META && !meta_extras_read(loader->trace, begin, (size_t)(*next - begin)))
        return no_memory(loader);
    bool decisive = waiting->kind == CG_KIND_META || waiting->kind == CG_KIND_TERMINAL;
    bool full = loader->waiting_count == BATCH || loader->decoder.allocated >= BATCH_BYTES;
    return full || decisive ? take_batch(loader) : 0;
}

/* One line; *next is set behind its line feed. */
static int take_line(struct loader *loader, const char *line, const char **next)
{
    const char *begin = line;
    int status;
    loader->line++;
    if (__builtin_expect(*line != '{', 0)) {
        if ((status = unusual_start(loader, line, &begin)) != 0) return status;
        if (begin == NULL) {
            *next = (const char *)rawmemchr(line, '\n') + 1;
            return 0;
        }
    }
    if (!sequence_may_follow(&loader->sequence)) return sequence_fault(loader);
    return take_line_record(loader, line, begin, next);
}

static void report_progress(struct loader *loader)
{
    struct timespec now;
    uint64_t done, total;
    if (loader->options.progress == NULL) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t passed = (int64_t)(now.tv_sec - loader->last_progress.tv_sec) * 1000000000 +
                     (now.tv_nsec - loader->last_progress.tv_nsec);
    if (passed < 100000000) return;
    loader->last_progress = now;
    input_position(loader->input, &done, &total);
    loader->options.progress(loader->options.progress_context, done, total);
}

static int read_lines(struct loader *loader)
{
    for (;;) {
        const char *line;
        size_t length;
        int status = input_lines(loader->input, &line, &length, loader->error);
        if (status != 0 || length == 0) return status;
        for (const char *end = line + length; line < end;)
            if ((status = take_line(loader, line, &line)) != 0) return status;
        if ((status = take_batch(loader)) != 0) return status; /* the next block takes their place */
        report_progress(loader);
    }
}

/* The pools pass from the decoder to the trace. */
static void take_pools(struct loader *loader)
{
    loader->trace->u64_pool = loader->decoder.u64_pool;
    loader->trace->str_pool = loader->decoder.str_pool;
    loader->decoder.u64_pool = NULL;
    loader->decoder.str_pool = NULL;
}

static int read_trace(struct loader *loader)
{
    clock_gettime(CLOCK_MONOTONIC, &loader->last_progress);
    if (!decoder_begin(&loader->decoder)) return no_memory(loader);
    int status = read_lines(loader);
    if (status != 0) return status;
    if (!sequence_end(&loader->sequence)) return sequence_fault(loader);
    strings_finish(loader->trace->strings);
    columns_trim(loader->trace, loader->options.extras);
    if (!columns_sort_spans(loader->trace)) return no_memory(loader);
    loader->trace->file_bytes = input_bytes(loader->input);
    return 0;
}

static int load(struct input *input, const char *name, const struct cg_load_options *options,
                struct cg_trace **trace, struct cg_error *error)
{
    struct loader loader = {.name = name, .error = error, .input = input};
    if (options != NULL) loader.options = *options;
    int status = CG_EXIT_IO;
    struct cg_trace *made = calloc(1, sizeof *made);
    if (made != NULL) made->strings = strings_new();
    loader.trace = loader.sequence.trace = made;
    if (made == NULL || made->strings == NULL ||
        !decoder_init(&loader.decoder, made->strings, loader.options.extras, loader.options.portable))
        no_memory(&loader);
    else
        status = read_trace(&loader);
    if (made != NULL) take_pools(&loader);
    decoder_free(&loader.decoder);
    input_close(input);
    if (status != 0) {
        trace_free(made);
        return status;
    }
    *trace = made;
    return 0;
}

int trace_load(const char *path, const struct cg_load_options *options, struct cg_trace **trace,
               struct cg_error *error)
{
    struct input *input = input_open(path, error);
    if (input == NULL) return error->status;
    return load(input, strcmp(path, "-") == 0 ? "standard input" : path, options, trace, error);
}

int trace_load_bytes(const char *name, const void *bytes, size_t length,
                     const struct cg_load_options *options, struct cg_trace **trace, struct cg_error *error)
{
    struct input *input = input_open_bytes(name, bytes, length, error);
    if (input == NULL) return error->status;
    return load(input, name, options, trace, error);
}

int trace_load_descriptor(const char *name, int fd, const struct cg_load_options *options,
                          struct cg_trace **trace, struct cg_error *error)
{
    struct input *input = input_open_descriptor(name, fd, error);
    if (input == NULL) return error->status;
    if (options != NULL && options->tap != NULL) input_tap(input, options->tap, options->tap_context);
    return load(input, name, options, trace, error);
}
