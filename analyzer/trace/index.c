#include "analyzer/trace/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/trace/columns_table.h"
#include "analyzer/trace/devices.h"
#include "analyzer/trace/index_check.h"
#include "analyzer/trace/index_identity.h"
#include "analyzer/trace/index_walk.h"
#include "analyzer/trace/origin.h"
#include "analyzer/trace/stacks.h"
#include "analyzer/trace/strings.h"
#include "common/utf8.h"

bool index_arrays_add(struct index_arrays *arrays, const char *name, const void *bytes, uint64_t length)
{
    if (arrays->count == arrays->capacity) {
        size_t larger = arrays->capacity ? arrays->capacity * 2 : 256;
        struct index_array *items = reallocarray(arrays->items, larger, sizeof *items);
        if (!items) return false;
        arrays->items = items;
        arrays->capacity = larger;
    }
    struct index_array *item = &arrays->items[arrays->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->bytes = bytes;
    item->length = length;
    return true;
}

void index_arrays_free(struct index_arrays *arrays)
{
    free(arrays->items);
    *arrays = (struct index_arrays){0};
}

/* ---- writing ---- */

static bool add_slot(void *arrays, const struct index_slot *slot)
{
    const void *bytes;

    memcpy(&bytes, slot->at, sizeof bytes);
    return index_arrays_add(arrays, slot->name, bytes, (uint64_t)slot->count * slot->element);
}

/* Pointers mean nothing in a file. */
static bool forget_slot(void *context, const struct index_slot *slot)
{
    static const void *const nothing = NULL;

    (void)context;
    memcpy(slot->at, &nothing, sizeof nothing);
    return true;
}

static bool add_struct(struct index_arrays *arrays, const char *name, const void *object, size_t size)
{
    return index_arrays_add(arrays, name, object, object ? size : 0);
}

static size_t clocks_size(const struct cg_device_clocks *clocks)
{
    return clocks ? sizeof *clocks + clocks->count * sizeof *clocks->items : 0;
}

bool trace_index_add(const struct cg_trace *trace, struct trace_index_copy *copy, struct index_arrays *arrays)
{
    struct cg_trace *mutable =
        (struct cg_trace *)(uintptr_t)trace; /* the walk may write, add_slot() does not */

    /* Their padding is zero, since calloc() made them and they are filled in member by member: with memcpy()
     * it stays so, as it need not with an assignment. */
    memcpy(&copy->trace, trace, sizeof copy->trace);
    copy->strings = malloc(sizeof *copy->strings);
    copy->stacks = trace->stacks ? malloc(sizeof *copy->stacks) : NULL;
    if (!copy->strings || (trace->stacks && !copy->stacks)) return false;
    memcpy(copy->strings, trace->strings, sizeof *copy->strings);
    if (copy->stacks) {
        memcpy(copy->stacks, trace->stacks, sizeof *copy->stacks);
        copy->stacks->frame_slots = NULL; /* for reading a trace only */
    }
    copy->trace.strings = copy->strings;
    copy->trace.stacks = copy->stacks;
    index_walk(&copy->trace, forget_slot, NULL);
    copy->trace.strings = NULL;
    copy->trace.stacks = NULL;
    copy->trace.devices = NULL;
    copy->trace.clocks = NULL;
    copy->trace.origin = NULL;
    copy->trace.index = NULL;
    copy->trace.threads = 0; /* of the reading, not of the trace */
    return add_struct(arrays, "trace", &copy->trace, sizeof copy->trace) &&
           add_struct(arrays, "strings", copy->strings, sizeof *copy->strings) &&
           add_struct(arrays, "stacks", copy->stacks, sizeof *copy->stacks) &&
           add_struct(arrays, "devices", trace->devices, sizeof *trace->devices) &&
           add_struct(arrays, "clocks", trace->clocks, clocks_size(trace->clocks)) &&
           add_struct(arrays, "origin", trace->origin, sizeof *trace->origin) &&
           index_walk(mutable, add_slot, arrays);
}

void trace_index_copy_free(struct trace_index_copy *copy)
{
    free(copy->strings);
    free(copy->stacks);
    *copy = (struct trace_index_copy){0};
}

/* ---- reading ---- */

struct reading {
    struct index_file *file;
    struct cg_trace *trace;
    bool extras;
    char *why;
};

static bool refuse(struct reading *reading, const char *name)
{
    snprintf(reading->why, INDEX_WHY, "its array %s is missing or damaged", name);
    return false;
}

static bool check_values(const struct reading *reading, const struct index_slot *slot, const void *array)
{
    const struct cg_trace *trace = reading->trace;
    uint32_t strings = trace->strings->count, stacks = trace->stacks ? (uint32_t)trace->stacks->count : 0;
    size_t count = slot->count;

    if (count > 1 && index_file_zeros(reading->file, array)) count = 1;
    switch (slot->check) {
    case INDEX_ANY:
        return true;
    case INDEX_STRING:
        return index_check_numbers(array, count, 0, 0, strings);
    case INDEX_REQUIRED_STRING:
        return index_check_numbers(array, count, 0, 1, strings);
    case INDEX_BYTE:
        return index_check_bytes(array, count, slot->most);
    case INDEX_U64_LIST:
        return index_check_lists(array, count, trace->u64_count);
    case INDEX_STR_LIST:
        return index_check_lists(array, count, trace->str_count);
    case INDEX_STACK:
        return index_check_numbers(array, count, 1, 0, stacks);
    case INDEX_SPAN:
        return index_check_numbers(array, count, 1, 0, (uint32_t)trace->span.rows);
    case INDEX_FRAME:
        return index_check_numbers(array, count, 1, 1,
                                   trace->stacks ? (uint32_t)trace->stacks->frame_count : 0);
    }
    return false;
}

static bool take_slot(void *context, const struct index_slot *slot)
{
    struct reading *reading = context;
    const void *array = NULL;

    if (slot->extra && !reading->extras) return forget_slot(NULL, slot);
    if (slot->count <= SIZE_MAX / 2 / slot->element)
        array = index_file_array(reading->file, slot->name, (uint64_t)slot->count * slot->element);
    if (!array || !check_values(reading, slot, array)) return refuse(reading, slot->name);
    memcpy(slot->at, &array, sizeof array);
    return true;
}

/* A copy of a struct; *object is NULL where there is none. False when it is damaged or memory is short. */
static bool read_struct(struct reading *reading, const char *name, size_t size, void *object_address)
{
    uint64_t length;
    void *object = NULL;
    bool there = index_file_length(reading->file, name, &length);
    const void *bytes =
        there && (length == 0 || length == size) ? index_file_array(reading->file, name, length) : NULL;

    if (bytes && length > 0 && (object = calloc(1, size)) != NULL) memcpy(object, bytes, size);
    memcpy(object_address, &object, sizeof object);
    return (bytes && (length == 0 || object)) || refuse(reading, name);
}

static bool ended(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    return length < size && utf8_valid_length(text, length) == length;
}

static bool read_devices(struct reading *reading)
{
    struct cg_trace *trace = reading->trace;

    if (!read_struct(reading, "devices", sizeof *trace->devices, &trace->devices)) return false;
    if (!trace->devices) return true;
    if (trace->devices->count > sizeof trace->devices->items / sizeof *trace->devices->items)
        return refuse(reading, "devices");
    for (size_t i = 0; i < trace->devices->count; i++)
        if (!ended(trace->devices->items[i].device, sizeof trace->devices->items[i].device) ||
            !ended(trace->devices->items[i].name, sizeof trace->devices->items[i].name))
            return refuse(reading, "devices");
    return true;
}

static bool read_clocks(struct reading *reading)
{
    struct cg_trace *trace = reading->trace;
    uint64_t length;

    if (!index_file_length(reading->file, "clocks", &length) ||
        length > sizeof *trace->clocks + CG_DEVICE_CLOCKS_MAX * sizeof *trace->clocks->items ||
        !read_struct(reading, "clocks", (size_t)length, &trace->clocks))
        return refuse(reading, "clocks");
    if (!trace->clocks) return true;
    if (length < sizeof *trace->clocks || trace->clocks->count > CG_DEVICE_CLOCKS_MAX ||
        length != clocks_size(trace->clocks))
        return refuse(reading, "clocks");
    for (size_t i = 0; i < trace->clocks->count; i++) {
        const struct cg_device_clock *clock = &trace->clocks->items[i];
        if (!ended(clock->clock_id, sizeof clock->clock_id) || clock->count < 1 || clock->count > 2 ||
            (clock->count == 2 && (clock->anchors[1].device_ns <= clock->anchors[0].device_ns ||
                                   clock->anchors[1].host_ns <= clock->anchors[0].host_ns)))
            return refuse(reading, "clocks");
    }
    return true;
}

static bool good_anchor(const struct cg_host_anchor *anchor)
{
    return anchor->trace_ns <= CG_CLOCK_LIMIT && anchor->spread_ns <= CG_CLOCK_LIMIT &&
           anchor->monotonic_ns >= 0 && anchor->monotonic_ns <= CG_CLOCK_LIMIT && anchor->realtime_ns >= 0 &&
           anchor->realtime_ns <= CG_CLOCK_LIMIT;
}

static bool read_origin(struct reading *reading)
{
    struct cg_trace *trace = reading->trace;

    if (!read_struct(reading, "origin", sizeof *trace->origin, &trace->origin)) return false;
    const struct cg_origin *origin = trace->origin;
    return !origin ||
           (ended(origin->host, sizeof origin->host) && index_flag(&origin->pid_known) &&
            index_flag(&origin->rank_known) && index_flag(&origin->clock_known) && origin->pid >= 0 &&
            origin->rank >= 0 && good_anchor(&origin->first) && good_anchor(&origin->last)) ||
           refuse(reading, "origin");
}

/* A text begins at a character, and every character is whole. */
static bool check_texts(const struct cg_strings *strings)
{
    size_t used = strings->used;
    uint8_t wrong = 0;

    if (utf8_valid_length(strings->bytes, used) != used) return false;
    for (uint32_t i = 0; i < strings->count; i++) {
        uint64_t at = strings->offset[i];
        wrong |= at < used && ((unsigned char)strings->bytes[at] & 0xC0) == 0x80;
    }
    return !wrong;
}

/* The search in a table ends at a free place, of which there must be one. */
static bool check_table(const struct cg_strings *strings)
{
    size_t slots = strings->slot_mask + 1, taken = 0;

    for (size_t i = 0; i < slots; i++)
        taken += strings->numbers[i] != CG_ABSENT;
    return taken == strings->count && index_check_numbers(strings->numbers, slots, 0, 0, strings->count);
}

static bool read_strings(struct reading *reading)
{
    struct cg_trace *trace = reading->trace;
    struct cg_strings *strings;

    if (!read_struct(reading, "strings", sizeof *strings, &trace->strings) || !trace->strings)
        return refuse(reading, "strings");
    strings = trace->strings;
    strings->borrowed = strings->finished = true;
    strings->capacity = strings->count;
    strings->size = strings->used;
    if (strings->count >= UINT32_MAX - 1 || strings->slot_mask > UINT32_MAX ||
        strings->slot_mask <= strings->count || (strings->slot_mask & (strings->slot_mask + 1)) != 0)
        return refuse(reading, "strings");
    if (!index_walk_strings(strings, take_slot, reading)) return false;
    if (!index_check_offsets(strings->offset, (size_t)strings->count + 1, strings->used))
        return refuse(reading, "strings.offset");
    return (check_table(strings) || refuse(reading, "strings.numbers")) &&
           (check_texts(strings) || refuse(reading, "strings.bytes"));
}

static bool check_stacks(const struct cg_stacks *stacks, uint32_t strings)
{
    bool good = true;

    for (size_t i = 0; i < stacks->count; i++) {
        const struct stack *stack = &stacks->stacks[i];
        good = good && stack->id - 1 < strings && index_flag(&stack->truncated) &&
               index_check_lists(&stack->frames, 1, stacks->pool_count);
    }
    for (size_t i = 0; i < stacks->frame_count; i++) {
        const struct cg_frame *frame = &stacks->frames[i];
        good = good && frame->module <= strings && frame->build_id <= strings && frame->symbol <= strings &&
               (uint64_t)frame->source_first + frame->source_count <= stacks->source_count;
    }
    for (size_t i = 0; i < stacks->source_count; i++) {
        const struct cg_source *source = &stacks->sources[i];
        good =
            good && source->function - 1 < strings && source->mangled <= strings && source->file <= strings;
    }
    return good;
}

static bool read_stacks(struct reading *reading)
{
    struct cg_trace *trace = reading->trace;
    struct cg_stacks *stacks;

    trace->stacks = NULL;
    if (!reading->extras) return true;
    if (!read_struct(reading, "stacks", sizeof *stacks, &trace->stacks)) return false;
    stacks = trace->stacks;
    if (!stacks) return true;
    stacks->frame_slots = NULL;
    return index_walk_stacks(stacks, take_slot, reading) &&
           (check_stacks(stacks, trace->strings->count) || refuse(reading, "stacks"));
}

/* Rules between columns that whoever uses them relies on. */
static bool check_rules(struct reading *reading)
{
    const struct cg_trace *trace = reading->trace;
    const struct cg_spans *spans = &trace->span;
    const struct cg_edges *edges = &trace->edge;
    size_t known = 0;
    bool good = true;

    for (size_t i = 0; i < spans->rows; i++)
        good = good && trace->span_of_string[spans->id[i]] == i &&
               spans->parent[i] == trace->span_of_string[spans->parent_id[i]] &&
               (i == 0 || trace_compare(trace, spans->id[i - 1], spans->id[i]) < 0);
    for (size_t i = 0; i < trace->span_strings; i++)
        known += trace->span_of_string[i] != CG_NONE;
    if (!good || known != spans->rows) return refuse(reading, "span.id");
    for (size_t i = 0; i < edges->rows; i++)
        good = good && (edges->edge_kind[i] == CG_EDGE_KIND_CALL
                            ? edges->from_span[i] && edges->to_span[i] && edges->host_duration_ns_set[i]
                            : edges->from_tensor[i] && edges->to_tensor[i]);
    return good || refuse(reading, "edge.edge_kind");
}

static bool read_trace(struct reading *reading)
{
    struct cg_trace *trace = reading->trace;
    const void *copy = index_file_array(reading->file, "trace", sizeof *trace);

    if (!copy) return refuse(reading, "trace");
    memcpy(trace, copy, sizeof *trace);
#define ROWS_FIT(suffix, member, fields, extra_fields) good = good && trace->member.rows < CG_NONE;
    bool good = true;
    TABLES(ROWS_FIT)
    trace->strings = NULL;
    trace->stacks = NULL;
    trace->devices = NULL;
    trace->clocks = NULL;
    trace->origin = NULL;
    trace->index = NULL;
    if (!good) return refuse(reading, "trace");
    if (!read_strings(reading) || !read_stacks(reading)) return false;
    if (trace->span_strings != trace->strings->count + 1) return refuse(reading, "trace");
    return read_devices(reading) && read_clocks(reading) && read_origin(reading) &&
           index_walk_columns(trace, take_slot, reading) &&
           (index_check_run(trace) || refuse(reading, "trace")) && check_rules(reading);
}

struct cg_trace *trace_index_read(struct index_file *file, bool extras, char why[INDEX_WHY])
{
    struct reading reading = {
        .file = file, .extras = extras, .why = why, .trace = calloc(1, sizeof *reading.trace)};

    if (!reading.trace) {
        snprintf(why, INDEX_WHY, "there is no memory to read it");
        index_file_close(file);
        return NULL;
    }
    bool good = read_trace(&reading);
    reading.trace->index = file;
    if (good) return reading.trace;
    trace_free(reading.trace);
    return NULL;
}

void trace_index_free(struct cg_trace *trace)
{
    free(trace->stacks);
    index_file_close(trace->index);
}

/* ---- beside the trace ---- */

/* Anybody could have put a file there that misleads. */
static bool trusted_owner(int trace_fd, int fd)
{
    struct stat trace, index;

    return fstat(trace_fd, &trace) == 0 && fstat(fd, &index) == 0 &&
           (index.st_uid == trace.st_uid || index.st_uid == geteuid());
}

static struct cg_trace *load(int trace_fd, int fd, enum index_use use, bool extras, char why[INDEX_WHY])
{
    struct index_file *file;

    if (!trusted_owner(trace_fd, fd)) {
        snprintf(why, INDEX_WHY, "it belongs neither to you nor to the owner of the trace");
        return NULL;
    }
    file = index_file_open(fd, trace_index_layout(), why);
    if (!file) return NULL;
    if (!index_identity_check(trace_fd, index_file_identity(file), use == INDEX_VERIFY, why)) {
        index_file_close(file);
        return NULL;
    }
    struct cg_trace *trace = trace_index_read(file, extras, why);
    if (!trace || index_file_rely(file, why)) return trace;
    trace_free(trace);
    return NULL;
}

enum index_answer trace_index_load(const char *trace_path, enum index_use use, bool extras,
                                   struct cg_trace **trace, char why[INDEX_WHY])
{
    char *path;
    int fd, trace_fd;

    if (use == INDEX_IGNORE || asprintf(&path, "%s" INDEX_SUFFIX, trace_path) < 0) return INDEX_NONE;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    free(path);
    if (fd < 0 && errno == ENOENT) return INDEX_NONE;
    *trace = NULL;
    trace_fd = fd < 0 ? -1 : open(trace_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (trace_fd >= 0)
        *trace = load(trace_fd, fd, use, extras, why);
    else
        snprintf(why, INDEX_WHY, "%s cannot be opened: %s", fd < 0 ? "it" : "the trace", strerror(errno));
    if (fd >= 0) close(fd);
    if (trace_fd >= 0) close(trace_fd);
    return *trace ? INDEX_TAKEN : INDEX_REFUSED;
}
