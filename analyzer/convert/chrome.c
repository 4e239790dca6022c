/* Trace Event JSON as Chrome and, with more in it, PyTorch's profiler (kineto) write it: host events become
 * spans, calls of the runtime operations, what ran on devices intervals, the allocator's events storages. */
#include "analyzer/convert/forms.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/convert/elements.h"
#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"
#include "common/json_scan.h"

/* ---- what categories are ---- */

enum what { IS_SPAN, IS_OP_SPAN, IS_CALL, IS_KERNEL, IS_MEMCPY, IS_MEMSET, IS_OTHER };
/* In small letters; older files have them in other cases. What is not here is a span of the host. */
static const struct {
    const char *category;
    enum what what;
} categories[] = {
    {"cpu_op", IS_OP_SPAN},
    {"operator", IS_OP_SPAN},
    {"cuda_runtime", IS_CALL},
    {"cuda_driver", IS_CALL},
    {"runtime", IS_CALL},
    {"xpu_runtime", IS_CALL},
    {"mtia_runtime", IS_CALL},
    {"kernel", IS_KERNEL},
    {"gpu_memcpy", IS_MEMCPY},
    {"memcpy", IS_MEMCPY},
    {"gpu_memset", IS_MEMSET},
    {"memset", IS_MEMSET},
    /* Of devices, and no work of a kind that a trace has; the last is the profiler itself. */
    {"cuda_sync", IS_OTHER},
    {"gpu_user_annotation", IS_OTHER},
    {"cuda_profiler_range", IS_OTHER},
    {"mtia_ccp_events", IS_OTHER},
    {"trace", IS_OTHER},
};

static enum what what_is(struct cg_text category)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strlen(categories[i].category) == category.length &&
            strncasecmp(categories[i].category, category.bytes, category.length) == 0)
            return categories[i].what;
    return IS_SPAN;
}

/* ---- an event ---- */

/* Numbers among an event's arguments: A(member, "key"). */
#define ARGUMENTS(A)                                                                                         \
    A(device, "device")                                                                                      \
    A(stream, "stream")                                                                                      \
    A(correlation, "correlation")                                                                            \
    A(bytes, "bytes")                                                                                        \
    A(shared, "shared memory")                                                                               \
    A(memory_bytes, "Bytes")                                                                                 \
    A(address, "Addr")                                                                                       \
    A(device_type, "Device Type")                                                                            \
    A(device_id, "Device Id")                                                                                \
    A(reserved, "Total Reserved")
struct argument_number {
    bool set, negative;
    uint64_t value;
};
struct event {
    char phase;
    cg_str name, category, process, thread;
    bool has_start, has_duration, fraction;
    int64_t start, duration;
#define ARGUMENT(member, key) struct argument_number member;
    ARGUMENTS(ARGUMENT)
#undef ARGUMENT
    bool has_grid, has_block;
    uint32_t grid[3], block[3];
};

struct importer {
    struct model model;
    struct json_scan scan;
    struct pair_map threads; /* (process, thread) to number */
    struct pair_map samples; /* (device, 0) to its latest sample */
    /* Spans that "B" opened, by thread, the innermost one last. */
    struct open_span {
        uint32_t span, around; /* rows of spans; CG_NONE: none */
    } * open;
    size_t open_count, open_room;
    uint32_t *innermost; /* by thread: place in open + 1 */
    size_t innermost_room;
    cg_str profiler_memory;
    bool fraction;
    bool failed; /* memory is short */
    int64_t base_ns;
};

static cg_str intern(struct importer *importer, const char *bytes, size_t length)
{
    cg_str string = model_string(&importer->model, bytes, length);
    if (string == CG_ABSENT) importer->failed = true;
    return string;
}

/* Behind a string of a text that was checked: only memory can be short, and then nothing more is read. */
static const char *take_string(struct importer *importer, const char *at, struct cg_text *text)
{
    const char *end = json_string(&importer->scan, at, &text->bytes, &text->length);
    if (end) return end;
    importer->failed = true;
    *text = (struct cg_text){NULL, 0};
    return at;
}

/* The text of a string, or of a number as it stands. *at is moved behind it; bytes NULL: another value. */
static struct cg_text take_text(struct importer *importer, const char **at)
{
    struct cg_text text = {NULL, 0};
    const char *end;
    if (**at == '"') {
        *at = take_string(importer, *at, &text);
        return text;
    }
    end = json_skip_value(&importer->scan, *at, 0);
    if (**at == '-' || (**at >= '0' && **at <= '9')) text = (struct cg_text){*at, (size_t)(end - *at)};
    *at = end;
    return text;
}

/* Microseconds in decimals as nanoseconds, exactly; what is below is cut off. */
static bool decimal_ns(struct cg_text text, int64_t *ns, bool *fraction)
{
    size_t at = text.length > 0 && text.bytes[0] == '-', digits = 0;
    bool negative = at > 0;
    uint64_t value = 0;
    int places = -1; /* of the fraction that were taken; -1: it has not begun */
    for (; at < text.length; at++) {
        char c = text.bytes[at];
        if (c == '.' && places < 0) {
            places = 0;
            continue;
        }
        if (c < '0' || c > '9') break;
        digits++;
        if (places == 3) continue;
        places += places >= 0;
        if (value > (uint64_t)MODEL_TIME_LIMIT / 10) return false;
        value = 10 * value + (uint64_t)(c - '0');
    }
    if (digits == 0) return false;
    if (at < text.length) { /* an exponent */
        char copy[64], *end;
        if (text.length >= sizeof copy) return false;
        memcpy(copy, text.bytes, text.length);
        copy[text.length] = '\0';
        double us = strtod(copy, &end);
        if (*end || !(fabs(us) < 4e15)) return false;
        *fraction = true;
        *ns = llround(us * 1000);
        return true;
    }
    if (places > 0) *fraction = true;
    for (places = places < 0 ? 0 : places; places < 3; places++) {
        if (value > (uint64_t)MODEL_TIME_LIMIT / 10) return false;
        value *= 10;
    }
    if (value > (uint64_t)MODEL_TIME_LIMIT) return false;
    *ns = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* A whole number, also in quotes. */
static struct argument_number whole_number(struct cg_text text)
{
    struct argument_number number = {0};
    size_t at = text.length > 0 && text.bytes[0] == '-';
    number.negative = at > 0;
    if (!text.bytes || at == text.length) return number;
    for (; at < text.length; at++) {
        char c = text.bytes[at];
        if (c < '0' || c > '9' || __builtin_mul_overflow(number.value, 10, &number.value) ||
            __builtin_add_overflow(number.value, (uint64_t)(c - '0'), &number.value))
            return (struct argument_number){0};
    }
    number.set = true;
    return number;
}

/* Where a number below 0 stands for none. */
static bool is_count(struct argument_number number)
{
    return number.set && !number.negative;
}

static bool is(struct cg_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

/* Calls take for each member of the object at *at, which then stands behind it. The text was checked. */
static void each_member(struct importer *importer, const char **at,
                        void (*take)(struct importer *importer, struct cg_text key, const char **value,
                                     void *context),
                        void *context)
{
    char name[128];
    *at = json_space(*at + 1);
    while (!importer->failed && **at != '}') {
        struct cg_text key;
        *at = take_string(importer, *at, &key);
        if (importer->failed) return;
        /* The value may be a string of its own, which would take the place of a key with escapes. */
        if (key.length > sizeof name) key.length = sizeof name;
        memcpy(name, key.bytes, key.length);
        key.bytes = name;
        *at = json_space(json_space(*at) + 1);
        take(importer, key, at, context);
        if (importer->failed) return;
        *at = json_space(*at);
        if (**at == ',') *at = json_space(*at + 1);
    }
    ++*at;
}

/* Three whole numbers in a list. */
static bool take_three(struct importer *importer, const char **at, uint32_t three[3])
{
    const char *value = *at;
    size_t count = 0;
    *at = json_skip_value(&importer->scan, value, 0);
    if (*value != '[') return false;
    for (value = json_space(value + 1); *value != ']' && count < 3; count++) {
        struct cg_text text = take_text(importer, &value);
        struct argument_number number = whole_number(text);
        if (!is_count(number) || number.value > UINT32_MAX) return false;
        three[count] = (uint32_t)number.value;
        value = json_space(value);
        if (*value == ',') value = json_space(value + 1);
    }
    return count == 3;
}

static void take_argument(struct importer *importer, struct cg_text key, const char **value, void *context)
{
    struct event *event = context;
#define TAKE_ARGUMENT(member, name)                                                                          \
    if (is(key, name)) {                                                                                     \
        event->member = whole_number(take_text(importer, value));                                            \
        return;                                                                                              \
    }
    ARGUMENTS(TAKE_ARGUMENT)
#undef TAKE_ARGUMENT
    if (is(key, "grid"))
        event->has_grid = take_three(importer, value, event->grid);
    else if (is(key, "block"))
        event->has_block = take_three(importer, value, event->block);
    else
        *value = json_skip_value(&importer->scan, *value, 0);
}

static void take_member(struct importer *importer, struct cg_text key, const char **value, void *context)
{
    struct event *event = context;
    cg_str *word = is(key, "name")  ? &event->name
                   : is(key, "cat") ? &event->category
                   : is(key, "pid") ? &event->process
                   : is(key, "tid") ? &event->thread
                                    : NULL;
    if (is(key, "args") && **value == '{') {
        each_member(importer, value, take_argument, event);
        return;
    }
    bool start = is(key, "ts"), duration = is(key, "dur"), phase = is(key, "ph");
    if (!word && !start && !duration && !phase) {
        *value = json_skip_value(&importer->scan, *value, 0);
        return;
    }
    struct cg_text text = take_text(importer, value);
    if (!text.bytes) return;
    if (word) *word = intern(importer, text.bytes, text.length);
    if (phase && text.length == 1) event->phase = text.bytes[0];
    if (start) event->has_start = decimal_ns(text, &event->start, &event->fraction);
    if (duration) event->has_duration = decimal_ns(text, &event->duration, &event->fraction);
}

/* ---- what becomes of it ---- */

static uint32_t thread_of(struct importer *importer, const struct event *event)
{
    struct model *model = &importer->model;
    bool made;
    cg_str process = event->process ? event->process : intern(importer, "", 0);
    if (process == CG_ABSENT) return 0;
    struct pair_entry *entry = pair_map_insert(&importer->threads, process, event->thread, &made);
    if (!entry) {
        importer->failed = true;
        return 0;
    }
    if (!made) return entry->value;
    if (!array_room(&model->threads, model->thread_count, &model->thread_room, sizeof *model->threads) ||
        !array_room(&importer->innermost, model->thread_count, &importer->innermost_room,
                    sizeof *importer->innermost)) {
        importer->failed = true;
        return 0;
    }
    struct argument_number tid = whole_number(model_text(model, event->thread));
    importer->innermost[model->thread_count] = 0;
    model->threads[model->thread_count] =
        (struct model_thread){process, event->thread, is_count(tid), tid.value};
    return entry->value = (uint32_t)model->thread_count++;
}

static bool begins(struct cg_text text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= length && memcmp(text.bytes, with, length) == 0;
}

static void note_name(struct model *model, cg_str string)
{
    static const char step[] = "ProfilerStep#";
    struct cg_text name = model_text(model, string);
    if (begins(name, "Optimizer.step#") || begins(name, "autograd::engine::evaluate_function"))
        model->training = true;
    if (model->step > 0 || !begins(name, step)) return;
    struct argument_number number =
        whole_number((struct cg_text){name.bytes + sizeof step - 1, name.length - (sizeof step - 1)});
    if (is_count(number) && number.value < UINT64_MAX) model->step = number.value;
}

static enum cg_value_SPAN_KIND kind_of_span(const struct model *model, const struct event *event,
                                            enum what what)
{
    if (what == IS_OP_SPAN) return CG_SPAN_KIND_OP;
    return begins(model_text(model, event->name), "nn.Module:") ? CG_SPAN_KIND_MODULE : CG_SPAN_KIND_FUNCTION;
}

static bool add_host(struct importer *importer, const struct event *event, enum what what)
{
    struct model *model = &importer->model;
    uint32_t thread = thread_of(importer, event);
    int64_t end = event->start + event->duration;
    if (what == IS_CALL)
        return model_add_call(model, (struct model_call){.start = event->start,
                                                         .end = end,
                                                         .api = event->name,
                                                         .thread = thread,
                                                         .stack = CG_NONE,
                                                         .correlated = is_count(event->correlation),
                                                         .correlation = event->correlation.value});
    note_name(model, event->name);
    return model_add_span(model, (struct model_span){event->start, end, event->name, thread,
                                                     (uint8_t)kind_of_span(model, event, what), false});
}

static bool add_device(struct importer *importer, const struct event *event, enum what what)
{
    struct model *model = &importer->model;
    struct argument_number device =
        event->device.set ? event->device : whole_number(model_text(model, event->process));
    struct model_interval interval = {.start = event->start,
                                      .end = event->start + event->duration,
                                      .name = event->name,
                                      .device =
                                          model_device(model, "cuda", is_count(device) ? device.value : 0),
                                      .activity = what == IS_KERNEL   ? MODEL_KERNEL
                                                  : what == IS_MEMCPY ? MODEL_MEMCPY
                                                                      : MODEL_MEMSET,
                                      .correlated = is_count(event->correlation),
                                      .correlation = event->correlation.value,
                                      .has_bytes = is_count(event->bytes),
                                      .bytes = event->bytes.value,
                                      .has_grid = event->has_grid && event->has_block,
                                      .shared = is_count(event->shared) ? event->shared.value : 0};
    memcpy(interval.grid, event->grid, sizeof interval.grid);
    memcpy(interval.block, event->block, sizeof interval.block);
    char stream[32];
    if (event->stream.set) {
        int length = snprintf(stream, sizeof stream, "%s%" PRIu64, event->stream.negative ? "-" : "",
                              event->stream.value);
        interval.stream = model_string(model, stream, (size_t)length);
    } else {
        interval.stream = event->thread ? event->thread : model_string(model, "0", 1);
    }
    return interval.device != CG_ABSENT && interval.stream != CG_ABSENT &&
           model_add_interval(model, interval);
}

/* An event of the framework's allocator: bytes more, or less. */
static bool add_memory(struct importer *importer, const struct event *event)
{
    enum { ON_CPU = 0 };
    struct model *model = &importer->model;
    const struct argument_number *bytes = &event->memory_bytes;
    bool cpu = event->device_type.set && event->device_type.value == ON_CPU;
    if (!is_count(event->address) || !bytes->set || bytes->value == 0) {
        model->report->losses.without_address++;
        return true;
    }
    cg_str device =
        cpu ? model_string(model, "cpu", 3)
            : model_device(model, "cuda", is_count(event->device_id) ? event->device_id.value : 0);
    struct model_storage storage = {.time = event->start,
                                    .address = event->address.value,
                                    .bytes = bytes->value,
                                    .device = device,
                                    .thread = thread_of(importer, event),
                                    .stack = CG_NONE,
                                    .alloc = !bytes->negative};
    struct model_sample sample = {
        .time = event->start, .device = device, .has_reserved = true, .reserved = event->reserved.value};
    if (device == CG_ABSENT || !model_add_storage(model, storage)) return false;
    if (cpu || !is_count(event->reserved)) return true;
    /* A sample where it changes. */
    bool made;
    struct pair_entry *latest = pair_map_insert(&importer->samples, device, 0, &made);
    if (!latest) return false;
    if (!made && model->samples[latest->value].reserved == sample.reserved) return true;
    latest->value = (uint32_t)model->sample_count;
    return model_add_sample(model, sample);
}

static bool open_span(struct importer *importer, const struct event *event)
{
    struct model *model = &importer->model;
    uint32_t thread = thread_of(importer, event);
    if (importer->failed ||
        !array_room(&importer->open, importer->open_count, &importer->open_room, sizeof *importer->open))
        return false;
    note_name(model, event->name);
    importer->open[importer->open_count] =
        (struct open_span){(uint32_t)model->span_count, importer->innermost[thread]};
    importer->innermost[thread] = (uint32_t)++importer->open_count;
    return model_add_span(model, (struct model_span){event->start, event->start, event->name, thread,
                                                     CG_SPAN_KIND_FUNCTION, true});
}

static void close_span(struct importer *importer, const struct event *event)
{
    struct model *model = &importer->model;
    uint32_t thread = thread_of(importer, event), place = importer->failed ? 0 : importer->innermost[thread];
    if (place == 0 || model->spans[importer->open[place - 1].span].start > event->start) {
        model->report->losses.unmatched_ends++;
        return;
    }
    struct model_span *span = &model->spans[importer->open[place - 1].span];
    span->end = event->start;
    span->open = false;
    importer->innermost[thread] = importer->open[place - 1].around;
}

/* False when memory is short. */
static bool take(struct importer *importer, struct event *event)
{
    struct convert_losses *losses = &importer->model.report->losses;
    enum what what = what_is(model_text(&importer->model, event->category));
    bool instant = event->phase == 'i' || event->phase == 'I', whole = event->phase == 'X';
    bool memory = instant && event->name == importer->profiler_memory;
    bool nested = event->phase == 'B' || event->phase == 'E';
    if ((!whole && !nested && !instant) || what == IS_OTHER) {
        losses->other_events++;
        return true;
    }
    if (instant || nested) event->duration = 0;
    /* The end of a span needs no name. */
    if (!event->has_start || (event->name == CG_ABSENT && event->phase != 'E') ||
        (whole && (!event->has_duration || event->duration < 0)) ||
        event->start > MODEL_TIME_LIMIT - event->duration) {
        losses->malformed++;
        return true;
    }
    importer->fraction |= event->fraction;
    if (memory) return add_memory(importer, event);
    if (event->phase == 'B') return open_span(importer, event);
    if (event->phase == 'E') {
        close_span(importer, event);
        return true;
    }
    bool device = what == IS_KERNEL || what == IS_MEMCPY || what == IS_MEMSET;
    return device ? add_device(importer, event, what) : add_host(importer, event, what);
}

/* ---- members of the file beside its events ---- */

static void take_rank(struct importer *importer, struct cg_text key, const char **value, void *context)
{
    (void)context;
    bool rank = is(key, "rank");
    struct argument_number number = whole_number(take_text(importer, value));
    if (!rank || !is_count(number)) return;
    importer->model.rank_known = true;
    importer->model.rank = number.value;
}

struct device_words {
    struct argument_number id, bytes;
    cg_str name;
};

static void take_device_word(struct importer *importer, struct cg_text key, const char **value, void *context)
{
    struct device_words *device = context;
    struct cg_text text = take_text(importer, value);
    if (is(key, "id")) device->id = whole_number(text);
    if (is(key, "totalGlobalMem")) device->bytes = whole_number(text);
    if (is(key, "name") && text.bytes) device->name = intern(importer, text.bytes, text.length);
}

static void take_devices(struct importer *importer, const char *at)
{
    struct model *model = &importer->model;
    for (at = json_space(at + 1); !importer->failed && *at != ']';) {
        struct device_words device = {0};
        if (*at == '{')
            each_member(importer, &at, take_device_word, &device);
        else
            at = json_skip_value(&importer->scan, at, 0);
        if (is_count(device.id) && device.id.value < 1024 && device.name != CG_ABSENT &&
            model->device_count < sizeof model->devices / sizeof *model->devices) {
            model->devices[model->device_count].number = (uint32_t)device.id.value;
            model->devices[model->device_count].bytes = device.bytes.value;
            model->devices[model->device_count++].name = device.name;
        }
        at = json_space(at);
        if (*at == ',') at = json_space(at + 1);
    }
}

static void take_file_member(struct importer *importer, const char *key, const char *text)
{
    if (strcmp(key, "schemaVersion") == 0) importer->model.tool = "kineto";
    if (strcmp(key, "distributedInfo") == 0 && *text == '{') each_member(importer, &text, take_rank, NULL);
    if (strcmp(key, "deviceProperties") == 0 && *text == '[') take_devices(importer, text);
    if (strcmp(key, "baseTimeNanoseconds") == 0) {
        struct argument_number base = whole_number(take_text(importer, &text));
        if (is_count(base) && base.value < (uint64_t)MODEL_TIME_LIMIT)
            importer->base_ns = (int64_t)base.value;
    }
}

static int visit(void *context, const char *key, const char *text, size_t length, struct cg_error *error)
{
    struct importer *importer = context;
    struct event event = {0};
    (void)length;
    if (key) {
        take_file_member(importer, key, text);
        return importer->failed ? cg_out_of_memory(error) : 0;
    }
    importer->model.report->events++;
    if (*text != '{') {
        importer->model.report->losses.malformed++;
        return 0;
    }
    each_member(importer, &text, take_member, &event);
    bool ok = !importer->failed && take(importer, &event) && !importer->failed;
    return ok ? 0 : cg_out_of_memory(error);
}

int convert_chrome(const char *name, struct input *input, json_sink *sink, void *context,
                   struct convert_report *report, struct cg_error *error)
{
    static const char memory[] = "[memory]";
    /* Times of the Unix epoch, in microseconds, are later than this, September 2001. */
    const int64_t epoch = INT64_C(1000000000) * 1000000000;
    struct importer importer = {0};
    if (!model_init(&importer.model, report)) return cg_out_of_memory(error);
    struct model *model = &importer.model;
    model->file = name;
    model->tool = "chrome";
    importer.profiler_memory = intern(&importer, memory, sizeof memory - 1);
    struct elements elements = {.name = name, .list = "traceEvents", .visit = visit, .context = &importer};
    int status = elements_read(&elements, input, error);
    if (status == 0 && !elements.found)
        status = cg_fail(error, CG_EXIT_INPUT, "%s: JSON, but no trace: it has no traceEvents", name);
    report->cut = elements.cut;
    model->resolution_ns = importer.fraction ? 1 : 1000;
    if (importer.base_ns > 0)
        model->epoch_ns = importer.base_ns;
    else if (model->span_count > 0 && model->spans[0].start > epoch)
        model->epoch_ns = 0;
    if (status == 0) status = model_write(model, sink, context, error);
    json_scan_free(&importer.scan);
    pair_map_free(&importer.threads);
    pair_map_free(&importer.samples);
    free(importer.open);
    free(importer.innermost);
    model_free(model);
    return status;
}
