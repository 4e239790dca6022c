/* The gradient manifest that the open trace declares: each of its keys is to be recorded once, and no other.
 */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "preload/api/api.h"
#include "preload/api/id_table.h"
#include "preload/record/lock.h"
#include "preload/record/session.h"

/* One parameter, known by the hashes of root and key. */
struct parameter {
    struct id_key key;
    uint64_t generation; /* of the session in which its gradient was recorded last */
};

static struct id_table declared = {.entry_bytes = sizeof(struct parameter)};
static struct id_table of_session = {.entry_bytes = sizeof(struct parameter)};
static uint64_t numbers_of, number; /* gradients of the session with this generation */

struct id_key api_parameter_key(const char *root, const char *key)
{
    return (struct id_key){XXH64(root, strlen(root), 1) | 1, XXH64(key, strlen(key), 0)};
}

static void take_lock(void)
{
    lock_take(&record_page->manifest_lock);
}

static void give_lock(void)
{
    lock_give(&record_page->manifest_lock);
}

bool api_manifest_set(const struct cgtrace_contract_info *contract, bool session_alone)
{
    struct id_table *table = session_alone ? &of_session : &declared;
    bool room = true;

    take_lock();
    id_table_empty(table);
    for (size_t i = 0; contract && room && i < contract->entry_count; i++) {
        const struct parameter parameter = {
            .key = api_parameter_key(contract->entries[i].root, contract->entries[i].key)};

        room = id_table_add(table, &parameter) != NULL;
    }
    if (!room) id_table_empty(table);
    give_lock();
    return room;
}

static struct parameter *find(const char *root, const char *key, bool *any)
{
    const struct id_table *table = of_session.used ? &of_session : &declared;

    *any = table->used > 0;
    return *any ? id_table_find(table, api_parameter_key(root, key)) : NULL;
}

int api_manifest_take(const char *root, const char *key, uint64_t *next)
{
    uint64_t generation = atomic_load_explicit(&record_page->generation, memory_order_relaxed);
    struct parameter *parameter;
    bool any;

    take_lock();
    parameter = find(root, key, &any);
    if (any && (!parameter || parameter->generation == generation)) {
        give_lock();
        return CGTRACE_E_GRADIENTS;
    }
    if (numbers_of != generation) number = 0;
    numbers_of = generation;
    *next = ++number;
    return CGTRACE_OK;
}

void api_manifest_done(const char *root, const char *key, bool recorded)
{
    bool any;
    struct parameter *parameter = find(root, key, &any);

    if (parameter && recorded) parameter->generation = numbers_of;
    give_lock();
}
