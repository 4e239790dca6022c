/* The library's side of cgtrace.h: what its functions share. Each checks all that it is given before it
 * enters the recorder, so that a mistake neither opens a session nor leaves anything in one. */
#ifndef CGTRACE_PRELOAD_API_API_H
#define CGTRACE_PRELOAD_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/capture.h"
#include "preload/api/id_table.h"
#include "preload/cgtrace.h"
#include "preload/record/recent.h"
#include "preload/record/session.h"
#include "preload/record/write.h"

#define API_DECLARE(name, type, absent, parameters, table_parameters, arguments, summary, text)              \
    type api_##name table_parameters;
CGTRACE_FUNCTIONS(API_DECLARE)
#undef API_DECLARE

/* A caller's structure as this library knows it: what it lacks is zero, what is newer is left out. */
void api_take(void *own, size_t own_size, const void *given, size_t given_size);

/* ---- text.c: CGTRACE_OK, or what is wrong ---- */

/* A text that is needed, of at most limit bytes. */
int api_needs(const char *text, size_t limit);
/* The number of such a text that the calling thread has given before, when it is certainly good: whoever
 * remembered it (NVTX) may take texts that are refused here. 0: it is to be looked at. limit: at least
 * RECORD_RECENT_BYTES. */
uint32_t api_known_slowly(const char *text, size_t limit);
/* The same where it takes no call to tell; 0: it takes one. *own_step: what it says, CAP_FLAG_STEP form. */
static inline __attribute__((always_inline)) uint32_t api_known_at_once(const char *text, uint32_t *own_step)
{
    return record_recent_at_once(record_recent_place(text), text, RECORD_RECENT_CERTAIN, own_step);
}
static inline __attribute__((always_inline)) uint32_t api_known(const char *text, size_t limit)
{
    uint32_t own_step, number = api_known_at_once(text, &own_step);

    return likely(number) ? number : api_known_slowly(text, limit);
}
/* One that may be NULL. */
int api_allows(const char *text, size_t limit);
/* A shape: NULL only without dimensions. */
int api_shape(const uint64_t *shape, size_t rank);
/* The first that is not CGTRACE_OK. */
static inline int api_either(int first, int second)
{
    return first != CGTRACE_OK ? first : second;
}
/* Inside of a call: numbers of checked texts. False: there is no room for more texts. NULL gives 0. */
struct api_text {
    const char *text;
    uint32_t *number;
};
bool api_numbers(const struct api_text *texts, size_t count);

/* ---- put.c ---- */

/* Writes a record and its words, and leaves the call. CGTRACE_OK or CGTRACE_LOST. */
int api_put(struct record_call *call, struct cap_record *record, const struct record_words *lists,
            size_t count);
/* The same, but stays in the call. */
int api_write(struct record_call *call, struct cap_record *record, const struct record_words *lists,
              size_t count);
/* Leaves the call with this result. */
static inline int api_leave(struct record_call *call, int result)
{
    record_leave(call);
    return result;
}
/* A record of this call, empty: its time is the call's begin. */
struct cap_record api_record(const struct record_call *call, enum cap_type type);
/* In the flags' form; 0 where none is known. */
uint16_t api_category(const struct record_call *call, enum cgtrace_category category, int requires_grad);

/* Nanoseconds of the session at the call's begin. Waits until times can be told (session_wait_for_rate()). */
uint64_t api_now(const struct record_call *call);

/* ---- tensors.c: of the open session, emptied by the next ---- */

/* Tensor ids that records have named. */
void api_tensor_named(uint64_t tensor);
bool api_tensor_known(uint64_t tensor);

/* ---- manifest.c: the keys of the gradient manifest that the open trace declares ---- */

struct id_key api_parameter_key(const char *root, const char *key);
/* Takes over the manifest of a checked contract: of one session, or of all that come without one; NULL or one
 * without entries: there is none. False: no memory. */
bool api_manifest_set(const struct cgtrace_contract_info *contract, bool of_session);
/* CGTRACE_OK: there is no manifest, or it has this key and no gradient of it was recorded; *number is the
 * gradient's. Holds all others back until api_manifest_done(), which tells whether it was recorded. */
int api_manifest_take(const char *root, const char *key, uint64_t *number);
void api_manifest_done(const char *root, const char *key, bool recorded);

/* ---- declare.c: what a caller declares, as JSON objects ---- */

struct api_json {
    char *bytes; /* mapped; NULL: nothing */
    size_t length, room;
    bool full; /* there was no memory */
};
void api_json_free(struct api_json *json);
/* Check and write. CGTRACE_OK, or what is wrong; then there is nothing to free. */
int api_identity_json(struct api_json *json, const struct cgtrace_identity_info *info);
int api_contract_json(struct api_json *json, const struct cgtrace_contract_info *info);
int api_tags_json(struct api_json *json, const struct cgtrace_tag_info *tags, size_t count);

/* ---- spans.c ---- */

/* The number, in the open session, of a span that the caller names. False: there is none such. */
bool api_span_of(const struct record_call *call, cgtrace_span span, uint32_t *number);

#endif
