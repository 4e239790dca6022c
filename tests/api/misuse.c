/* Mistakes that callers of cgtrace.h make: each gives its error, and nothing of it is recorded. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/api/calls.h"

static uint64_t monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- mistakes: none of them is recorded ---- */

static char long_text[CGTRACE_NAME_MAX + 2];

static void *of_another_thread(void *span)
{
    SAY(cgtrace_span_end(*(cgtrace_span *)span));
    SAY(cgtrace_call_edge(0, *(cgtrace_span *)span));
    return NULL;
}

static void wrong_spans(void)
{
    cgtrace_span outer, inner, other;
    uint64_t now = 0, before;
    pthread_t thread;

    SAY(cgtrace_span_begin(NULL));
    SAY(cgtrace_span_begin(""));
    SAY(cgtrace_span_begin(" \t\xc2\xa0"));
    SAY(cgtrace_span_begin(long_text));
    SAY(cgtrace_span_begin_as("x", (enum cgtrace_kind)3, CGTRACE_STEP_NONE));
    SAY(cgtrace_span_begin_as("x", CGTRACE_KIND_OP, (enum cgtrace_step)5));
    SAY(cgtrace_measured_begin("measured"));
    outer = BEGAN(cgtrace_span_begin("outer"));
    inner = BEGAN(cgtrace_span_begin("inner"));
    SAY(cgtrace_span_end(outer));
    SAY(cgtrace_call_edge(inner, outer));
    SAY(cgtrace_span_end(inner));
    SAY(cgtrace_span_end(inner));
    SAY(cgtrace_call_edge(outer, inner));
    other = inner + 1000;
    SAY(cgtrace_span_end(other));
    SAY(cgtrace_span_end(0));
    SAY(cgtrace_span_end(-3));
    pthread_create(&thread, NULL, of_another_thread, &outer);
    pthread_join(thread, NULL);
    SAY(cgtrace_now(NULL));
    SAY(cgtrace_from_monotonic(1, NULL));
    SAY(cgtrace_from_monotonic(1, &now));
    SAY(cgtrace_from_monotonic(UINT64_MAX, &now));
    before = monotonic();
    SAY(cgtrace_from_monotonic(before, &now));
    SAY(cgtrace_span_complete(NULL, CGTRACE_KIND_OP, 0, 1));
    SAY(cgtrace_span_complete("x", (enum cgtrace_kind) - 1, 0, 1));
    SAY(cgtrace_span_complete("x", CGTRACE_KIND_OP, 0, 0));
    SAY(cgtrace_span_complete("x", CGTRACE_KIND_OP, now, UINT64_MAX));
    SAY(cgtrace_span_complete("x", CGTRACE_KIND_OP, now, 3600000000000u));
    SAY(cgtrace_span_end(outer));
}

static void wrong_records(void)
{
    static const uint64_t huge[] = {UINT64_MAX, 2}, zero[] = {5, 0};
    const struct cgtrace_op_info ops[] = {
        {.name = NULL},
        {.name = " "},
        {.name = long_text},
        {.name = "x", .rank = 1},
        {.name = "x", .rank = CGTRACE_RANK_MAX + 1, .shape = huge},
        {.name = "x", .input_count = 1},
        {.name = "x", .input_count = CGTRACE_INPUTS_MAX + 1, .inputs = huge},
        {.name = "x", .input_count = 2, .inputs = zero},
        {.name = "x", .dtype = ""},
        {.name = "x", .duration_ns = UINT64_MAX},
        {.name = "x", .timestamp_ns = UINT64_MAX},
        {.name = "x", .timestamp_ns = UINT64_MAX, .duration_ns = 5}};
    const struct cgtrace_tensor_info tensors_[] = {{.tensor = 0},
                                                   {.tensor = 1, .rank = 2},
                                                   {.tensor = 1, .category = (enum cgtrace_category)6},
                                                   {.tensor = 1, .label = ""},
                                                   {.tensor = 1, .device = long_text}};
    const struct cgtrace_stats_info stats[] = {{.label = NULL},
                                               {.label = "\xe3\x80\x80"},
                                               {.label = "x", .rank = 1},
                                               {.label = "x", .shape = huge, .rank = 2},
                                               {.label = "x", .non_finite = 2},
                                               {.label = "x", .rms = -1},
                                               {.label = "x", .rms = NAN},
                                               {.label = "x", .abs_max = -0.5},
                                               {.label = "x", .mean = INFINITY}};

    SAY(cgtrace_op(NULL));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        SAY(cgtrace_op(&ops[i]));
    SAY(cgtrace_tensor(NULL));
    for (size_t i = 0; i < sizeof tensors_ / sizeof *tensors_; i++)
        SAY(cgtrace_tensor(&tensors_[i]));
    SAY(cgtrace_tensor_stats(NULL));
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++)
        SAY(cgtrace_tensor_stats(&stats[i]));
    SAY(cgtrace_tensor_values("x", two_by_three, 2, NULL));
    SAY(cgtrace_tensor_values("x", huge, 2, (const float *)huge));
    SAY(cgtrace_scalar(NULL, 1));
    SAY(cgtrace_scalar("", 1));
}

static void wrong_storages(void)
{
    struct cgtrace_storage_info storage = {.storage = 1, .tensor = 1, .bytes = 16};
    struct cgtrace_interval_info interval = {
        .device = "d", .stream = "s", .clock = "c", .backend = "b", .duration_ns = 1};

    SAY(cgtrace_alloc(NULL));
    SAY(cgtrace_free(1, NULL));
    SAY(cgtrace_alloc(&storage));
    SAY(cgtrace_alloc(&storage)); /* this tensor has it */
    storage.tensor = 2;
    storage.bytes = 17;
    SAY(cgtrace_alloc(&storage)); /* other bytes */
    SAY(cgtrace_free(1, "cuda:0"));
    SAY(cgtrace_free(0, NULL));
    SAY(cgtrace_free(1, NULL));
    SAY(cgtrace_free(1, NULL));
    storage.storage = 0;
    SAY(cgtrace_alloc(&storage));
    storage.storage = 2;
    storage.tensor = 0;
    SAY(cgtrace_alloc(&storage));
    SAY(cgtrace_device_memory(NULL, 1, 1, 1, 1));
    SAY(cgtrace_device_memory("d", CGTRACE_UNKNOWN, CGTRACE_UNKNOWN, CGTRACE_UNKNOWN, CGTRACE_UNKNOWN));
    SAY(cgtrace_device_interval(NULL));
    interval.duration_ns = 0;
    SAY(cgtrace_device_interval(&interval));
    interval.duration_ns = UINT64_MAX;
    interval.start_ns = 1;
    SAY(cgtrace_device_interval(&interval));
    interval.duration_ns = 1;
    interval.span = 0x123456789;
    SAY(cgtrace_device_interval(&interval));
    interval.span = 0;
    interval.backend = NULL;
    SAY(cgtrace_device_interval(&interval));
    SAY(cgtrace_gradient(NULL, "k", CGTRACE_GRADIENT_ZERO, 0));
    SAY(cgtrace_gradient("r", " ", CGTRACE_GRADIENT_ZERO, 0));
    SAY(cgtrace_gradient("r", "k", CGTRACE_GRADIENT_ZERO, -0.0));
    SAY(cgtrace_gradient("r", "k", CGTRACE_GRADIENT_ZERO, 1));
    SAY(cgtrace_gradient("r", "k", CGTRACE_GRADIENT_PRESENT, 0));
    SAY(cgtrace_gradient("r", "k", CGTRACE_GRADIENT_PRESENT, INFINITY));
    SAY(cgtrace_gradient("r", "k", CGTRACE_GRADIENT_MISSING, 1));
    SAY(cgtrace_gradient("r", "k", (enum cgtrace_gradient_state)4, 0));
    SAY(cgtrace_data_edge(0, 1));
    SAY(cgtrace_data_edge(1001, 1002));
}

static void wrong_declarations(void)
{
    static const char *const twice[] = {"a", "a"}, *const blank[] = {"a", ""}, *const both[] = {"a", "b"};
    static const struct cgtrace_gradient_entry same[] = {{"r", "k", "f"}, {"r", "k", "f"}},
                                               empty[] = {{"r", "", "f"}}, null[] = {{"r", NULL, "f"}};
    static const struct cgtrace_gradient_family f[] = {{"f", CGTRACE_EXPECT_ACTIVE, 1},
                                                       {"g", CGTRACE_EXPECT_ACTIVE, 1}},
                                                zero[] = {{"f", CGTRACE_EXPECT_ACTIVE, 0}},
                                                some[] = {{"f", CGTRACE_EXPECT_INACTIVE, 1}};
    struct cgtrace_identity_info wrong = identity;
    const struct cgtrace_contract_info contracts[] = {
        {.required_labels = twice, .required_count = 2},
        {.required_labels = blank, .required_count = 2},
        {.required_labels = NULL, .required_count = 1},
        {.required_labels = both, .required_count = 2, .gpu_labels = both, .gpu_count = 1},
        {.required_labels = both,
         .required_count = 2,
         .gpu_labels = both,
         .gpu_count = 2,
         .cpu_labels = both,
         .cpu_count = 1},
        {.gpu_labels = both, .gpu_count = 1},
        {.gradients = CGTRACE_LEVEL_COMPLETE},
        {.entries = entries, .entry_count = 2, .families = families, .family_count = 2},
        {.gradients = CGTRACE_LEVEL_COMPLETE,
         .entries = same,
         .entry_count = 2,
         .families = f,
         .family_count = 1},
        {.gradients = CGTRACE_LEVEL_COMPLETE,
         .entries = same,
         .entry_count = 1,
         .families = f,
         .family_count = 2},
        {.gradients = CGTRACE_LEVEL_COMPLETE,
         .entries = same,
         .entry_count = 1,
         .families = zero,
         .family_count = 1},
        {.gradients = CGTRACE_LEVEL_COMPLETE,
         .entries = same,
         .entry_count = 1,
         .families = some,
         .family_count = 1},
        {.gradients = CGTRACE_LEVEL_COMPLETE,
         .entries = empty,
         .entry_count = 1,
         .families = f,
         .family_count = 1},
        {.gradients = CGTRACE_LEVEL_COMPLETE,
         .entries = null,
         .entry_count = 1,
         .families = f,
         .family_count = 1},
        {.gradients = CGTRACE_LEVEL_COMPLETE,
         .entries = entries,
         .entry_count = 2,
         .families = f,
         .family_count = 1},
        {.tensors = (enum cgtrace_level)4},
        {.scope = (enum cgtrace_scope)3},
    };

    SAY(cgtrace_tag(NULL, "x"));
    SAY(cgtrace_tag("x", NULL));
    SAY(cgtrace_tag(" ", "x"));
    SAY(cgtrace_tag("x", long_text));
    wrong.physical_batch = 0;
    SAY(cgtrace_identity(&wrong));
    wrong = identity;
    wrong.model_id = " ";
    SAY(cgtrace_identity(&wrong));
    wrong.model_id = NULL;
    SAY(cgtrace_identity(&wrong));
    wrong = identity;
    wrong.pair_id = "";
    SAY(cgtrace_identity(&wrong));
    for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++)
        SAY(cgtrace_contract(&contracts[i]));
}

static void wrong_sessions(void)
{
    const struct cgtrace_contract_info manifest = {.gradients = CGTRACE_LEVEL_COMPLETE,
                                                   .entries = entries,
                                                   .entry_count = 2,
                                                   .families = families,
                                                   .family_count = 2};
    const struct cgtrace_session_info session = {.entrypoint = "e", .capture_step = 1, .contract = &manifest};

    SAY(cgtrace_session_begin(NULL));
    SAY(cgtrace_session_begin(&session)); /* the whole process is captured */
    SAY(cgtrace_gradient("not in", "the manifest", CGTRACE_GRADIENT_ZERO,
                         0)); /* of the session that is none */
    SAY(cgtrace_capture_explicit_only());
    SAY(cgtrace_session_finish(NULL, 0));
    SAY(cgtrace_session_fail("why", NULL, 0));
}

void misuse(void)
{
    memset(long_text, 'x', sizeof long_text - 1);
    wrong_spans();
    wrong_records();
    wrong_storages();
    wrong_declarations();
    wrong_sessions();
}
