#include "analyzer/evidence/series.h"

#include <stdlib.h>
#include <string.h>

/* ---- loading ---- */

static int by_step(const void *a, const void *b)
{
    const struct series_run *x = a, *y = b;
    return (x->facts.capture_step > y->facts.capture_step) - (x->facts.capture_step < y->facts.capture_step);
}

/* Against the first run, in the order given; then steps, which are ambiguous when they repeat. */
static int check_together(const struct series *series, struct cg_error *error)
{
    const struct run_facts *first = &series->runs[0].facts;
    char a[TEXT_NAME_SIZE], b[TEXT_NAME_SIZE];

    for (size_t i = 1; i < series->count; i++) {
        const struct run_facts *run = &series->runs[i].facts;
        if (!text_equal(run->entrypoint, first->entrypoint))
            return cg_fail(error, CG_EXIT_INPUT, "%s: entrypoint %s differs from %s in %s",
                           series->runs[i].root, text_name(run->entrypoint, a),
                           text_name(first->entrypoint, b), series->runs[0].root);
        if (run->phase != first->phase)
            return cg_fail(error, CG_EXIT_INPUT, "%s: phase %s differs from %s in %s", series->runs[i].root,
                           cg_name_PHASE[run->phase], cg_name_PHASE[first->phase], series->runs[0].root);
    }
    return 0;
}

static int check_steps(const struct series *series, struct cg_error *error)
{
    for (size_t i = 1; i < series->count; i++)
        if (series->runs[i].facts.capture_step == series->runs[i - 1].facts.capture_step)
            return cg_fail(error, CG_EXIT_INPUT, "%s and %s: both hold capture_step %llu",
                           series->runs[i - 1].root, series->runs[i].root,
                           (unsigned long long)series->runs[i].facts.capture_step);
    return 0;
}

int series_load(const char *const *roots, size_t count, struct series *series, struct cg_error *error)
{
    *series = (struct series){.runs = calloc(count + 1, sizeof *series->runs)};
    int status = series->runs ? 0 : cg_out_of_memory(error);

    if (status == 0 && count == 0) status = cg_fail(error, CG_EXIT_INPUT, "no bundle given");
    for (size_t i = 0; status == 0 && i < count; i++) {
        struct series_run *run = &series->runs[i];
        run->root = roots[i];
        status = run_load_bundle(roots[i], &run->facts, &run->receipt, NULL, error);
        if (status == 0) series->count++;
    }
    if (status == 0) status = check_together(series, error);
    if (status == 0) {
        qsort(series->runs, series->count, sizeof *series->runs, by_step);
        status = check_steps(series, error);
    }
    if (status != 0) series_free(series);
    return status;
}

void series_free(struct series *series)
{
    for (size_t i = 0; i < series->count; i++)
        run_facts_free(&series->runs[i].facts);
    free(series->runs);
    *series = (struct series){0};
}

/* ---- points, grouped by label ---- */

static int compare_points(const void *a, const void *b)
{
    const struct series_point *x = a, *y = b;
    int order = text_compare(x->key, y->key);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static bool kept(struct cg_text key, const char *prefix)
{
    size_t length = prefix ? strlen(prefix) : 0;
    return key.length >= length && (length == 0 || memcmp(key.bytes, prefix, length) == 0);
}

static void add_point(struct series_points *points, struct cg_text key, const struct series_run *run,
                      size_t event, const char *prefix)
{
    if (!kept(key, prefix)) return;
    points->at[points->count] = (struct series_point){key, run, event, points->count};
    points->count++;
}

static bool gather(struct series_document *document)
{
    size_t stats = 0, gradients = 0;

    for (size_t i = 0; i < document->series->count; i++) {
        stats += document->series->runs[i].facts.stats_count;
        gradients += document->series->runs[i].facts.gradient_count;
    }
    document->stats.at = calloc(stats + 1, sizeof *document->stats.at);
    document->gradients.at = calloc(gradients + 1, sizeof *document->gradients.at);
    if (!document->stats.at || !document->gradients.at) return false;
    for (size_t i = 0; i < document->series->count; i++) {
        const struct series_run *run = &document->series->runs[i];
        for (size_t k = 0; k < run->facts.stats_count; k++)
            add_point(&document->stats, run->facts.stats[k].label, run, k, document->label_prefix);
        for (size_t k = 0; k < run->facts.gradient_count; k++)
            add_point(&document->gradients, run->facts.gradients[k].key, run, k, document->label_prefix);
    }
    qsort(document->stats.at, document->stats.count, sizeof *document->stats.at, compare_points);
    qsort(document->gradients.at, document->gradients.count, sizeof *document->gradients.at, compare_points);
    return true;
}

struct series_document *series_document_make(const struct series *series, const char *label_prefix)
{
    struct series_document *document = calloc(1, sizeof *document);

    if (!document) return NULL;
    document->series = series;
    document->label_prefix = label_prefix;
    if (gather(document)) return document;
    series_document_free(document);
    return NULL;
}

void series_document_free(struct series_document *document)
{
    if (!document) return;
    free(document->stats.at);
    free(document->gradients.at);
    free(document);
}

/* ---- writing ---- */

static void emit_run_members(struct json_doc *doc, const struct series_run *run)
{
    doc_member_u64(doc, "capture_step", run->facts.capture_step);
    doc_member_bytes(doc, "run_id", run->facts.run_id.bytes, run->facts.run_id.length);
}

static void emit_stats_point(struct json_doc *doc, const struct series_point *point)
{
    const struct fact_stats *event = &point->run->facts.stats[point->event];

    doc_object(doc);
    emit_run_members(doc, point->run);
    doc_member_double(doc, "rms", event->rms);
    doc_member_double(doc, "abs_max", event->abs_max);
    doc_member_double(doc, "mean", event->mean);
    doc_member_u64(doc, "non_finite", event->non_finite);
    doc_member_u64(doc, "elements", event->elements);
    doc_object_end(doc);
}

static void emit_gradient_point(struct json_doc *doc, const struct series_point *point)
{
    const struct fact_gradient *event = &point->run->facts.gradients[point->event];

    doc_object(doc);
    emit_run_members(doc, point->run);
    doc_member_string(doc, "state", cg_name_GRADIENT_STATE[event->state]);
    doc_member_double_or_null(doc, "norm", event->norm_known, event->norm);
    doc_object_end(doc);
}

/* An object: each key once, ascending, with the list of its points. */
static void emit_points(struct json_doc *doc, const char *name, const struct series_points *points,
                        void (*emit)(struct json_doc *doc, const struct series_point *point))
{
    doc_key(doc, name);
    doc_object(doc);
    for (size_t i = 0; i < points->count;) {
        struct cg_text key = points->at[i].key;
        doc_key_bytes(doc, key.bytes, key.length);
        doc_array(doc);
        for (; i < points->count && text_equal(points->at[i].key, key); i++)
            emit(doc, &points->at[i]);
        doc_array_end(doc);
    }
    doc_object_end(doc);
}

static void emit_inputs(struct json_doc *doc, const struct series *series)
{
    doc_key(doc, "inputs");
    doc_array(doc);
    for (size_t i = 0; i < series->count; i++) {
        doc_object(doc);
        emit_run_members(doc, &series->runs[i]);
        doc_member_string(doc, "bundle", series->runs[i].root);
        doc_member_string(doc, "manifest_sha256", series->runs[i].receipt.manifest_sha256);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_times(struct json_doc *doc, const struct series *series)
{
    doc_key(doc, "outer_wall_time");
    doc_array(doc);
    for (size_t i = 0; i < series->count; i++) {
        const struct run_facts *facts = &series->runs[i].facts;
        doc_object(doc);
        emit_run_members(doc, &series->runs[i]);
        doc_member_u64_or_null(doc, "outer_wall_time_ns", facts->measured_count == 1,
                               facts->measured_duration_ns);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

void emit_series(struct json_doc *doc, const struct series_document *document)
{
    const struct series *series = document->series;
    struct cg_text entrypoint = series->runs[0].facts.entrypoint;

    doc_object(doc);
    doc_member_string(doc, "schema", SERIES_SCHEMA);
    doc_member_bytes(doc, "entrypoint", entrypoint.bytes, entrypoint.length);
    doc_member_string(doc, "coordinate", "capture_step");
    doc_member_string(doc, "label_prefix", document->label_prefix);
    emit_inputs(doc, series);
    emit_times(doc, series);
    emit_points(doc, "tensor_stats", &document->stats, emit_stats_point);
    emit_points(doc, "gradients", &document->gradients, emit_gradient_point);
    doc_object_end(doc);
}
