#include "common/jsonl_stack.h"

#include "common/event_table.h"
#include "common/jsonl_text.h"

#define UNUSED __attribute__((unused))
#define STACK_KEY(id, wire, type, presence, argument, meaning)                                               \
    static const char stack_##id[] UNUSED = "\"" wire "\":";
CG_STACK_FIELDS(STACK_KEY)
#define FRAME_KEY(id, wire, type, presence, argument, meaning)                                               \
    static const char frame_##id[] UNUSED = "\"" wire "\":";
CG_FRAME_FIELDS(FRAME_KEY)
#define RECORD_KEY(id, wire, type, presence, argument, meaning)                                              \
    static const char record_##id[] UNUSED = ",\"" wire "\":{";
CG_MEMORY_EXTRAS(RECORD_KEY)

/* The stack of this number; NULL: it does not lie in the area. */
static const struct cap_stack *stack_at(const struct jsonl_state *state, uint32_t number)
{
    uint64_t offset = (uint64_t)number * 8;
    const struct cap_stack *stack = (const struct cap_stack *)(state->stacks + offset);

    if (offset < CAP_DIRECTORY_BYTES || offset + sizeof *stack > state->stacks_bytes ||
        stack->count > CAP_FRAMES_MAX ||
        offset + sizeof *stack + stack->count * sizeof stack->frames[0] > state->stacks_bytes)
        return NULL;
    return stack;
}

/* NULL: none, or it does not lie in the area. */
static const struct cap_module *module_at(const struct jsonl_state *state, uint32_t index)
{
    uint32_t number;
    uint64_t offset;
    const struct cap_module *module;

    if (index == 0 || index >= CAP_MODULES_MAX) return NULL;
    memcpy(&number, state->stacks + index * sizeof number, sizeof number);
    offset = (uint64_t)number * 8;
    module = (const struct cap_module *)(state->stacks + offset);
    if (offset < CAP_DIRECTORY_BYTES || offset + sizeof *module > state->stacks_bytes ||
        module->path_length > CAP_PATH_MAX || module->id_length > CAP_BUILD_ID_MAX ||
        offset + sizeof *module + module->path_length + module->id_length > state->stacks_bytes)
        return NULL;
    return module;
}

static bool is_whole(const struct jsonl_state *state, uint32_t number)
{
    return number >= state->stack_limit || (state->stack_whole[number / 64] >> (number & 63) & 1) != 0;
}

size_t jsonl_stack_bound(const struct jsonl_state *state, uint32_t number)
{
    enum { ID_BYTES = 64, FRAME_BYTES = 160 }; /* all but paths and symbols */
    const struct cap_stack *stack = number ? stack_at(state, number) : NULL;
    size_t bound = ID_BYTES;

    if (!stack || is_whole(state, number)) return bound;
    for (unsigned i = 0; i < stack->count; i++) {
        const struct cap_module *module = module_at(state, CAP_FRAME_MODULE(stack->frames[i]));

        bound += FRAME_BYTES;
        if (module) bound += 6 * (size_t)module->path_length + 3 * (size_t)SYMBOL_MAX;
    }
    return bound;
}

static char *put_frame(struct jsonl_state *state, char *out, uint64_t frame)
{
    uint32_t index = CAP_FRAME_MODULE(frame);
    const struct cap_module *module = module_at(state, index);
    char symbol[SYMBOL_MAX + 1];
    size_t length = 0;

    *out++ = '{';
    if (module) {
        out = jsonl_literal(out, frame_module);
        out = jsonl_string(out, module->bytes, module->path_length);
        *out++ = ',';
        if (module->id_length > 0) {
            out = jsonl_literal(out, frame_build_id);
            *out++ = '"';
            out = jsonl_hex_bytes(out, module->bytes + module->path_length, module->id_length);
            out = jsonl_literal(out, "\",");
        }
        if (state->symbols)
            length = symbols_find(state->symbols, index, module, CAP_FRAME_OFFSET(frame), symbol);
    }
    out = jsonl_literal(out, frame_offset);
    out = jsonl_u64(out, CAP_FRAME_OFFSET(frame));
    if (length > 0) {
        *out++ = ',';
        out = jsonl_literal(out, frame_symbol);
        out = jsonl_string(out, symbol, length);
    }
    *out++ = '}';
    return out;
}

char *jsonl_stack(struct jsonl_state *state, char *out, uint32_t number)
{
    const struct cap_stack *stack = number ? stack_at(state, number) : NULL;

    if (!stack) return out;
    out = jsonl_literal(out, record_stack);
    out = jsonl_literal(out, stack_id);
    out = jsonl_literal(out, "\"stack:");
    out = jsonl_u64(out, stack->ordinal);
    *out++ = '"';
    if (!is_whole(state, number)) {
        state->stack_whole[number / 64] |= UINT64_C(1) << (number & 63);
        *out++ = ',';
        out = jsonl_literal(out, stack_frames);
        *out++ = '[';
        for (unsigned i = 0; i < stack->count; i++) {
            if (i > 0) *out++ = ',';
            out = put_frame(state, out, stack->frames[i]);
        }
        *out++ = ']';
        if (stack->flags & CAP_STACK_CUT) {
            *out++ = ',';
            out = jsonl_literal(out, stack_truncated);
            out = jsonl_literal(out, "true");
        }
    }
    *out++ = '}';
    return out;
}
