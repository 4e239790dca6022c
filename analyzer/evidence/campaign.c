#include "analyzer/evidence/campaign.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *campaign_state_name(enum campaign_state state)
{
    static const char *const names[] = {
#define NAME(suffix, wire, meaning) wire,
        CAMPAIGN_STATES(NAME)
#undef NAME
    };
    return names[state];
}

static int out_of_memory(struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "out of memory");
}

/* ---- the plan ---- */

/* Not empty, no backslash, not absolute, first part not ".", no part "..". Repeated and trailing slashes
 * pass, and so does a
 * "." that is not the first part (doc/spec/compare.md 2). */
static bool plan_path_safe(const char *path)
{
    if (!*path || *path == '/' || strchr(path, '\\')) return false;
    for (const char *part = path; *part;) {
        size_t length = strcspn(part, "/");
        if (part == path && length == 1 && *part == '.') return false;
        if (length == 2 && memcmp(part, "..", 2) == 0) return false;
        part += length;
        part += strspn(part, "/");
    }
    return true;
}

/* A string member without NUL bytes; NULL when it is something else. */
static const char *text_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static bool blank(const char *text)
{
    return cg_text_blank((struct cg_text){text, strlen(text)});
}

/* Where the bundles' paths begin: the directory part of the plan's path as given. */
static char *join_base(const char *plan, const char *bundle)
{
    const char *slash = strrchr(plan, '/');
    char *path;
    int base = slash ? (int)(slash - plan) + 1 : 0;
    return asprintf(&path, "%.*s%s", base, plan, bundle) < 0 ? NULL : path;
}

static int read_capture(struct campaign *campaign, const char *path, const json_t *item, size_t number,
                        struct cg_error *error)
{
    const json_t *step = json_object_get(item, "capture_step");
    const char *bundle = text_member(item, "bundle");
    struct campaign_capture *capture = &campaign->captures[campaign->count];

    if (!json_is_integer(step) || json_integer_value(step) < 0 || !bundle)
        return cg_fail(error, CG_EXIT_INPUT,
                       "%s: planned[%zu]: expected an object with capture_step and bundle", path, number);
    capture->capture_step = (uint64_t)json_integer_value(step);
    capture->bundle = strdup(bundle);
    capture->root = join_base(path, bundle);
    campaign->count++;
    return capture->bundle && capture->root ? 0 : out_of_memory(error);
}

static int compare_steps(const void *a, const void *b)
{
    const struct campaign_capture *x = *(struct campaign_capture *const *)a,
                                  *y = *(struct campaign_capture *const *)b;
    int order = (x->capture_step > y->capture_step) - (x->capture_step < y->capture_step);
    return order ? order : (x > y) - (x < y);
}

static int compare_bundles(const void *a, const void *b)
{
    const struct campaign_capture *x = *(struct campaign_capture *const *)a,
                                  *y = *(struct campaign_capture *const *)b;
    int order = strcmp(x->bundle, y->bundle);
    return order ? order : (x > y) - (x < y);
}

/* Marks the items that repeat an earlier one; sorted by order, equal ones stand together, the earlier first.
 */
static void mark_repeats(struct campaign *campaign, struct campaign_capture **sorted,
                         int (*order)(const void *, const void *), bool by_step, bool *repeats)
{
    for (size_t i = 0; i < campaign->count; i++)
        sorted[i] = &campaign->captures[i];
    qsort(sorted, campaign->count, sizeof *sorted, order);
    for (size_t i = 1; i < campaign->count; i++) {
        bool same = by_step ? sorted[i]->capture_step == sorted[i - 1]->capture_step
                            : strcmp(sorted[i]->bundle, sorted[i - 1]->bundle) == 0;
        if (same) repeats[sorted[i] - campaign->captures] = true;
    }
}

/* Item by item in file order: step given twice, unsafe path, path given twice. */
static int check_items(struct campaign *campaign, const char *path, struct cg_error *error)
{
    struct campaign_capture **sorted = calloc(campaign->count + 1, sizeof *sorted);
    bool *steps = calloc(campaign->count + 1, sizeof *steps),
         *bundles = calloc(campaign->count + 1, sizeof *bundles);
    int status = sorted && steps && bundles ? 0 : out_of_memory(error);

    if (status == 0) {
        mark_repeats(campaign, sorted, compare_steps, true, steps);
        mark_repeats(campaign, sorted, compare_bundles, false, bundles);
    }
    for (size_t i = 0; status == 0 && i < campaign->count; i++) {
        const struct campaign_capture *capture = &campaign->captures[i];
        if (steps[i])
            status = cg_fail(error, CG_EXIT_INPUT, "%s: planned[%zu]: capture_step %llu is planned twice",
                             path, i, (unsigned long long)capture->capture_step);
        else if (!plan_path_safe(capture->bundle))
            status =
                cg_fail(error, CG_EXIT_INPUT, "%s: planned[%zu].bundle: \"%s\" is not a safe relative path",
                        path, i, capture->bundle);
        else if (bundles[i])
            status = cg_fail(error, CG_EXIT_INPUT, "%s: planned[%zu].bundle: \"%s\" is planned twice", path,
                             i, capture->bundle);
    }
    free(sorted);
    free(steps);
    free(bundles);
    return status;
}

static int take_plan(struct campaign *campaign, const char *path, const json_t *plan, struct cg_error *error)
{
    const char *schema = text_member(plan, "schema"), *id = text_member(plan, "campaign_id");
    const char *entrypoint = text_member(plan, "entrypoint");
    const json_t *planned = json_object_get(plan, "planned");

    if (!json_is_object(plan) || !schema || !id || !entrypoint || !json_is_array(planned))
        return cg_fail(error, CG_EXIT_INPUT,
                       "%s: expected an object with schema, campaign_id, entrypoint and planned", path);
    if (strcmp(schema, CAMPAIGN_SCHEMA) != 0)
        return cg_fail(error, CG_EXIT_INPUT, "%s: schema: expected \"" CAMPAIGN_SCHEMA "\", found \"%s\"",
                       path, schema);
    campaign->campaign_id = strdup(id);
    campaign->entrypoint = strdup(entrypoint);
    campaign->captures = calloc(json_array_size(planned) + 1, sizeof *campaign->captures);
    if (!campaign->campaign_id || !campaign->entrypoint || !campaign->captures) return out_of_memory(error);
    int status = 0;
    for (size_t i = 0; status == 0 && i < json_array_size(planned); i++)
        status = read_capture(campaign, path, json_array_get(planned, i), i, error);
    if (status != 0) return status;
    if (blank(id)) return cg_fail(error, CG_EXIT_INPUT, "%s: campaign_id: is blank", path);
    if (blank(entrypoint)) return cg_fail(error, CG_EXIT_INPUT, "%s: entrypoint: is blank", path);
    if (campaign->count == 0) return cg_fail(error, CG_EXIT_INPUT, "%s: planned: is empty", path);
    return check_items(campaign, path, error);
}

static int by_step(const void *a, const void *b)
{
    const struct campaign_capture *x = a, *y = b;
    return (x->capture_step > y->capture_step) - (x->capture_step < y->capture_step);
}

int campaign_read(const char *path, struct campaign *campaign, struct cg_error *error)
{
    json_error_t fault;
    struct stat file;

    *campaign = (struct campaign){0};
    if (stat(path, &file) != 0)
        return cg_fail(error, errno == EACCES ? CG_EXIT_IO : CG_EXIT_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(file.st_mode)) return cg_fail(error, CG_EXIT_INPUT, "%s: not a regular file", path);
    json_t *plan = json_load_file(path, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    if (!plan)
        return cg_fail(error, CG_EXIT_INPUT, "%s:%d:%d: %s", path, fault.line, fault.column, fault.text);
    int status = take_plan(campaign, path, plan, error);
    json_decref(plan);
    if (status != 0)
        campaign_free(campaign);
    else
        qsort(campaign->captures, campaign->count, sizeof *campaign->captures, by_step);
    return status;
}

void campaign_free(struct campaign *campaign)
{
    for (size_t i = 0; i < campaign->count; i++) {
        free(campaign->captures[i].bundle);
        free(campaign->captures[i].root);
        free(campaign->captures[i].run_id);
        free(campaign->captures[i].message);
    }
    free(campaign->captures);
    free(campaign->campaign_id);
    free(campaign->entrypoint);
    *campaign = (struct campaign){0};
}

/* ---- what is there ---- */

static bool set_message(struct campaign_capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool set_message(struct campaign_capture *capture, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&capture->message, format, arguments);
    va_end(arguments);
    if (length < 0) capture->message = NULL;
    return length >= 0;
}

static bool keep_run_id(struct campaign_capture *capture, const struct run_facts *facts)
{
    capture->run_id = malloc(facts->run_id.length + 1);
    if (!capture->run_id) return false;
    memcpy(capture->run_id, facts->run_id.bytes, facts->run_id.length);
    capture->run_id_length = facts->run_id.length;
    return true;
}

/* The state of a capture whose bundle was read. */
static bool judge(const struct campaign *campaign, struct campaign_capture *capture,
                  const struct run_facts *facts, const struct comparison_receipt *receipt)
{
    struct cg_text expected = {campaign->entrypoint, strlen(campaign->entrypoint)};
    char name[TEXT_NAME_SIZE];

    capture->state = CAMPAIGN_IDENTITY_MISMATCH;
    if (!text_equal(facts->entrypoint, expected))
        return set_message(capture, "entrypoint %s, the campaign's is %s", text_name(facts->entrypoint, name),
                           campaign->entrypoint);
    if (facts->capture_step != capture->capture_step)
        return set_message(capture, "capture_step %llu, planned is %llu",
                           (unsigned long long)facts->capture_step,
                           (unsigned long long)capture->capture_step);
    if (!keep_run_id(capture, facts)) return false;
    if (facts->outcome == CG_OUTCOME_FAILED) {
        capture->state = CAMPAIGN_FAILED_RUN;
        return set_message(capture, "%.*s", (int)facts->failure_reason.length, facts->failure_reason.bytes);
    }
    capture->state = CAMPAIGN_PUBLISHED;
    memcpy(capture->manifest_sha256, receipt->manifest_sha256, SHA256_HEX);
    return true;
}

int campaign_reconcile(struct campaign *campaign, struct cg_error *error)
{
    for (size_t i = 0; i < campaign->count; i++) {
        struct campaign_capture *capture = &campaign->captures[i];
        struct comparison_receipt receipt;
        struct run_facts facts;
        struct cg_error cause;
        struct stat entry;
        bool ok = true;

        if (stat(capture->root, &entry) != 0) {
            capture->state = CAMPAIGN_MISSING;
        } else if (run_load_bundle(capture->root, &facts, &receipt, NULL, &cause) != 0) {
            capture->state = CAMPAIGN_VERIFICATION_FAILED;
            ok = set_message(capture, "%s", cause.message);
        } else {
            ok = judge(campaign, capture, &facts, &receipt);
            run_facts_free(&facts);
        }
        if (!ok) return out_of_memory(error);
    }
    return 0;
}

/* ---- the document ---- */

static void emit_state(struct json_doc *doc, const struct campaign_capture *capture)
{
    doc_object(doc);
    doc_member_string(doc, "state", campaign_state_name(capture->state));
    if (capture->run_id) doc_member_bytes(doc, "run_id", capture->run_id, capture->run_id_length);
    if (capture->state == CAMPAIGN_PUBLISHED)
        doc_member_string(doc, "manifest_sha256", capture->manifest_sha256);
    if (capture->state == CAMPAIGN_FAILED_RUN) doc_member_string(doc, "reason", capture->message);
    if (capture->state == CAMPAIGN_VERIFICATION_FAILED || capture->state == CAMPAIGN_IDENTITY_MISMATCH)
        doc_member_string(doc, "message", capture->message);
    doc_object_end(doc);
}

void emit_campaign_status(struct json_doc *doc, const struct campaign *campaign)
{
    size_t published = 0, missing = 0;

    for (size_t i = 0; i < campaign->count; i++) {
        published += campaign->captures[i].state == CAMPAIGN_PUBLISHED;
        missing += campaign->captures[i].state == CAMPAIGN_MISSING;
    }
    doc_object(doc);
    doc_member_string(doc, "schema", CAMPAIGN_STATUS_SCHEMA);
    doc_member_string(doc, "campaign_id", campaign->campaign_id);
    doc_member_string(doc, "entrypoint", campaign->entrypoint);
    doc_member_u64(doc, "planned", campaign->count);
    doc_member_u64(doc, "published", published);
    doc_member_u64(doc, "missing", missing);
    doc_member_u64(doc, "failed", campaign->count - published - missing);
    doc_key(doc, "captures");
    doc_array(doc);
    for (size_t i = 0; i < campaign->count; i++) {
        doc_object(doc);
        doc_member_u64(doc, "capture_step", campaign->captures[i].capture_step);
        doc_member_string(doc, "bundle", campaign->captures[i].bundle);
        doc_key(doc, "state");
        emit_state(doc, &campaign->captures[i]);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    doc_object_end(doc);
}
