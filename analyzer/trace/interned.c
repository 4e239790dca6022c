#include "analyzer/trace/interned.h"

#include "analyzer/trace/block.h"

enum { FIRST_LISTS = 256, FIRST_POOL = 256 };

bool interned_init(struct interned *interned, struct cg_strings *strings)
{
    *interned = (struct interned){.strings = strings, .list_mask = FIRST_LISTS - 1};
    interned->lists = block_zeroed(FIRST_LISTS * sizeof *interned->lists);
    /* There from the start: the place of an empty list must be a pointer, too. */
    interned->u64_pool = block_resize(NULL, FIRST_POOL * sizeof *interned->u64_pool);
    interned->str_pool = block_resize(NULL, FIRST_POOL * sizeof *interned->str_pool);
    interned->u64_capacity = interned->str_capacity = FIRST_POOL;
    return interned->lists != NULL && interned->u64_pool != NULL && interned->str_pool != NULL;
}

void interned_free(struct interned *interned)
{
    block_free(interned->lists);
    block_free(interned->u64_pool);
    block_free(interned->str_pool);
}

void interned_give(struct interned *interned, struct cg_trace *trace)
{
    trace->u64_pool = interned->u64_pool;
    trace->str_pool = interned->str_pool;
    trace->u64_count = interned->u64_count;
    trace->str_count = interned->str_count;
    interned->u64_pool = NULL;
    interned->str_pool = NULL;
}

static bool grow_lists(struct interned *interned)
{
    size_t mask = interned->list_mask * 2 + 1;
    struct cg_list *lists = block_zeroed((mask + 1) * sizeof *lists);
    if (lists == NULL) return false;
    for (size_t i = 0; i <= interned->list_mask; i++) {
        struct cg_list list = interned->lists[i];
        if (list.count == 0) continue;
        size_t slot = strings_hash(interned->u64_pool + list.first, list.count * sizeof(uint64_t)) & mask;
        while (lists[slot].count != 0)
            slot = (slot + 1) & mask;
        lists[slot] = list;
    }
    block_free(interned->lists);
    interned->lists = lists;
    interned->list_mask = mask;
    return true;
}

bool interned_numbers(struct interned *interned, const uint64_t *numbers, size_t count, struct cg_list *list)
{
    size_t bytes = count * sizeof *numbers;
    *list = (struct cg_list){0};
    if (count == 0) return true;
    if (interned->list_count > interned->list_mask / 2 && !grow_lists(interned)) return false;
    size_t slot = strings_hash(numbers, bytes) & interned->list_mask;
    for (; interned->lists[slot].count != 0; slot = (slot + 1) & interned->list_mask) {
        *list = interned->lists[slot];
        if (list->count == count && memcmp(interned->u64_pool + list->first, numbers, bytes) == 0)
            return true;
    }
    if (!block_reserve(&interned->u64_pool, &interned->u64_capacity, interned->u64_count, count,
                       sizeof *numbers))
        return false;
    memcpy(interned->u64_pool + interned->u64_count, numbers, bytes);
    *list = interned->lists[slot] = (struct cg_list){(uint32_t)interned->u64_count, (uint32_t)count};
    interned->u64_count += count;
    interned->list_count++;
    return true;
}

bool interned_reserve(struct interned *interned, size_t count)
{
    return block_reserve(&interned->str_pool, &interned->str_capacity, interned->str_count, count,
                         sizeof *interned->str_pool);
}
