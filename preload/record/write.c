#include "preload/record/write.h"

#include <string.h>

#include "preload/record/session.h"

bool (*record_show_storages)(uint64_t generation);

HOT bool record_write(struct record_thread *thread, struct cap_record *record,
                      const struct record_words *lists, size_t count)
{
    struct cap_record *slot;
    size_t words = 0;
    uint64_t *to;

    for (size_t i = 0; i < count; i++)
        words += lists[i].count;
    record->slots = (uint8_t)cap_slots(words);
    slot = ring_slots(thread, RING_MAY_DROP, record->slots);
    if (!slot) {
        if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
            atomic_fetch_add_explicit(&session.lost_type[record->type], 1, memory_order_relaxed);
        return false;
    }
    *slot = *record;
    to = (uint64_t *)(void *)(slot + 1);
    for (size_t i = 0; i < count; i++) {
        if (lists[i].count > 0) memcpy(to, lists[i].words, lists[i].count * sizeof *to);
        to += lists[i].count;
    }
    ring_commit_slots(thread, record->slots);
    return true;
}

HOT void record_write_must(struct record_thread *thread, const struct cap_record *record)
{
    struct cap_record *slot = ring_slot(thread, RING_MUST);

    if (unlikely(!slot)) {
        deferred_add(thread->generation, record, thread->ring_index, thread->tid);
        return;
    }
    *slot = *record;
    ring_commit(thread);
}
