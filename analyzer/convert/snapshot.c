/* Memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot): the history of each device's allocator
 * becomes storages with their stacks, samples of what was reserved, and failed allocations. */
#include "analyzer/convert/forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/convert/pickle.h"
#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"

struct importer {
    struct model model;
    struct pickle pickle;
    const char *name;
    size_t length; /* of the file: more records than bytes are a trick with references */
    size_t visited;
    int64_t latest;     /* time that an event had */
    uint32_t *stack_of; /* by value: number of the stack that a list of frames is, + 1 */
    struct cg_error *error;
};

/* One device while its history is read. */
struct device {
    cg_str name;
    struct pair_map live; /* (name, address) */
    int64_t reserved;     /* at the history's beginning, then as it goes */
    int64_t time;         /* of the last event */
};

/* What an event says happened. */
enum action { TAKES, GIVES, GROWS, SHRINKS, FAILS, NOTHING };
static const struct {
    const char *word;
    enum action action;
} actions[] = {
    {"alloc", TAKES},
    {"free_completed", GIVES},
    {"free", GIVES},
    {"free_requested", NOTHING}, /* the completion of it counts */
    {"segment_alloc", GROWS},
    {"segment_map", GROWS},
    {"segment_free", SHRINKS},
    {"segment_unmap", SHRINKS},
    {"oom", FAILS},
};

/* ---- values ---- */

static const struct pickle_value *value_at(const struct importer *importer, uint32_t value)
{
    static const struct pickle_value none = {.type = PICKLE_NONE};
    return value == CG_NONE ? &none : &importer->pickle.values[value];
}

static uint64_t number_of(const struct importer *importer, uint32_t dict, const char *key, bool *known)
{
    const struct pickle_value *value = value_at(importer, pickle_member(&importer->pickle, dict, key));
    bool is = value->type == PICKLE_INT && !value->negative;
    if (known) *known = is;
    return is ? value->number : 0;
}

static struct cg_text text_of(const struct importer *importer, uint32_t dict, const char *key)
{
    const struct pickle_value *value = value_at(importer, pickle_member(&importer->pickle, dict, key));
    return value->type == PICKLE_TEXT ? value->text : (struct cg_text){"", 0};
}

/* The items of a list that is a member; none where it is not there. */
static const struct pickle_value *list_of(const struct importer *importer, uint32_t dict, const char *key)
{
    static const struct pickle_value empty = {.type = PICKLE_LIST};
    const struct pickle_value *value = value_at(importer, pickle_member(&importer->pickle, dict, key));
    return value->type == PICKLE_LIST ? value : &empty;
}

/* So many records are about to be looked at. */
static int visit(struct importer *importer, uint64_t count)
{
    if (count > importer->length - importer->visited)
        return cg_fail(importer->error, CG_EXIT_INPUT,
                       "%s: more records than bytes: they are references to one another", importer->name);
    importer->visited += (size_t)count;
    return 0;
}

/* ---- stacks ---- */

/* *stack: its number; CG_NONE without frames. */
static int take_stack(struct importer *importer, uint32_t event, uint32_t *stack)
{
    struct model *model = &importer->model;
    uint32_t list = pickle_member(&importer->pickle, event, "frames");
    const struct pickle_value *frames = value_at(importer, list);
    *stack = CG_NONE;
    if (frames->type != PICKLE_LIST || frames->count == 0) return 0;
    if (importer->stack_of[list]) {
        *stack = importer->stack_of[list] - 1;
        return 0;
    }
    if (!array_room(&model->stacks, model->stack_count, &model->stack_room, sizeof *model->stacks))
        return cg_out_of_memory(importer->error);
    struct cg_list made = {(uint32_t)model->frame_count, 0};
    for (uint32_t i = 0; i < frames->count && i < CG_FRAMES_MAX; i++) {
        int status = visit(importer, 1);
        if (status != 0) return status;
        struct cg_text file = text_of(importer, frames->items[i], "filename"),
                       function = text_of(importer, frames->items[i], "name");
        struct model_frame frame = {model_string(model, file.bytes, file.length),
                                    model_string(model, function.bytes, function.length),
                                    number_of(importer, frames->items[i], "line", NULL)};
        if (frame.file == CG_ABSENT || frame.function == CG_ABSENT ||
            !array_room(&model->frames, model->frame_count, &model->frame_room, sizeof *model->frames))
            return cg_out_of_memory(importer->error);
        model->frames[model->frame_count++] = frame;
        made.count++;
    }
    model->stacks[model->stack_count] = made;
    *stack = (uint32_t)model->stack_count++;
    importer->stack_of[list] = *stack + 1;
    return 0;
}

/* ---- events ---- */

static struct pair_entry *storage_entry(struct importer *importer, struct device *device, uint64_t address,
                                        bool *made)
{
    char text[32];
    int length = snprintf(text, sizeof text, "0x%" PRIx64, address);
    cg_str id = model_string(&importer->model, text, (size_t)length);
    return id == CG_ABSENT ? NULL : pair_map_insert(&device->live, device->name, id, made);
}

static int add_storage(struct importer *importer, const struct device *device, uint64_t address,
                       uint64_t bytes, uint32_t stack, bool alloc, bool preexisting)
{
    return model_add_storage(&importer->model, (struct model_storage){.time = device->time,
                                                                      .address = address,
                                                                      .bytes = bytes,
                                                                      .device = device->name,
                                                                      .stack = stack,
                                                                      .alloc = alloc,
                                                                      .preexisting = preexisting})
               ? 0
               : cg_out_of_memory(importer->error);
}

static int take_alloc(struct importer *importer, struct device *device, uint32_t event)
{
    uint32_t stack;
    uint64_t address = number_of(importer, event, "addr", NULL);
    int status = take_stack(importer, event, &stack);
    if (status != 0) return status;
    if (!storage_entry(importer, device, address, NULL)) return cg_out_of_memory(importer->error);
    return add_storage(importer, device, address, number_of(importer, event, "size", NULL), stack, true,
                       false);
}

/* What is freed and was not allocated in the history was there before. */
static int take_free(struct importer *importer, struct device *device, uint32_t event)
{
    bool made;
    int status = 0;
    uint64_t address = number_of(importer, event, "addr", NULL),
             bytes = number_of(importer, event, "size", NULL);
    struct pair_entry *entry = storage_entry(importer, device, address, &made);
    if (!entry) return cg_out_of_memory(importer->error);
    pair_map_remove(&device->live, entry);
    if (made) status = add_storage(importer, device, address, bytes, CG_NONE, true, true);
    return status != 0 ? status : add_storage(importer, device, address, bytes, CG_NONE, false, false);
}

static int take_sample(struct importer *importer, const struct device *device, bool has_free, uint64_t unused)
{
    return model_add_sample(
               &importer->model,
               (struct model_sample){.time = device->time,
                                     .device = device->name,
                                     .has_reserved = true,
                                     .reserved = device->reserved < 0 ? 0 : (uint64_t)device->reserved,
                                     .has_free = has_free,
                                     .free = unused})
               ? 0
               : cg_out_of_memory(importer->error);
}

static int take_failure(struct importer *importer, const struct device *device, uint32_t event)
{
    static const char api[] = "malloc";
    bool has_free;
    struct model *model = &importer->model;
    uint64_t unused = number_of(importer, event, "device_free", &has_free);
    struct model_call call = {.start = device->time,
                              .end = device->time,
                              .requested = number_of(importer, event, "size", NULL),
                              .api = model_string(model, api, sizeof api - 1),
                              .device = device->name,
                              .error = CG_OUT_OF_MEMORY};
    int status = take_stack(importer, event, &call.stack);
    if (status != 0) return status;
    if (call.api == CG_ABSENT || !model_add_call(model, call)) return cg_out_of_memory(importer->error);
    return take_sample(importer, device, has_free, unused);
}

static int64_t clamp_size(uint64_t bytes)
{
    const int64_t limit = INT64_C(1) << 56;
    return bytes > (uint64_t)limit ? limit : (int64_t)bytes;
}

static enum action action_of(const struct importer *importer, uint32_t event, bool *known)
{
    struct cg_text word = text_of(importer, event, "action");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        *known =
            word.length == strlen(actions[i].word) && memcmp(word.bytes, actions[i].word, word.length) == 0;
        if (*known) return actions[i].action;
    }
    return NOTHING;
}

static void take_time(struct importer *importer, struct device *device, uint32_t event)
{
    bool known;
    uint64_t us = number_of(importer, event, "time_us", &known);
    if (known && us <= (uint64_t)MODEL_TIME_LIMIT / 1000) {
        importer->latest = device->time = (int64_t)us * 1000;
    } else {
        device->time += 1000;
        importer->model.report->losses.times_made_up++;
    }
}

static int take_event(struct importer *importer, struct device *device, uint32_t event)
{
    bool known;
    struct convert_report *report = importer->model.report;
    enum action action = action_of(importer, event, &known);
    int64_t size = clamp_size(number_of(importer, event, "size", NULL));
    report->events++;
    report->losses.other_events += !known;
    if (action == NOTHING) return 0;
    take_time(importer, device, event);
    switch (action) {
    case TAKES:
        return take_alloc(importer, device, event);
    case GIVES:
        return take_free(importer, device, event);
    case GROWS:
    case SHRINKS:
        device->reserved += action == GROWS ? size : -size;
        return take_sample(importer, device, false, 0);
    case FAILS:
        return take_failure(importer, device, event);
    case NOTHING:
        break;
    }
    return 0;
}

/* ---- what there is at the end ---- */

/* Blocks in use that the history has no allocation of were there before it began. */
static int take_blocks(struct importer *importer, struct device *device, uint32_t segment)
{
    static const char in_use[] = "active_allocated";
    const struct pickle_value *blocks = list_of(importer, segment, "blocks");
    uint64_t next = number_of(importer, segment, "address", NULL);
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < blocks->count; i++) {
        uint32_t block = blocks->items[i], stack;
        bool has_address, has_request, made = false;
        uint64_t size = number_of(importer, block, "size", NULL),
                 address = number_of(importer, block, "address", &has_address),
                 request = number_of(importer, block, "requested_size", &has_request);
        struct cg_text state = text_of(importer, block, "state");
        if (!has_address) address = next;
        next = address + size;
        status = visit(importer, 1);
        if (status != 0 || state.length != sizeof in_use - 1 ||
            memcmp(state.bytes, in_use, state.length) != 0)
            continue;
        if (!storage_entry(importer, device, address, &made)) return cg_out_of_memory(importer->error);
        if (!made) continue;
        status = take_stack(importer, block, &stack);
        if (status == 0)
            status = add_storage(importer, device, address, has_request ? request : size, stack, true, true);
    }
    return status;
}

/* Segments of one device; only: those reserved bytes that they say there are at the end. */
static int take_segments(struct importer *importer, struct device *device, uint64_t number, bool only)
{
    const struct pickle_value *segments = list_of(importer, importer->pickle.root, "segments");
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < segments->count; i++) {
        if (number_of(importer, segments->items[i], "device", NULL) != number) continue;
        status = visit(importer, 1);
        if (only)
            device->reserved += clamp_size(number_of(importer, segments->items[i], "total_size", NULL));
        else if (status == 0)
            status = take_blocks(importer, device, segments->items[i]);
    }
    return status;
}

/* ---- a device ---- */

/* What was reserved before the first event: what is at the end less what came in between. */
static void wind_back(const struct importer *importer, struct device *device,
                      const struct pickle_value *history)
{
    for (uint32_t i = 0; i < history->count; i++) {
        bool known;
        enum action action = action_of(importer, history->items[i], &known);
        int64_t size = clamp_size(number_of(importer, history->items[i], "size", NULL));
        if (action == GROWS) device->reserved -= size;
        if (action == SHRINKS) device->reserved += size;
    }
}

static int take_device(struct importer *importer, uint64_t number, const struct pickle_value *history)
{
    struct device device = {.name = model_device(&importer->model, "cuda", number)};
    if (device.name == CG_ABSENT) return cg_out_of_memory(importer->error);
    int status = take_segments(importer, &device, number, true);
    if (status == 0) status = visit(importer, history->count);
    if (status == 0) wind_back(importer, &device, history);
    for (uint32_t i = 0; status == 0 && i < history->count; i++)
        status = take_event(importer, &device, history->items[i]);
    if (status == 0) status = take_segments(importer, &device, number, false);
    pair_map_free(&device.live);
    return status;
}

/* Each device has a history, which may be empty; only those of which something is told become devices. */
static int take_devices(struct importer *importer)
{
    enum { DEVICES = 1024 };
    const struct pickle_value *histories = list_of(importer, importer->pickle.root, "device_traces");
    const struct pickle_value *segments = list_of(importer, importer->pickle.root, "segments");
    static const struct pickle_value none = {.type = PICKLE_LIST};
    uint64_t count = histories->count;
    for (uint32_t i = 0; i < segments->count; i++) {
        uint64_t device = number_of(importer, segments->items[i], "device", NULL);
        if (device >= count) count = device + 1;
    }
    if (count > DEVICES)
        return cg_fail(importer->error, CG_EXIT_INPUT, "%s: more than %d devices", importer->name, DEVICES);
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < count; i++) {
        const struct pickle_value *history =
            i < histories->count ? value_at(importer, histories->items[i]) : &none;
        status = take_device(importer, i, history->type == PICKLE_LIST ? history : &none);
    }
    return status;
}

static int take_snapshot(struct importer *importer)
{
    const struct pickle *pickle = &importer->pickle;
    if (pickle_member(pickle, pickle->root, "segments") == CG_NONE &&
        pickle_member(pickle, pickle->root, "device_traces") == CG_NONE)
        return cg_fail(importer->error, CG_EXIT_INPUT,
                       "%s: a pickle, but no memory snapshot: it has neither segments nor device_traces",
                       importer->name);
    importer->stack_of = array_zeroed(pickle->count, sizeof *importer->stack_of);
    return importer->stack_of ? take_devices(importer) : cg_out_of_memory(importer->error);
}

/* The whole file. */
static int read_whole(struct input *input, char **bytes, size_t *length, struct cg_error *error)
{
    size_t room = 0, got = 1;
    int status = 0;
    *bytes = NULL;
    *length = 0;
    while (status == 0 && got > 0) {
        if (room - *length < 64 << 10) {
            room = 2 * room + (256 << 10);
            char *moved = realloc(*bytes, room);
            if (!moved) return cg_out_of_memory(error);
            *bytes = moved;
        }
        status = input_read(input, *bytes + *length, room - *length, &got, error);
        *length += status == 0 ? got : 0;
    }
    return status;
}

int convert_snapshot(const char *name, struct input *input, json_sink *sink, void *context,
                     struct convert_report *report, struct cg_error *error)
{
    char *bytes;
    struct importer importer = {.name = name, .error = error};
    int status = model_init(&importer.model, report) ? 0 : cg_out_of_memory(error);
    if (status != 0) return status;
    status = read_whole(input, &bytes, &importer.length, error);
    if (status == 0) status = pickle_read(name, bytes, importer.length, &importer.pickle, error);
    if (status == 0) status = take_snapshot(&importer);
    if (status == 0) {
        struct model *model = &importer.model;
        const int64_t epoch = INT64_C(1000000000) * 1000000000;
        model->file = name;
        model->tool = "pytorch";
        model->resolution_ns = 1000;
        if (importer.latest > epoch) model->epoch_ns = 0;
        status = model_write(model, sink, context, error);
    }
    pickle_free(&importer.pickle);
    free(importer.stack_of);
    free(bytes);
    model_free(&importer.model);
    return status;
}
