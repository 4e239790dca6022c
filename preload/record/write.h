/* Records of any length, for those who tell the recorder more than a call: the API. */
#ifndef CGTRACE_PRELOAD_RECORD_WRITE_H
#define CGTRACE_PRELOAD_RECORD_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/record/record.h"

struct record_words {
    const uint64_t *words;
    size_t count;
};
/* Writes a record whose members but slots are set, with these words behind it. False: no room; counted. */
bool record_write(struct record_thread *thread, struct cap_record *record, const struct record_words *lists,
                  size_t count);
/* Writes a record of one slot that must not be lost. */
void record_write_must(struct record_thread *thread, const struct cap_record *record);

/* When the span that the thread's records belong to began, as a tick. */
uint64_t record_span_since(const struct record_thread *thread);

/* Writes the begins of storages that this session finds alive. Given by the API, whose storages they are;
 * called while the session is being opened. False: they could not be written. */
extern bool (*record_show_storages)(uint64_t generation);

#endif
