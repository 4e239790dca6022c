#include "analyzer/evidence/campaign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/evidence/shape.h"

enum { PLAN_BYTES = 64 << 20 };

const char *campaign_state_name(enum campaign_state state)
{
    static const char *const names[] = {
#define NAME(suffix, wire, meaning) wire,
        CAMPAIGN_STATES(NAME)
#undef NAME
    };
    return names[state];
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

/* Where the bundles' paths begin: the directory part of the plan's path as given. */
static char *join_base(const char *plan, const char *bundle)
{
    const char *slash = strrchr(plan, '/');
    char *path;
    int base = slash ? (int)(slash - plan) + 1 : 0;
    return asprintf(&path, "%.*s%s", base, plan, bundle) < 0 ? NULL : path;
}

/* A copy ended by a NUL; a path with a NUL in it cannot be one, and is kept as the empty path. */
static char *copy_path(struct cg_text text)
{
    return strdup(strlen(text.bytes) == text.length ? text.bytes : "");
}

static int read_capture(struct campaign *campaign, const char *path, struct shape_reader *reader,
                        const char *item, struct cg_error *error)
{
    struct campaign_capture *capture = &campaign->captures[campaign->count];
    struct cg_text bundle = shape_text(reader, shape_member(reader, item, "bundle"));

    if (bundle.bytes) bundle = arena_text(&campaign->arena, bundle.bytes, bundle.length);
    if (!bundle.bytes) return cg_out_of_memory(error);
    capture->capture_step = shape_u64(reader, shape_member(reader, item, "capture_step"));
    campaign->count++;
    capture->bundle = copy_path(bundle);
    if (capture->bundle) capture->root = join_base(path, capture->bundle);
    return capture->root ? 0 : cg_out_of_memory(error);
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
    int status = sorted && steps && bundles ? 0 : cg_out_of_memory(error);

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

/* ---- what it must look like (doc/spec/compare.md 2) ---- */

#define STRING_FIELD(name)                                                                                   \
    {                                                                                                        \
        name, {SHAPE_STRING, NULL}, SHAPE_REQUIRED, NULL                                                     \
    }
static const struct shape_field capture_fields[] = {{"capture_step", {SHAPE_U64, NULL}, SHAPE_REQUIRED, NULL},
                                                    STRING_FIELD("bundle")};
static const struct shape capture_shape = {capture_fields, sizeof capture_fields / sizeof *capture_fields};
static const struct shape_type capture_type = {SHAPE_OBJECT, &capture_shape};
static const char *const schema_words[] = {CAMPAIGN_SCHEMA, NULL};
static const struct shape_field plan_fields[] = {
    {"schema", {SHAPE_ENUM, schema_words}, SHAPE_REQUIRED, NULL},
    STRING_FIELD("campaign_id"),
    STRING_FIELD("entrypoint"),
    {"planned", {SHAPE_LIST, &capture_type}, SHAPE_REQUIRED, NULL}};
static const struct shape plan_shape = {plan_fields, sizeof plan_fields / sizeof *plan_fields};
static const struct shape_type plan_type = {SHAPE_OBJECT, &plan_shape};

/* A member that must not be blank. */
static int take_text(struct campaign *campaign, const char *path, struct shape_reader *reader,
                     const char *name, struct cg_text *text, struct cg_error *error)
{
    struct cg_text value = shape_text(reader, shape_member(reader, shape_document(reader), name));
    if (value.bytes) *text = arena_text(&campaign->arena, value.bytes, value.length);
    if (!text->bytes) return cg_out_of_memory(error);
    return cg_text_blank(*text) ? cg_fail(error, CG_EXIT_INPUT, "%s: %s: is blank", path, name) : 0;
}

static int take_plan(struct campaign *campaign, const char *path, struct shape_reader *reader,
                     struct cg_error *error)
{
    size_t count = 0;
    int status = shape_check(reader, &plan_type, error);
    if (status == 0) status = take_text(campaign, path, reader, "campaign_id", &campaign->campaign_id, error);
    if (status == 0) status = take_text(campaign, path, reader, "entrypoint", &campaign->entrypoint, error);
    if (status != 0) return status;
    const char *planned = shape_member(reader, shape_document(reader), "planned");
    for (const char *item = shape_first(reader, planned); item; item = shape_next(reader, item))
        count++;
    if (count == 0) return cg_fail(error, CG_EXIT_INPUT, "%s: planned: is empty", path);
    campaign->captures = calloc(count, sizeof *campaign->captures);
    if (!campaign->captures) return cg_out_of_memory(error);
    for (const char *item = shape_first(reader, planned); item; item = shape_next(reader, item)) {
        status = read_capture(campaign, path, reader, item, error);
        if (status != 0) return status;
    }
    return check_items(campaign, path, error);
}

static int by_step(const void *a, const void *b)
{
    const struct campaign_capture *x = a, *y = b;
    return (x->capture_step > y->capture_step) - (x->capture_step < y->capture_step);
}

/* Reads the whole plan; *text is the caller's, with JSON_PADDING writable bytes behind it. */
static int read_plan(const char *path, char **text, size_t *length, struct cg_error *error)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return cg_fail(error, errno == EACCES ? CG_EXIT_IO : CG_EXIT_INPUT, "%s: %s", path, strerror(errno));
    int status = 0;
    *text = NULL;
    *length = 0;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        status = cg_fail(error, CG_EXIT_INPUT, "%s: not a regular file", path);
    else if (file.st_size > PLAN_BYTES)
        status = cg_fail(error, CG_EXIT_INPUT, "%s: %lld bytes, at most %d are read", path,
                         (long long)file.st_size, PLAN_BYTES);
    else if (!(*text = malloc((size_t)file.st_size + JSON_PADDING)))
        status = cg_out_of_memory(error);
    while (status == 0 && *length < (size_t)file.st_size) {
        ssize_t got = read(fd, *text + *length, (size_t)file.st_size - *length);
        if (got == 0) break;
        if (got > 0)
            *length += (size_t)got;
        else if (errno != EINTR)
            status = cg_fail(error, CG_EXIT_IO, "%s: %s", path, strerror(errno));
    }
    close(fd);
    if (status != 0) free(*text);
    return status;
}

int campaign_read(const char *path, struct campaign *campaign, struct cg_error *error)
{
    struct shape_reader reader;
    char *text = NULL;
    size_t length = 0;

    *campaign = (struct campaign){0};
    int status = read_plan(path, &text, &length, error);
    if (status != 0) return status;
    shape_open(&reader, path, text, length);
    status = take_plan(campaign, path, &reader, error);
    shape_close(&reader);
    free(text);
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
    arena_free(&campaign->arena);
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
    char name[TEXT_NAME_SIZE], planned[TEXT_NAME_SIZE];

    capture->state = CAMPAIGN_IDENTITY_MISMATCH;
    if (!text_equal(facts->entrypoint, campaign->entrypoint))
        return set_message(capture, "entrypoint %s, the campaign's is %s", text_name(facts->entrypoint, name),
                           text_name(campaign->entrypoint, planned));
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
        if (!ok) return cg_out_of_memory(error);
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
    doc_member_bytes(doc, "campaign_id", campaign->campaign_id.bytes, campaign->campaign_id.length);
    doc_member_bytes(doc, "entrypoint", campaign->entrypoint.bytes, campaign->entrypoint.length);
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
