#include "analyzer/recover/frameworks.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t framework_key(uint64_t storage, const char *device, size_t length)
{
    /* The set keeps number + 1. */
    return XXH64(device, length, storage) & ~UINT64_C(1);
}

static bool is_storage(const struct cap_record *record)
{
    return record->type == CAP_API_ALLOC || record->type == CAP_API_FREE;
}

/* Collects pointers into list (NULL: counts only). */
static size_t collect(struct cap_rest *rests, uint32_t rings, struct cap_record **list)
{
    size_t count = 0;

    for (uint32_t i = 0; i < rings; i++)
        for (uint64_t n = 0; n < rests[i].count; n += rests[i].slots[n].slots) {
            if (!is_storage(&rests[i].slots[n])) continue;
            if (list) list[count] = &rests[i].slots[n];
            count++;
        }
    return count;
}

/* Times of one storage's events differ; those of others do not matter. */
static int by_time(const void *a, const void *b)
{
    uint64_t x = (*(struct cap_record *const *)a)->begin, y = (*(struct cap_record *const *)b)->begin;

    return (x > y) - (x < y);
}

size_t frameworks_mend(struct cap_rest *rests, uint32_t rings, const struct jsonl_state *strings,
                       struct number_set *live)
{
    size_t count = collect(rests, rings, NULL), dropped = 0;
    struct cap_record **list = count > 0 ? malloc(count * sizeof *list) : NULL;
    bool no_memory = count > 0 && !list;

    if (list) {
        collect(rests, rings, list);
        qsort(list, count, sizeof *list, by_time);
    }
    for (size_t i = 0; list && i < count; i++) {
        uint32_t head;
        const char *device = jsonl_string_at(strings, list[i]->storage.device, &head);
        uint64_t key = CAP_STRING_LENGTH(head)
                           ? framework_key(list[i]->storage.storage, device, CAP_STRING_LENGTH(head))
                           : framework_key(list[i]->storage.storage, "cpu", 3);

        /* One that is alive already is seen through another tensor. */
        if (list[i]->type == CAP_API_ALLOC) {
            number_set_add(live, key, &no_memory);
        } else if (!number_set_remove(live, key)) {
            list[i]->type = CAP_PAD;
            dropped++;
        }
    }
    free(list);
    return no_memory ? SIZE_MAX : dropped;
}
