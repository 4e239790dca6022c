/* The gpu-* kinds with reports (doc/spec/cli.md 4.4 and 6.4): order, ties, caps, availability. The evidence
 * is made by hand; results are read back with jansson. */
#include "tests/unit/cmocka_tap.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/gpu_view.h"
#include "analyzer/cmd/query.h"

struct written {
    char *bytes;
    size_t length;
};

static int keep(void *context, const char *bytes, size_t length)
{
    struct written *written = context;
    written->bytes = realloc(written->bytes, written->length + length + 1);
    memcpy(written->bytes + written->length, bytes, length);
    written->length += length;
    return 0;
}

static struct command_input input;
static struct gpu_evidence *const gpu = &input.evidence.gpu;

static struct cg_text text(const char *string)
{
    return (struct cg_text){string, strlen(string)};
}

static void add(struct gpu_texts *texts, const char *string)
{
    assert_true(gpu_texts_add(&gpu->arena, texts, text(string)));
}

/* All five reports, without rows. */
static void available(void)
{
    memset(&input, 0, sizeof input);
    gpu->status = GPU_AVAILABLE;
    gpu->binding = GPU_BOUND;
    for (unsigned i = 0; i < GPU_REPORT_COUNT; i++)
        gpu->coverage[i] = true;
    gpu->correlation.mode = text("nvtx_projected_range");
}

static json_t *result(const struct query_kind *kind)
{
    struct query query = {.kind = kind, .input = &input};
    struct cg_error error = {0};
    struct written written = {0};
    if (kind->prepare) assert_int_equal(kind->prepare(&query, &error), 0);
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, keep, &written);
    kind->emit(doc, &query);
    assert_int_equal(doc_finish(doc), 0);
    if (kind->release) kind->release(&query);
    json_t *value = json_loadb(written.bytes, written.length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    free(written.bytes);
    return value;
}

static json_t *member(json_t *object, const char *path)
{
    char key[64];
    while (*path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        object = json_object_get(object, key);
        path += length + (path[length] == '.');
    }
    return object;
}

static long long number(json_t *object, const char *path)
{
    json_t *value = member(object, path);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *string(json_t *object, const char *path)
{
    return json_string_value(member(object, path));
}

static const char *name_of(json_t *rows, size_t i, const char *key)
{
    return json_string_value(json_object_get(json_array_get(rows, i), key));
}

/* 60 kernels named k00 to k59; totals 100, 100, 99, 99, ... so that ties are told by name, and given in
 * descending order of names so that it is not their own order. */
static void kernels_by_total_then_name(void **state)
{
    (void)state;
    available();
    static struct gpu_summary_row rows[60];
    static char names[60][4];
    for (unsigned i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "k%02u", 59 - i);
        rows[i] = (struct gpu_summary_row){
            .name = text(names[i]), .total_ns = 100 - (59 - i) / 2, .count = {true, 1}};
    }
    gpu->kernels = (struct gpu_summary_rows){rows, 60};
    struct gpu_limit limits[] = {{text("a_cuda_gpu_kern_sum.csv"), 70, 60, true},
                                 {text("b_cuda_gpu_kern_sum.csv"), 5, 0, true},
                                 {text("cuda_api_sum.csv"), 900, 100, true}};
    gpu->limits = limits;
    gpu->limit_count = 3;
    json_t *kernels = result(&query_gpu_kernels), *list = member(kernels, "rows");
    assert_int_equal(json_array_size(list), 50);
    for (size_t i = 0; i < 50; i++) {
        char expected[4];
        snprintf(expected, sizeof expected, "k%02u", (unsigned)i);
        assert_string_equal(name_of(list, i, "name"), expected);
    }
    assert_int_equal(number(kernels, "displayed"), 50);
    assert_int_equal(number(kernels, "population_total"), 75);
    assert_true(json_is_true(member(kernels, "display_truncated")));
    assert_string_equal(string(kernels, "status"), "available");
    assert_true(json_is_null(member(kernels, "reason")));
    assert_string_equal(string(kernels, "provenance_binding"), "bound");
    assert_string_equal(string(kernels, "required_reports.cuda_gpu_kern_sum.status"), "available");
    assert_null(member(kernels, "required_reports.cuda_gpu_kern_sum.reason"));
    json_decref(kernels);
}

static void total_is_at_least_what_is_kept(void **state)
{
    (void)state;
    available();
    struct gpu_summary_row row = {.name = text("k"), .total_ns = 1};
    gpu->kernels = (struct gpu_summary_rows){&row, 1};
    json_t *kernels = result(&query_gpu_kernels);
    assert_int_equal(number(kernels, "population_total"), 1);
    assert_true(json_is_false(member(kernels, "display_truncated")));
    json_decref(kernels);
}

static void failed_reports_are_not_unavailable(void **state)
{
    (void)state;
    available();
    gpu->parse_failed[GPU_REPORT_KERNELS] = true; /* covered by another file, but one could not be read */
    json_t *kernels = result(&query_gpu_kernels);
    assert_string_equal(string(kernels, "status"), "failed");
    assert_true(json_is_null(member(kernels, "population_total")));
    assert_int_equal(json_array_size(member(kernels, "rows")), 0);
    json_decref(kernels);

    available();
    gpu->coverage[GPU_REPORT_TIMELINE] = false;
    json_t *phases = result(&query_gpu_phases);
    assert_string_equal(string(phases, "status"), "unavailable");
    assert_string_equal(string(phases, "projected_ranges.status"), "available");
    assert_non_null(strstr(string(phases, "reason"), "cuda_gpu_trace"));
    assert_null(strstr(string(phases, "reason"), "nvtx_gpu_proj_trace"));
    json_decref(phases);

    gpu->parse_failed[GPU_REPORT_NVTX_RANGES] = true; /* one failed, one unavailable: failed */
    phases = result(&query_gpu_phases);
    assert_string_equal(string(phases, "status"), "failed");
    json_decref(phases);
}

static void phases_and_ranges(void **state)
{
    (void)state;
    available();
    struct gpu_timeline_row ranges[] = {
        {.name = text("b"), .projected_duration_ns = {true, 10}, .device = text("0"), .stream = text("7")},
        {.name = text("none"), .correlation_id = text("1"), .context = text("2")},
        {.name = text("a"),
         .projected_duration_ns = {true, 10},
         .projected_start_ns = {true, 3},
         .gpu_operations = {true, 4},
         .semantic_key = text("step")},
        {.name = text("long"), .projected_duration_ns = {true, 11}}};
    gpu->nvtx_ranges = (struct gpu_timeline_rows){ranges, 4};
    struct gpu_phase_row phase_rows[] = {
        {.semantic_key = text("z"), .gpu_busy_ns = 5},
        {.semantic_key = text("y"), .gpu_busy_ns = 5},
        {.semantic_key = text("x"), .gpu_busy_ns = 6, .join_keys = GPU_JOIN_DEVICE}};
    gpu->phase_attribution = (struct gpu_phase_rows){phase_rows, 3};
    struct gpu_limit limit = {text("nvtx_gpu_proj_trace.csv"), 9, 4, true};
    gpu->limits = &limit;
    gpu->limit_count = 1;
    json_t *phases = result(&query_gpu_phases), *rows = member(phases, "projected_ranges.rows");
    static const char *const by_duration[] = {"long", "a", "b", "none"}, *const by_busy[] = {"x", "y", "z"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(name_of(rows, i, "name"), by_duration[i]);
    char *a = json_dumps(json_array_get(rows, 1), JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        a, "{\"declared_gpu_operations\":4,\"join_keys\":[],\"name\":\"a\",\"projected_duration_ns\":10,"
           "\"projected_start_ns\":3,\"semantic_key\":\"step\"}");
    free(a);
    char *none = json_dumps(json_array_get(rows, 3), JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        none,
        "{\"declared_gpu_operations\":null,\"join_keys\":[\"correlation_id\",\"context\"],\"name\":\"none\","
        "\"projected_duration_ns\":null,\"projected_start_ns\":null,\"semantic_key\":null}");
    free(none);
    assert_int_equal(number(phases, "projected_ranges.population_total"), 9);
    assert_int_equal(number(phases, "projected_ranges.retained_sample_total"), 4);
    assert_true(json_is_true(member(phases, "projected_ranges.population_truncated_before_ranking")));
    assert_true(json_is_false(member(phases, "projected_ranges.display_truncated")));
    rows = member(phases, "attributed_phases.rows");
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(name_of(rows, i, "semantic_key"), by_busy[i]);
    assert_int_equal(number(phases, "attributed_phases.population_total"), 3);
    json_decref(phases);
}

static void ledger_lists_are_cut_at_100(void **state)
{
    (void)state;
    available();
    struct gpu_ledger *ledger = &gpu->correlation.ledger;
    char label[8];
    for (unsigned i = 0; i < 101; i++) {
        snprintf(label, sizeof label, "l%03u", i);
        add(&ledger->expected, label);
        if (i < 100) add(&ledger->matched, label);
    }
    struct gpu_duplicate duplicate = {text("twice"), 2};
    ledger->duplicates = &duplicate;
    ledger->duplicate_count = 1;
    gpu->correlation.complete = true;
    json_t *correlation = result(&query_gpu_correlation);
    assert_int_equal(number(correlation, "ledger.expected.displayed"), 100);
    assert_int_equal(number(correlation, "ledger.expected.total"), 101);
    assert_true(json_is_true(member(correlation, "ledger.expected.truncated")));
    assert_true(json_is_false(member(correlation, "ledger.matched.truncated")));
    assert_int_equal(json_object_size(member(correlation, "ledger")), 8);
    assert_int_equal(number(json_array_get(member(correlation, "ledger.duplicates.rows"), 0), "occurrences"),
                     2);
    assert_string_equal(string(correlation, "mode"), "nvtx_projected_range");
    assert_true(json_is_true(member(correlation, "complete")));
    assert_true(json_is_null(member(correlation, "correlation_reason")));
    json_decref(correlation);
    free(ledger->expected.at);
    free(ledger->matched.at);
    arena_free(&gpu->arena);
}

static void gaps_between_labels_and_phases(void **state)
{
    (void)state;
    available();
    struct gpu_ledger *ledger = &gpu->correlation.ledger;
    add(&ledger->expected, "step");
    add(&ledger->expected, "load");
    add(&ledger->matched, "step"); /* in the order of the ledger, not of bytes */
    add(&ledger->matched, "load");
    add(&ledger->matched, "busy");
    struct gpu_phase_row phases[] = {{.semantic_key = text("zeta")},
                                     {.semantic_key = text("busy")},
                                     {.semantic_key = text("alpha")},
                                     {.semantic_key = text("zeta")}};
    gpu->phase_attribution = (struct gpu_phase_rows){phases, 4};
    struct gpu_limit limits[] = {{text("a.csv"), 9, 4, true},
                                 {text("b.csv"), 4, 4, false},
                                 {text("nvtx_gpu_proj_trace.csv"), 12, 1, true}};
    gpu->limits = limits;
    gpu->limit_count = 3;
    add(&gpu->diagnostics, "b");
    add(&gpu->diagnostics, "a");
    add(&gpu->provenance_diagnostics, "b");
    json_t *gaps = result(&query_gpu_attribution_gaps);
    char *unexpected = json_dumps(member(gaps, "attributed_unexpected.rows"), JSON_COMPACT);
    assert_string_equal(unexpected, "[\"alpha\",\"busy\",\"zeta\"]");
    free(unexpected);
    char *without = json_dumps(member(gaps, "matched_without_exact_gpu_busy_attribution.rows"), JSON_COMPACT);
    assert_string_equal(without, "[\"step\",\"load\"]");
    free(without);
    char *truncated = json_dumps(member(gaps, "truncated_reports.rows"), JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(truncated,
                        "[{\"displayed_rows\":4,\"report\":\"a.csv\",\"total_rows\":9},"
                        "{\"displayed_rows\":1,\"report\":\"nvtx_gpu_proj_trace.csv\",\"total_rows\":12}]");
    free(truncated);
    char *diagnostics = json_dumps(member(gaps, "diagnostics.rows"), JSON_COMPACT);
    assert_string_equal(diagnostics, "[\"a\",\"b\"]");
    free(diagnostics);
    assert_int_equal(number(gaps, "exactly_attributed_phase_rows"), 4);
    assert_int_equal(number(gaps, "projected_range_rows"), 12);
    assert_true(json_is_false(member(gaps, "correlation_complete")));
    json_decref(gaps);
    free(ledger->expected.at);
    free(ledger->matched.at);
    free(gpu->diagnostics.at);
    free(gpu->provenance_diagnostics.at);
    arena_free(&gpu->arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_by_total_then_name),
        cmocka_unit_test(total_is_at_least_what_is_kept),
        cmocka_unit_test(failed_reports_are_not_unavailable),
        cmocka_unit_test(phases_and_ranges),
        cmocka_unit_test(ledger_lists_are_cut_at_100),
        cmocka_unit_test(gaps_between_labels_and_phases),
    };
    return run_tap(tests);
}
