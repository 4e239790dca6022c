#include "analyzer/trace/stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/symbolize/demangle.h"
#include "analyzer/trace/block.h"
#include "common/jsonl_text.h"

/* Positions of fields in the objects: STACK_id and so on. */
#define STACK_INDEX(name, wire, type, presence, argument, meaning)  STACK_##name,
#define FRAME_INDEX(name, wire, type, presence, argument, meaning)  FRAME_##name,
#define SOURCE_INDEX(name, wire, type, presence, argument, meaning) SOURCE_##name,
enum { CG_STACK_FIELDS(STACK_INDEX) };
enum { CG_FRAME_FIELDS(FRAME_INDEX) };
enum { CG_SOURCE_FIELDS(SOURCE_INDEX) };

/* ---- frames ---- */

static bool same_frame(const struct cg_frame *a, const struct cg_frame *b)
{
    return a->offset == b->offset && a->module == b->module && a->symbol == b->symbol &&
           a->build_id == b->build_id;
}

static uint32_t *slot_of(const struct cg_stacks *stacks, const struct cg_frame *frame)
{
    struct {
        uint64_t offset;
        cg_str module, build_id, symbol, none;
    } key = {frame->offset, frame->module, frame->build_id, frame->symbol, 0};
    size_t slot = strings_hash(&key, sizeof key) & stacks->slot_mask;

    while (stacks->frame_slots[slot] && !same_frame(&stacks->frames[stacks->frame_slots[slot] - 1], frame))
        slot = (slot + 1) & stacks->slot_mask;
    return &stacks->frame_slots[slot];
}

/* At most half of the slots are taken. */
static bool grow_slots(struct cg_stacks *stacks)
{
    enum { FIRST_SLOTS = 256 };
    size_t slots = stacks->frame_slots ? (stacks->slot_mask + 1) * 2 : FIRST_SLOTS;

    if (stacks->frame_slots && stacks->frame_count * 2 <= stacks->slot_mask) return true;
    uint32_t *larger = block_zeroed(slots * sizeof *larger);
    if (larger == NULL) return false;
    block_free(stacks->frame_slots);
    stacks->frame_slots = larger;
    stacks->slot_mask = slots - 1;
    for (size_t i = 0; i < stacks->frame_count; i++)
        *slot_of(stacks, &stacks->frames[i]) = (uint32_t)i + 1;
    return true;
}

static bool add_sources(struct cg_stacks *stacks, const struct decoder *decoder,
                        const struct record_list *list, struct cg_frame *frame)
{
    if (list == NULL || list->count == 0 || frame->source_count > 0) return true;
    if (!block_reserve(&stacks->sources, &stacks->source_capacity, stacks->source_count, list->count,
                       sizeof *stacks->sources))
        return false;
    frame->source_first = (uint32_t)stacks->source_count;
    frame->source_count = (uint32_t)list->count;
    for (size_t i = 0; i < list->count; i++) {
        const union value *value = list->records[i].value;

        stacks->sources[stacks->source_count++] = (struct cg_source){
            .function = decoder_string(decoder, value[SOURCE_function]),
            .mangled = decoder_string(decoder, value[SOURCE_mangled]),
            .file = decoder_string(decoder, value[SOURCE_file]),
            .line = value[SOURCE_line].u <= UINT32_MAX ? (uint32_t)value[SOURCE_line].u : 0};
    }
    return true;
}

static bool take_frame(struct cg_stacks *stacks, const struct decoder *decoder, const union value *value,
                       uint32_t *number)
{
    struct cg_frame frame = {.module = decoder_string(decoder, value[FRAME_module]),
                             .build_id = decoder_string(decoder, value[FRAME_build_id]),
                             .symbol = decoder_string(decoder, value[FRAME_symbol]),
                             .offset = value[FRAME_offset].u};
    uint32_t *slot;

    if (!grow_slots(stacks) || !block_reserve(&stacks->frames, &stacks->frame_capacity, stacks->frame_count,
                                              1, sizeof *stacks->frames))
        return false;
    slot = slot_of(stacks, &frame);
    if (*slot == 0) {
        stacks->frames[stacks->frame_count++] = frame;
        *slot = (uint32_t)stacks->frame_count;
    }
    *number = *slot - 1;
    return add_sources(stacks, decoder, value[FRAME_source].objects, &stacks->frames[*number]);
}

static bool take_frames(struct cg_stacks *stacks, const struct decoder *decoder,
                        const struct record_list *list, struct cg_list *frames)
{
    if (!block_reserve(&stacks->frame_pool, &stacks->pool_capacity, stacks->pool_count, list->count,
                       sizeof *stacks->frame_pool))
        return false;
    frames->first = (uint32_t)stacks->pool_count;
    for (size_t i = 0; i < list->count; i++)
        if (!take_frame(stacks, decoder, list->records[i].value, &stacks->frame_pool[stacks->pool_count++]))
            return false;
    frames->count = (uint32_t)list->count;
    return true;
}

/* ---- stacks ---- */

/* The number of the stack with this id, new if need be. */
static bool take_id(struct cg_stacks *stacks, cg_str id, uint32_t *number)
{
    size_t known = stacks->string_capacity;

    if (!block_reserve(&stacks->of_string, &stacks->string_capacity, id, 1, sizeof *stacks->of_string))
        return false;
    if (stacks->string_capacity > known)
        memset(stacks->of_string + known, 0xFF,
               (stacks->string_capacity - known) * sizeof *stacks->of_string); /* CG_NONE */
    if (stacks->of_string[id] == CG_NONE) {
        if (!block_reserve(&stacks->stacks, &stacks->capacity, stacks->count, 1, sizeof *stacks->stacks))
            return false;
        stacks->stacks[stacks->count] = (struct stack){.id = id};
        stacks->of_string[id] = (uint32_t)stacks->count++;
    }
    *number = stacks->of_string[id];
    return true;
}

bool stacks_take(struct cg_trace *trace, const struct decoder *decoder, const struct record *object,
                 uint32_t *stack)
{
    const struct record_list *frames;

    *stack = CG_NONE;
    if (object == NULL) return true;
    if (trace->stacks == NULL) trace->stacks = calloc(1, sizeof *trace->stacks);
    if (trace->stacks == NULL) return false;
    if (!take_id(trace->stacks, decoder_string(decoder, object->value[STACK_id]), stack)) return false;
    frames = object->value[STACK_frames].objects;
    struct stack *have = &trace->stacks->stacks[*stack];
    if (frames == NULL || have->frames.count > 0) return true;
    have->truncated = object->value[STACK_truncated].u != 0;
    return take_frames(trace->stacks, decoder, frames, &have->frames);
}

void stacks_free(struct cg_stacks *stacks)
{
    if (stacks == NULL) return;
    block_free(stacks->stacks);
    block_free(stacks->of_string);
    block_free(stacks->frame_pool);
    block_free(stacks->frames);
    block_free(stacks->frame_slots);
    block_free(stacks->sources);
    free(stacks);
}

/* ---- for readers ---- */

uint32_t trace_stack_count(const struct cg_trace *trace)
{
    return trace->stacks ? (uint32_t)trace->stacks->count : 0;
}

uint32_t trace_frame_count(const struct cg_trace *trace)
{
    return trace->stacks ? (uint32_t)trace->stacks->frame_count : 0;
}

cg_str trace_stack_id(const struct cg_trace *trace, uint32_t stack)
{
    return trace->stacks->stacks[stack].id;
}

uint32_t trace_find_stack(const struct cg_trace *trace, cg_str id)
{
    return trace->stacks && id < trace->stacks->string_capacity ? trace->stacks->of_string[id] : CG_NONE;
}

const uint32_t *trace_stack_frames(const struct cg_trace *trace, uint32_t stack, uint32_t *count)
{
    struct cg_list frames = trace->stacks->stacks[stack].frames;

    *count = frames.count;
    return frames.count > 0 ? trace->stacks->frame_pool + frames.first : NULL;
}

bool trace_stack_truncated(const struct cg_trace *trace, uint32_t stack)
{
    return trace->stacks->stacks[stack].truncated;
}

const struct cg_frame *trace_frame(const struct cg_trace *trace, uint32_t frame)
{
    return &trace->stacks->frames[frame];
}

const struct cg_source *trace_frame_source(const struct cg_trace *trace, const struct cg_frame *frame)
{
    return frame->source_count > 0 ? trace->stacks->sources + frame->source_first : NULL;
}

static struct cg_text last_part(struct cg_text path)
{
    const char *slash = path.length > 0 ? memrchr(path.bytes, '/', path.length) : NULL;
    size_t skip = slash ? (size_t)(slash + 1 - path.bytes) : 0;

    return (struct cg_text){path.bytes + skip, path.length - skip};
}

enum { PLACE_LONGEST = 512 };

/* The end of a text that is cut where there is no more room. */
struct tail {
    char *at;
    size_t left;
};

static void append(struct tail *tail, struct cg_text text)
{
    size_t length = text.length > 0 ? jsonl_prefix(text.bytes, text.length, tail->left) : 0;

    if (length > 0) memcpy(tail->at, text.bytes, length);
    tail->at += length;
    tail->left = length < text.length ? 0 : tail->left - length;
}

static void append_number(struct tail *tail, const char *format, uint64_t number)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, format, number);

    append(tail, (struct cg_text){digits, (size_t)length});
}

/* Symbols demangled, where they are of C++ or Rust. */
static void append_function(struct tail *tail, struct cg_text name, bool is_symbol)
{
    enum { SYMBOL_LONGEST = 4096 };
    char symbol[SYMBOL_LONGEST], *demangled = NULL;

    if (is_symbol && name.length < sizeof symbol) {
        memcpy(symbol, name.bytes, name.length);
        symbol[name.length] = '\0';
        demangled = demangle(symbol);
    }
    append(tail, demangled ? (struct cg_text){demangled, strlen(demangled)} : name);
    free(demangled);
}

/* Behind the function, of which as much goes as this needs: calls in one function differ in it alone. */
static void append_place(struct tail *tail, const struct cg_trace *trace, const struct cg_source *source,
                         char *text, size_t size)
{
    char bytes[PLACE_LONGEST];
    struct tail place = {bytes, sizeof bytes};
    size_t length, function = (size_t)(tail->at - text);

    append(&place, (struct cg_text){" at ", 4});
    append(&place, last_part(trace_text(trace, source->file)));
    if (source->line > 0) append_number(&place, ":%" PRIu64, source->line);
    length = (size_t)(place.at - bytes);
    if (length <= (size - 1) / 2) {
        size_t most = size - 1 - length;

        if (function > most) function = jsonl_prefix(text, function, most);
        *tail = (struct tail){text + function, size - 1 - function};
    }
    append(tail, (struct cg_text){bytes, length});
}

size_t trace_frame_name(const struct cg_trace *trace, uint32_t number, char *text, size_t size)
{
    const struct cg_frame *frame = trace_frame(trace, number);
    const struct cg_source *source = trace_frame_source(trace, frame);
    struct tail tail = {text, size - 1};

    if (source || frame->symbol != CG_ABSENT) {
        append_function(&tail, trace_text(trace, source ? source->function : frame->symbol), source == NULL);
        if (source && source->file != CG_ABSENT) append_place(&tail, trace, source, text, size);
    } else {
        append(&tail, last_part(trace_text(trace, frame->module)));
        append_number(&tail, frame->module == CG_ABSENT ? "0x%" PRIx64 : "+0x%" PRIx64, frame->offset);
    }
    *tail.at = '\0';
    return (size_t)(tail.at - text);
}
