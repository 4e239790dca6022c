/* Storages of frameworks. The table of those that are alive sees to it that what is written about one storage
 * fits together (doc/spec/trace.md 13.1, P5), from whichever thread it comes. Where sessions come and go it
 * is kept between them: what is alive when one begins is in it from its start.
 *
 * A thread may be taken away between a record and the table (owned.h), and nobody can tell then whether the
 * record was written. Of such a storage the session hears no more. */
#include "common/event_table.h"
#include "preload/api/api.h"
#include "preload/drain/state.h"
#include "preload/record/owned.h"
#include "preload/record/session.h"

/* Ticks between two events of one shard at least, so that they differ in nanoseconds too and lines of two
 * threads sort as they happened: counters of up to 8 GHz. */
enum { APART_TICKS = 8 };

struct storage {
    struct id_key key; /* number, string number of the device */
    uint64_t bytes, tensor;
    uint64_t serial;     /* unique: its aliases' key */
    uint64_t last_alias; /* tensor; 0: none */
    uint64_t generation; /* of the session that its begin is written in; 0: none */
    uint64_t doubt;      /* of the one in which its begin or end is being written, or may have been */
    uint32_t dtype;
    uint16_t category; /* in the flags' form */
};
struct alias {
    struct id_key key; /* tensor, the storage's serial */
    uint64_t next;     /* the alias before it; 0: none */
};

static struct shard {
    struct id_table storages, aliases;
    uint64_t last_tick;
    uint64_t serial;
} shards[RECORD_API_SHARDS];

/* With the shard's lock. NULL: another thread has it and is away. */
static struct shard *hold_shard(unsigned index)
{
    struct shard *shard = &shards[index];
    enum owned held = owned_take(&record_page->storage_locks[index]);

    if (held == OWNED_REFUSED) return NULL;
    if (!record_page->storages_ready[index]) { /* new; or a parent's, who may have been changing it, in a
                                                  forked child */
        *shard = (struct shard){.storages = {.entry_bytes = sizeof(struct storage)},
                                .aliases = {.entry_bytes = sizeof(struct alias)}};
        record_page->storages_ready[index] = true;
    } else if (unlikely(held == OWNED_AS_LEFT)) {
        id_table_settle(&shard->storages);
        id_table_settle(&shard->aliases);
    }
    return shard;
}

static struct shard *hold(uint64_t storage)
{
    return hold_shard((unsigned)(storage * UINT64_C(0x9e3779b97f4a7c15) >> 40) % RECORD_API_SHARDS);
}

static void let_go(struct shard *shard)
{
    owned_give(&record_page->storage_locks[shard - shards]);
}

static uint64_t stamp(struct shard *shard)
{
    uint64_t now = record_tick();

    if (now < shard->last_tick + APART_TICKS) now = shard->last_tick + APART_TICKS;
    return shard->last_tick = now;
}

static void forget_aliases(struct shard *shard, const struct storage *storage)
{
    for (uint64_t tensor = storage->last_alias; tensor;) {
        struct alias *alias = id_table_find(&shard->aliases, (struct id_key){tensor, storage->serial});

        if (!alias) return; /* who was taken away had come so far */
        tensor = alias->next;
        id_table_remove(&shard->aliases, alias);
    }
}

static void forget(struct shard *shard, struct storage *storage)
{
    forget_aliases(shard, storage);
    id_table_remove(&shard->storages, storage);
}

/* The storage with this key, NULL when there is none. */
static struct storage *find(struct shard *shard, struct id_key key)
{
    struct storage *storage = id_table_find(&shard->storages, key);

    if (likely(!storage || !storage->doubt) ||
        storage->doubt == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
        return storage;
    forget(shard, storage);
    return NULL;
}

/* Of a storage that the session is to hear no more of, or whose shard is not to be had. */
static int left(void)
{
    record_gap(RECORD_GAP_ABANDONED, 1);
    return CGTRACE_LOST;
}

/* ---- begin ---- */

/* Writes that a storage begins, or is seen through one more tensor. */
static int write_begin(struct record_call *call, struct shard *shard, struct cap_record *record,
                       const struct record_words *shape)
{
    if (call->outside) return CGTRACE_OFF;
    record->begin = stamp(shard);
    return api_write(call, record, shape, 1);
}

/* One that is alive, through another tensor. */
static int add_alias(struct record_call *call, struct shard *shard, struct storage *storage,
                     struct cap_record *record, const struct record_words *shape)
{
    const struct alias wanted = {.key = {record->storage.tensor, storage->serial},
                                 .next = storage->last_alias};
    int result;

    if (storage->bytes != record->storage.bytes || storage->tensor == record->storage.tensor ||
        id_table_find(&shard->aliases, wanted.key))
        return CGTRACE_E_STORAGE;
    if (!id_table_add(&shard->aliases, &wanted)) return CGTRACE_E_FULL;
    storage->last_alias = record->storage.tensor;
    if (storage->generation != call->thread->generation) return CGTRACE_OFF;
    result = write_begin(call, shard, record, shape);
    return result;
}

static int add_storage(struct record_call *call, struct shard *shard, struct cap_record *record,
                       const struct record_words *shape)
{
    const struct storage wanted = {.key = {record->storage.storage, record->storage.device},
                                   .bytes = record->storage.bytes,
                                   .tensor = record->storage.tensor,
                                   .serial = ++shard->serial,
                                   .doubt = call->outside ? 0 : call->thread->generation,
                                   .dtype = record->storage.dtype,
                                   .category = record->flags};
    struct storage *storage = id_table_add(&shard->storages, &wanted);
    int result;

    if (!storage) return CGTRACE_E_FULL;
    result = write_begin(call, shard, record, shape);
    if (result == CGTRACE_OK) storage->generation = call->thread->generation;
    atomic_signal_fence(memory_order_seq_cst);
    storage->doubt = 0;
    return result;
}

static int check(const struct cgtrace_storage_info *info)
{
    int result = api_shape(info->shape, info->rank);

    if (!info->storage || !info->tensor || (unsigned)info->category > CGTRACE_CATEGORY_OTHER)
        return CGTRACE_E_VALUE;
    result = api_either(result, api_allows(info->device, CGTRACE_TEXT_MAX));
    result = api_either(result, api_allows(info->op, CGTRACE_TEXT_MAX));
    return api_either(result, api_allows(info->dtype, CGTRACE_TEXT_MAX));
}

int api_cgtrace_alloc(const struct cgtrace_storage_info *given, size_t size)
{
    struct cgtrace_storage_info info;
    struct record_call call;
    struct cap_record record;
    struct storage *alive;
    struct shard *shard;
    uint32_t op;
    int result;

    if (!given) return CGTRACE_E_NULL;
    api_take(&info, sizeof info, given, size);
    if ((result = check(&info)) != CGTRACE_OK) return result;
    if (!record_enter_followed(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_API_ALLOC);
    const struct api_text texts[] = {
        {info.device, &record.storage.device}, {info.dtype, &record.storage.dtype}, {info.op, &op}};
    const struct record_words shape = {info.shape, info.rank};

    if (!api_numbers(texts, 3)) return api_leave(&call, CGTRACE_E_FULL);
    record.result = (int32_t)op;
    record.api = (uint16_t)info.rank;
    record.flags = api_category(&call, info.category, info.requires_grad);
    record.storage.storage = info.storage;
    record.storage.tensor = info.tensor;
    record.storage.bytes = info.bytes;
    if (!(shard = hold(info.storage))) return api_leave(&call, left());
    alive = find(shard, (struct id_key){info.storage, record.storage.device});
    if (!alive)
        result = add_storage(&call, shard, &record, &shape);
    else
        result = alive->doubt ? left() : add_alias(&call, shard, alive, &record, &shape);
    let_go(shard);
    return api_leave(&call, result);
}

/* ---- end ---- */

static struct cap_record begin_of(const struct storage *storage)
{
    return (struct cap_record){.slots = 1,
                               .device = CAP_NO_DEVICE,
                               .flags = storage->category,
                               .storage = {.storage = storage->key.first,
                                           .tensor = storage->tensor,
                                           .bytes = storage->bytes,
                                           .device = (uint32_t)storage->key.second,
                                           .dtype = storage->dtype}};
}

/* Where its begin is written, its end is too: in the call's session, or in one that the call has not joined.
 */
static int write_end(struct record_call *call, struct shard *shard, struct storage *storage)
{
    struct cap_record record = begin_of(storage);

    if (!storage->generation) return CGTRACE_OFF;
    storage->doubt = storage->generation;
    atomic_signal_fence(memory_order_seq_cst);
    record.type = CAP_API_FREE;
    record.begin = stamp(shard);
    record.span = call->thread->span;
    if (!call->outside && storage->generation == call->thread->generation) {
        record_write_must(call->thread, &record);
        return CGTRACE_OK;
    }
    record.span = session.region.outside;
    deferred_add(storage->generation, &record, 0, call->thread->tid);
    return CGTRACE_OFF;
}

int api_cgtrace_free(uint64_t number, const char *device)
{
    struct record_call call;
    struct storage *storage;
    struct shard *shard;
    uint32_t device_number;
    int result = api_allows(device, CGTRACE_TEXT_MAX);
    const struct api_text text = {device, &device_number};

    if (!number) return CGTRACE_E_VALUE;
    if (result != CGTRACE_OK) return result;
    if (!record_enter_end(&call, 0)) return CGTRACE_OFF;
    if (!api_numbers(&text, 1)) return api_leave(&call, CGTRACE_E_FULL);
    if (!(shard = hold(number))) return api_leave(&call, left());
    storage = find(shard, (struct id_key){number, device_number});
    if (!storage) {
        result = CGTRACE_E_STORAGE;
    } else if (storage->doubt) {
        result = left();
    } else {
        result = write_end(&call, shard, storage);
        forget(shard, storage);
    }
    let_go(shard);
    return api_leave(&call, result);
}

/* ---- those that are alive when a session begins ---- */

/* Writes the begin of each, at the session's start: tick 0 is before it, and so at it. */
static bool show(uint64_t generation)
{
    for (unsigned i = 0; i < RECORD_API_SHARDS; i++) {
        struct shard *shard = hold_shard(i);

        if (!shard) { /* record_gap() counts for an open session alone */
            atomic_fetch_add_explicit(&session.header->gaps[CAP_GAP_ABANDONED], 1, memory_order_relaxed);
            continue;
        }
        for (uint32_t k = 0; k < shard->storages.slots; k++) {
            struct storage *storage = (struct storage *)(void *)shard->storages.entries + k;
            struct cap_record record;

            if (!storage->key.first || storage->doubt) continue;
            record = begin_of(storage);
            record.type = CAP_API_ALLOC;
            record.flags |= CAP_FLAG_PREEXISTING;
            record.span = CAP_SPAN_ROOT;
            storage->generation = drain_record(&record, 0) ? generation : 0;
            forget_aliases(shard, storage);
            storage->last_alias = 0;
        }
        let_go(shard);
        if (writer.error) return false;
    }
    return true;
}

__attribute__((constructor)) static void follow(void)
{
    record_show_storages = show;
}
