#include "analyzer/planes/activation_links.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/string_set.h"

/* Four levels, each with its own key that ops and lifetimes have in common. For each level the map is made
 * from the keys of the lifetimes that got that far, and the ops are counted into it: it never holds keys that
 * nobody asks for. */
enum level {
    BY_NAME,            /* L1: span and op name */
    BY_NAME_AND_TENSOR, /* L2: of those, the output is a tensor of the lifetime */
    BY_SPAN_AND_TENSOR, /* L3: span, and the output is a tensor of the lifetime */
    BY_TENSOR           /* L4: the output is a tensor of the lifetime */
};

/* While a lifetime is not settled, its link says which level it waits for. */
#define WAITS(level) (CG_NONE - 1 - (uint32_t)(level))

/* What a map says of a key: no op, the row of the only one + 1, or several. */
#define SEVERAL CG_NONE

struct linker {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    uint32_t *links;
    struct pair_map names;     /* of L1; its entries number the pairs for L2 */
    struct pair_map keys;      /* of the other levels */
    struct string_set outputs; /* of all ops: no other tensor id can find one */
    bool any_output;
};

struct key {
    uint32_t first, second; /* first is 0 when there is no key */
};

static struct key name_key(const struct linker *linker, cg_str span, cg_str name, cg_str tensor)
{
    const struct pair_entry *pair = pair_map_find(&linker->names, span, name);
    if (!pair) return (struct key){0, 0};
    return (struct key){(uint32_t)(pair - linker->names.entries) + 1, tensor};
}

static struct key make_key(const struct linker *linker, enum level level, cg_str span, cg_str name,
                           cg_str tensor)
{
    switch (level) {
    case BY_NAME_AND_TENSOR:
        return name_key(linker, span, name, tensor);
    case BY_SPAN_AND_TENSOR:
        return (struct key){span, tensor};
    default:
        return (struct key){tensor, 0};
    }
}

static void count_op(struct pair_entry *entry, uint32_t op)
{
    if (entry) entry->value = entry->value ? SEVERAL : op + 1;
}

/* L1, which takes the op name instead of tensors; the others wait for the level that is next for them. */
static bool link_by_name(struct linker *linker)
{
    const struct cg_memory *records = &linker->trace->memory;
    const struct cg_ops *ops = &linker->trace->op;
    for (size_t i = 0; !linker->memory->unnamed && i < linker->memory->lifetime_count; i++) {
        uint32_t row = linker->memory->lifetimes[i].row;
        if (records->op_name[row] != CG_ABSENT &&
            !pair_map_insert(&linker->names, records->span_id[row], records->op_name[row], NULL))
            return false;
    }
    for (size_t i = 0; linker->names.count && i < ops->rows; i++)
        count_op(pair_map_find(&linker->names, ops->span_id[i], ops->op_name[i]), (uint32_t)i);
    for (size_t i = 0; i < linker->memory->lifetime_count; i++) {
        if (linker->memory->unnamed) {
            linker->links[i] = WAITS(BY_SPAN_AND_TENSOR);
            continue;
        }
        uint32_t row = linker->memory->lifetimes[i].row, found = 0;
        if (records->op_name[row] != CG_ABSENT)
            found = pair_map_find(&linker->names, records->span_id[row], records->op_name[row])->value;
        linker->links[i] = found == 0         ? WAITS(BY_SPAN_AND_TENSOR)
                           : found == SEVERAL ? WAITS(BY_NAME_AND_TENSOR)
                                              : found - 1;
    }
    return true;
}

/* Calls nothing but the map: enters (insert) or looks up the keys of a lifetime's tensor ids, and sums up
 * what is found: 0, row + 1 or SEVERAL. False when memory is short. */
static bool visit_keys(struct linker *linker, enum level level, const struct lifetime *lifetime, bool insert,
                       uint32_t *found)
{
    const struct cg_memory *records = &linker->trace->memory;
    *found = 0;
    for (uint32_t i = 0; i < lifetime->tensors.count; i++) {
        cg_str tensor = records->tensor_id[linker->memory->tensor_rows[lifetime->tensors.first + i]];
        if (!string_set_has(&linker->outputs, tensor)) continue;
        struct key key =
            make_key(linker, level, records->span_id[lifetime->row], records->op_name[lifetime->row], tensor);
        if (insert) {
            if (!pair_map_insert(&linker->keys, key.first, key.second, NULL)) return false;
            continue;
        }
        /* An op has one output, so what two tensors find are two ops. */
        uint32_t value = pair_map_find(&linker->keys, key.first, key.second)->value;
        if (value) *found = *found ? SEVERAL : value;
    }
    return true;
}

/* L2 to L4 where no op has an output. */
static void settle_without_outputs(struct linker *linker)
{
    for (size_t i = 0; i < linker->memory->lifetime_count; i++)
        if (linker->links[i] >= WAITS(BY_TENSOR)) linker->links[i] = CG_NONE;
}

/* L2 to L4: settles the lifetimes that wait for this level, or lets them wait for another. */
static bool link_by_tensor(struct linker *linker, enum level level, uint32_t otherwise)
{
    const struct cg_ops *ops = &linker->trace->op;
    const struct logical_memory *memory = linker->memory;
    uint32_t found;
    for (size_t i = 0; i < memory->lifetime_count; i++)
        if (linker->links[i] == WAITS(level) &&
            !visit_keys(linker, level, &memory->lifetimes[i], true, &found))
            return false;
    for (size_t i = 0; linker->keys.count && i < ops->rows; i++) {
        if (ops->output[i] == CG_ABSENT) continue;
        struct key key = make_key(linker, level, ops->span_id[i], ops->op_name[i], ops->output[i]);
        if (key.first) count_op(pair_map_find(&linker->keys, key.first, key.second), (uint32_t)i);
    }
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        if (linker->links[i] != WAITS(level)) continue;
        visit_keys(linker, level, &memory->lifetimes[i], false, &found);
        linker->links[i] = found && found != SEVERAL ? found - 1 : otherwise;
    }
    pair_map_free(&linker->keys);
    return true;
}

static bool find_outputs(struct linker *linker)
{
    const struct cg_ops *ops = &linker->trace->op;
    if (!string_set_make(&linker->outputs, linker->trace)) return false;
    for (size_t i = 0; i < ops->rows; i++)
        if (ops->output[i] != CG_ABSENT) {
            string_set_add(&linker->outputs, ops->output[i]);
            linker->any_output = true;
        }
    return true;
}

uint32_t *activation_links(const struct cg_trace *trace, const struct logical_memory *memory)
{
    struct linker linker = {.trace = trace, .memory = memory};
    linker.links = array_raw(memory->lifetime_count, sizeof *linker.links);
    bool done = linker.links && find_outputs(&linker) && link_by_name(&linker);
    if (done && !linker.any_output)
        settle_without_outputs(&linker);
    else
        done = done && link_by_tensor(&linker, BY_NAME_AND_TENSOR, CG_NONE) &&
               link_by_tensor(&linker, BY_SPAN_AND_TENSOR, WAITS(BY_TENSOR)) &&
               link_by_tensor(&linker, BY_TENSOR, CG_NONE);
    pair_map_free(&linker.names);
    pair_map_free(&linker.keys);
    string_set_free(&linker.outputs);
    if (done) return linker.links;
    free(linker.links);
    return NULL;
}
