/* Storages of frameworks in what a program left (common/capture.h, API_ALLOC and API_FREE): each end has its
 * begin. */
#ifndef CGTRACE_ANALYZER_RECOVER_FRAMEWORKS_H
#define CGTRACE_ANALYZER_RECOVER_FRAMEWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/recover/number_set.h"
#include "common/capture_read.h"
#include "common/jsonl.h"

/* A storage as one number: its own and its device's name. */
uint64_t framework_key(uint64_t storage, const char *device, size_t length);

/* Goes through the records of all rings in the order of their times. live: the storages that are alive where
 * the rings begin, then those at their end. Ends without a begin become PAD. Returns how many, or SIZE_MAX:
 * memory is short. */
size_t frameworks_mend(struct cap_rest *rests, uint32_t rings, const struct jsonl_state *strings,
                       struct number_set *live);

#endif
