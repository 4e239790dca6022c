/* Tensors that the open session's records have named, for edges between them: an edge to a tensor that
 * nothing in the trace names would make the trace invalid. */
#include "preload/api/api.h"
#include "preload/api/id_table.h"
#include "preload/record/owned.h"
#include "preload/record/session.h"

enum { TENSORS_MAX = 1 << 18 }; /* of one shard; 8 million in all, 256 MiB */

static struct shard {
    struct id_table table;
    uint64_t generation; /* of the session that the ids are of */
} shards[RECORD_API_SHARDS];

/* With the shard's lock, and its ids those of the open session. NULL: another thread has it and is away. */
static struct shard *hold(uint64_t tensor)
{
    uint32_t index = (uint32_t)(tensor * UINT64_C(0x9e3779b97f4a7c15) >> 40) % RECORD_API_SHARDS;
    struct shard *shard = &shards[index];
    uint64_t generation = atomic_load_explicit(&record_page->generation, memory_order_relaxed);

    if (owned_take(&record_page->tensor_locks[index]) == OWNED_REFUSED) return NULL;
    if (!record_page->tensors_ready[index]) /* new; or a parent's, who may have been changing it, in a forked
                                               child */
        *shard = (struct shard){.table = {.entry_bytes = sizeof(struct id_key), .limit = TENSORS_MAX}};
    record_page->tensors_ready[index] = true;
    if (shard->generation != generation) id_table_empty(&shard->table);
    shard->generation = generation;
    return shard;
}

static void let_go(const struct shard *shard)
{
    owned_give(&record_page->tensor_locks[shard - shards]);
}

void api_tensor_named(uint64_t tensor)
{
    const struct id_key key = {tensor, 0};
    struct shard *shard = hold(tensor);

    /* One that finds no room is not known: edges to it are refused. */
    if (!shard) return;
    if (!id_table_find(&shard->table, key)) id_table_add(&shard->table, &key);
    let_go(shard);
}

bool api_tensor_known(uint64_t tensor)
{
    struct shard *shard = hold(tensor);
    bool known = shard && id_table_find(&shard->table, (struct id_key){tensor, 0}) != NULL;

    if (!shard) return false;
    let_go(shard);
    return known;
}
