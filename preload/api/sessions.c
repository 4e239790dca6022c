/* Captures that the program begins and ends, and what it declares about them. */
#include <string.h>

#include "common/settings_table.h"
#include "preload/api/api.h"
#include "preload/drain/writer.h"
#include "preload/record/capture_session.h"
#include "preload/record/declared.h"
#include "preload/record/lock.h"
#include "preload/record/session.h"

static int result_of(enum capture_result result, int none)
{
    switch (result) {
    case CAPTURE_DONE:
        return CGTRACE_OK;
    case CAPTURE_BUSY:
        return CGTRACE_E_BUSY;
    case CAPTURE_NONE:
        return none;
    case CAPTURE_DISABLED:
        return CGTRACE_OFF;
    case CAPTURE_IO:
        return CGTRACE_E_IO;
    }
    return CGTRACE_OFF;
}

int api_cgtrace_capture_explicit_only(void)
{
    return result_of(capture_explicit_only(), CGTRACE_OFF);
}

/* ---- begin ---- */

_Static_assert((int)CGTRACE_PHASE_TRAIN == (int)CG_PHASE_SET_TRAIN &&
                   (int)CGTRACE_PHASE_INFER == (int)CG_PHASE_SET_INFER &&
                   (int)CGTRACE_PHASE_AUTO == (int)CG_PHASE_AUTO,
               "phases as in the settings");

/* doc/spec/trace.md 12, rule 1. */
static int check_run(const struct cgtrace_session_info *info)
{
    int result = api_needs(info->entrypoint, CGTRACE_TEXT_MAX);

    result = api_either(result, api_allows(info->path, sizeof session.trace_path - 1));
    result = api_either(result, api_allows(info->correlation_id, CGTRACE_TEXT_MAX));
    if (result != CGTRACE_OK) return result;
    if ((unsigned)info->phase > CGTRACE_PHASE_INFER) return CGTRACE_E_VALUE;
    if (!info->capture_step) return CGTRACE_E_RUN;
    return info->warmup_steps != CGTRACE_UNKNOWN && info->warmup_steps >= info->capture_step ? CGTRACE_E_RUN
                                                                                             : CGTRACE_OK;
}

/* The JSON objects of a request. */
struct objects {
    struct api_json identity, contract, tags;
};

static void free_objects(struct objects *objects)
{
    api_json_free(&objects->identity);
    api_json_free(&objects->contract);
    api_json_free(&objects->tags);
}

static int make_objects(struct objects *objects, const struct cgtrace_session_info *info)
{
    int result = api_tags_json(&objects->tags, info->tags, info->tag_count);

    if (result == CGTRACE_OK && info->identity)
        result = api_identity_json(&objects->identity, info->identity);
    if (result == CGTRACE_OK && info->contract)
        result = api_contract_json(&objects->contract, info->contract);
    if (result != CGTRACE_OK) free_objects(objects);
    return result;
}

static struct capture_text text_of(const struct api_json *json)
{
    return (struct capture_text){json->bytes, json->length};
}

int api_cgtrace_session_begin(const struct cgtrace_session_info *given, size_t size)
{
    struct cgtrace_session_info info;
    struct objects objects = {.tags = {0}};
    int result;

    if (!given) return CGTRACE_E_NULL;
    api_take(&info, sizeof info, given, size);
    if ((result = check_run(&info)) != CGTRACE_OK) return result;
    if ((result = make_objects(&objects, &info)) != CGTRACE_OK) return result;
    const struct capture_request request = {
        .entrypoint = info.entrypoint,
        .own_region = info.own_measured != 0,
        .phase = (unsigned)info.phase,
        .capture_step = info.capture_step,
        .warmup_steps = info.warmup_steps,
        .correlation = {info.correlation_id, info.correlation_id ? strlen(info.correlation_id) : 0},
        .identity = text_of(&objects.identity),
        .contract = text_of(&objects.contract),
        .tags = text_of(&objects.tags),
        .output = info.path};

    if (capture_is_open())
        result = CGTRACE_E_BUSY;
    else if (!api_manifest_set(info.contract, true))
        result = CGTRACE_E_FULL;
    else if ((result = result_of(capture_begin(&request), CGTRACE_OFF)) != CGTRACE_OK)
        api_manifest_set(NULL, true);
    free_objects(&objects);
    return result;
}

/* ---- end ---- */

/* Spans of the session that the calling thread has begun and not ended. */
static bool spans_open(void)
{
    struct record_call call;
    bool open;

    if (!record_enter_quiet(&call, 0)) return false;
    open = record_spans_open(call.thread);
    record_leave(&call);
    return open;
}

static int end(bool failed, const char *reason, char *path, size_t path_size)
{
    int result;

    if (path && path_size > 0) *path = '\0';
    result = result_of(capture_end(failed, reason, path, path_size), CGTRACE_E_NO_SESSION);
    if (result == CGTRACE_OK || result == CGTRACE_E_IO) api_manifest_set(NULL, true);
    return result;
}

int api_cgtrace_session_finish(char *path, size_t path_size)
{
    if (!capture_is_open()) return CGTRACE_E_NO_SESSION;
    if (spans_open()) return CGTRACE_E_OPEN_SPANS;
    if (session.region.own && !session.measured) return CGTRACE_E_MEASURED;
    return end(false, NULL, path, path_size);
}

int api_cgtrace_session_fail(const char *reason, char *path, size_t path_size)
{
    int result = api_needs(reason, CGTRACE_TEXT_MAX);

    if (!capture_is_open()) return CGTRACE_E_NO_SESSION;
    return result != CGTRACE_OK ? result : end(true, reason, path, path_size);
}

int api_cgtrace_flush(void)
{
    struct record_call call;
    bool written;

    if (!record_enter_quiet(&call, 0)) return CGTRACE_OFF;
    written = writer_flush();
    return api_leave(&call, written ? CGTRACE_OK : CGTRACE_E_IO);
}

/* ---- declarations ---- */

static void declare(enum declared_kind kind, struct api_json *json)
{
    declared_set(kind, (struct capture_text){json->bytes, json->length}, json->room);
}

int api_cgtrace_identity(const struct cgtrace_identity_info *given, size_t size)
{
    struct cgtrace_identity_info info;
    struct api_json json = {0};
    int result = CGTRACE_OK;

    if (given) {
        api_take(&info, sizeof info, given, size);
        result = api_identity_json(&json, &info);
    }
    if (result == CGTRACE_OK) declare(DECLARED_IDENTITY, &json);
    return result;
}

int api_cgtrace_contract(const struct cgtrace_contract_info *given, size_t size)
{
    struct cgtrace_contract_info info = {.scope = CGTRACE_SCOPE_UNKNOWN};
    struct api_json json = {0};
    int result = CGTRACE_OK;

    if (given) {
        api_take(&info, sizeof info, given, size);
        result = api_contract_json(&json, &info);
    }
    if (result != CGTRACE_OK) return result;
    if (!api_manifest_set(&info, false)) {
        api_json_free(&json);
        return CGTRACE_E_FULL;
    }
    declare(DECLARED_CONTRACT, &json);
    return CGTRACE_OK;
}

/* The tags that the program has set, in order. */
enum { TAGS_MAX = 64 };
static struct {
    char key[CGTRACE_TEXT_MAX + 1], value[CGTRACE_TEXT_MAX + 1];
} tags[TAGS_MAX];
static size_t tag_count;

/* Called with tags_lock held. */
static int add_tag(const char *key, const char *value)
{
    struct cgtrace_tag_info list[TAGS_MAX];
    struct api_json json;
    size_t at = 0;
    int result;

    while (at < tag_count && strcmp(tags[at].key, key) != 0)
        at++;
    if (at == TAGS_MAX) return CGTRACE_E_FULL;
    memccpy(tags[at].key, key, '\0', sizeof tags[at].key); /* whole: their lengths have been checked */
    memccpy(tags[at].value, value, '\0', sizeof tags[at].value);
    tag_count += at == tag_count;
    for (size_t i = 0; i < tag_count; i++)
        list[i] = (struct cgtrace_tag_info){tags[i].key, tags[i].value};
    result = api_tags_json(&json, list, tag_count);
    if (result == CGTRACE_OK) declare(DECLARED_TAGS, &json);
    return result;
}

int api_cgtrace_tag(const char *key, const char *value)
{
    const struct cgtrace_tag_info tag = {key, value};
    struct api_json json;
    int result = api_tags_json(&json, &tag, 1); /* for its checks */

    if (result != CGTRACE_OK) return result;
    api_json_free(&json);
    lock_take(&record_page->tags_lock);
    result = add_tag(key, value);
    lock_give(&record_page->tags_lock);
    return result;
}
