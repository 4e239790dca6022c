/* A program that uses the API of cgtrace.h. usage: calls WAY; prints the result of each call as a line "WHAT
 * RESULT".
 *
 * Also built as a plugin, whose entry is calls_run(). */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/api/calls.h"

const uint64_t two_by_three[] = {2, 3};

/* ---- each function once or twice, with what a trace must then hold worked out in t_api.py ---- */

static void spans(void)
{
    cgtrace_span outer, inner, deepest;
    uint64_t start = 0, end = 0;

    outer = BEGAN(cgtrace_span_begin("train_step"));
    inner = BEGAN(cgtrace_span_begin_as("encoder", CGTRACE_KIND_MODULE, CGTRACE_STEP_FORWARD));
    deepest = BEGAN(cgtrace_span_begin_as("forward", CGTRACE_KIND_OP, CGTRACE_STEP_NONE));
    SAY(cgtrace_call_edge(inner, deepest));
    SAY(cgtrace_call_edge(0, inner));
    SAY(cgtrace_span_end(deepest));
    SAY(cgtrace_span_end(inner));
    inner = BEGAN(cgtrace_span_begin("trainer/update-10/backward"));
    SAY(cgtrace_span_end(inner));
    SAY(cgtrace_now(&start));
    while (cgtrace_now(&end) == CGTRACE_OK && end < start + 1000)
        ;
    BEGAN(cgtrace_span_complete("loading", CGTRACE_KIND_FUNCTION, start, 1000));
    SAY(cgtrace_span_end(outer));
    printf("loading_start %llu\n", (unsigned long long)start);
}

static void tensors(void)
{
    static const uint64_t inputs[] = {1, 2};
    uint64_t start = 0, now = 0;
    cgtrace_span span = BEGAN(cgtrace_span_begin("optimizer"));
    struct cgtrace_tensor_info tensor = {
        .tensor = 1, .label = "input", .shape = two_by_three, .rank = 2, .dtype = "f32", .device = "cuda:1"};

    SAY(cgtrace_tensor(&tensor));
    tensor = (struct cgtrace_tensor_info){
        .tensor = 2, .dtype = "q4", .bytes = 77, .requires_grad = 1, .category = CGTRACE_CATEGORY_PARAMETER};
    SAY(cgtrace_tensor(&tensor));
    cgtrace_now(&start);
    while (cgtrace_now(&now) == CGTRACE_OK && now < start + 500)
        ;

    struct cgtrace_op_info op = {.name = "matmul",
                                 .inputs = inputs,
                                 .input_count = 2,
                                 .output = 3,
                                 .shape = two_by_three,
                                 .rank = 2,
                                 .dtype = "bf16",
                                 .device = "cuda:1",
                                 .duration_ns = 400,
                                 .timestamp_ns = start,
                                 .input_bytes = 101};
    SAY(cgtrace_op(&op));
    op = (struct cgtrace_op_info){.name = "print"};
    SAY(cgtrace_op(&op));
    SAY(cgtrace_data_edge(1, 3));
    SAY(cgtrace_data_edge(2, 3));
    SAY(cgtrace_span_end(span));
    printf("matmul_start %llu\n", (unsigned long long)start);
}

static void statistics(void)
{
    static const float values[] = {3, -4, 0, 0, 0, 0}, broken[] = {1, NAN, INFINITY, -1, 2, 2};
    static const uint64_t none[] = {0, 7};
    const struct cgtrace_stats_info stats = {.label = "grad/w",
                                             .shape = two_by_three,
                                             .rank = 2,
                                             .dtype = "f16",
                                             .non_finite = 1,
                                             .rms = 0.1,
                                             .abs_max = 1e300,
                                             .mean = -0.0};

    SAY(cgtrace_tensor_stats(&stats));
    SAY(cgtrace_tensor_values("values", two_by_three, 2, values));
    SAY(cgtrace_tensor_values("broken", two_by_three, 2, broken));
    SAY(cgtrace_tensor_values("none", none, 2, NULL));
    SAY(cgtrace_scalar("loss", -2.5));
    SAY(cgtrace_scalar("lost", NAN));
    SAY(cgtrace_scalar("far", -INFINITY));
    SAY(cgtrace_scalar("bytes \xff\"\n", 0));
}

static void storages(void)
{
    struct cgtrace_storage_info storage = {.storage = 7,
                                           .tensor = 1,
                                           .bytes = 24,
                                           .device = "cuda:1",
                                           .op = "matmul",
                                           .shape = two_by_three,
                                           .rank = 2,
                                           .dtype = "f32"};
    cgtrace_span span = BEGAN(cgtrace_span_begin("backward"));

    SAY(cgtrace_alloc(&storage));
    storage.tensor = 2; /* an alias */
    SAY(cgtrace_alloc(&storage));
    SAY(cgtrace_free(7, "cuda:1"));
    SAY(cgtrace_span_end(span));
    storage.tensor = 1; /* the same number once more, on another device too */
    SAY(cgtrace_alloc(&storage));
    storage.device = NULL;
    storage.bytes = 8;
    storage.category = CGTRACE_CATEGORY_OTHER;
    SAY(cgtrace_alloc(&storage));
    SAY(cgtrace_free(7, "cuda:1")); /* the one on cpu is kept */
}

static void devices(void)
{
    cgtrace_span span;
    struct cgtrace_interval_info interval = {.device = "cuda:1",
                                             .stream = "stream 5",
                                             .clock = "cuda:1/events",
                                             .backend = "events",
                                             .start_ns = 18446744073709551000u,
                                             .duration_ns = 615,
                                             .activity = "kernel",
                                             .name = "gemm",
                                             .correlation = 9};

    SAY(cgtrace_device_memory("cuda:1", 10, CGTRACE_UNKNOWN, 0, 100));
    span = BEGAN(cgtrace_span_begin("measured by events"));
    SAY(cgtrace_span_end(span));
    interval.span = span;
    SAY(cgtrace_device_interval(&interval));
    interval = (struct cgtrace_interval_info){
        .device = "cpu", .stream = "s", .clock = "c", .backend = "b", .duration_ns = 1};
    SAY(cgtrace_device_interval(&interval));
}

static void gradients(void)
{
    SAY(cgtrace_gradient("vb", "encoder.weight", CGTRACE_GRADIENT_PRESENT, 0.5));
    SAY(cgtrace_gradient("vb", "encoder.bias", CGTRACE_GRADIENT_ZERO, 0));
    SAY(cgtrace_gradient("vb", "head.weight", CGTRACE_GRADIENT_MISSING, 0));
    SAY(cgtrace_gradient("vb", "head.bias", CGTRACE_GRADIENT_NON_FINITE, 0));
}

const struct cgtrace_identity_info identity = {.workload_id = "w",
                                               .model_id = "m\"1\"",
                                               .config_id = "c",
                                               .data_id = "d",
                                               .seed_policy = "fixed",
                                               .physical_batch = 8,
                                               .accumulation_steps = 2,
                                               .precision = "bf16",
                                               .device_state = "idle",
                                               .pair_id = "p"};
const struct cgtrace_gradient_entry entries[] = {{"vb", "encoder.weight", "encoder"},
                                                 {"vb", "head.bias", "head"}};
const struct cgtrace_gradient_family families[] = {{"encoder", CGTRACE_EXPECT_ACTIVE, 1},
                                                   {"head", CGTRACE_EXPECT_INACTIVE, 0}};
static const char *const labels[] = {"train_step", "loading"};
static const struct cgtrace_contract_info contract = {.scope = CGTRACE_SCOPE_PROFILED_WORK,
                                                      .tensors = CGTRACE_LEVEL_COMPLETE,
                                                      .activations = CGTRACE_LEVEL_COMPLETE,
                                                      .operations = CGTRACE_LEVEL_PARTIAL,
                                                      .required_labels = labels,
                                                      .required_count = 2,
                                                      .gpu_labels = &labels[0],
                                                      .gpu_count = 1,
                                                      .cpu_labels = &labels[1],
                                                      .cpu_count = 1};

static void declarations(void)
{
    SAY(cgtrace_tag("model", "tiny"));
    SAY(cgtrace_tag("model", "tiny \"2\""));
    SAY(cgtrace_tag("empty", ""));
    SAY(cgtrace_identity(&identity));
    SAY(cgtrace_contract(&contract));
}

static void many_tags(void)
{
    char key[16];
    int result = CGTRACE_OK;

    for (int i = 0; i < 65; i++) {
        snprintf(key, sizeof key, "key %d", i);
        if (i == 64 && result == CGTRACE_OK) cgtrace_scalar("opens the trace", 0);
        say(key, result = cgtrace_tag(key, "x"));
    }
    SAY(cgtrace_tag("key 3", "y"));
    SAY(cgtrace_identity(NULL));
    SAY(cgtrace_contract(NULL));
}

static void everything(void)
{
    printf("version %s\n", cgtrace_version());
    SAY(cgtrace_recording());
    declarations();
    spans();
    tensors();
    statistics();
    storages();
    devices();
    gradients();
    SAY(cgtrace_flush());
    SAY(cgtrace_recording());
}

/* As a first call, a mistake opens nothing: no trace is left behind. */
static void mistaken(void)
{
    SAY(cgtrace_span_begin(""));
    SAY(cgtrace_scalar(NULL, 0));
    SAY(cgtrace_op(NULL));
    SAY(cgtrace_span_end(77));
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 2000 };

static void *work(void *argument)
{
    uint64_t own = (uint64_t)(size_t)argument * 1000000 + 1;
    int lost = 0;
    char name[16];

    snprintf(name, sizeof name, "thread %u", (unsigned)(size_t)argument);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const struct cgtrace_storage_info storage = {
            .storage = own + i % 10, .tensor = own + i, .bytes = 16 + i % 10};
        const uint64_t shape[] = {i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        const struct cgtrace_op_info op = {
            .name = "op", .output = own + i, .shape = shape, .rank = i % 12 ? i % 12 - 1 : 0, .dtype = "f32"};
        CGTRACE_SPAN(name);

        int op_result, edge;

        if (cgtrace_alloc(&storage) < 0 || (op_result = cgtrace_op(&op)) < 0 ||
            cgtrace_scalar("loss", (double)i) < 0)
            exit(3);
        lost |= op_result == CGTRACE_LOST;
        edge = i > 0 ? cgtrace_data_edge(own + i - 1, own + i) : CGTRACE_OK;
        if (edge < 0 && !(lost && edge == CGTRACE_E_UNKNOWN)) exit(4);
        if (cgtrace_free(storage.storage, NULL) < 0) exit(5);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* One storage number for all threads: whoever gets it. */
static void *contend(void *argument)
{
    const struct cgtrace_storage_info storage = {
        .storage = 5, .tensor = 1 + (uint64_t)(size_t)argument, .bytes = 64};
    size_t got = 0;

    for (int i = 0; i < ROUNDS; i++) {
        got += cgtrace_alloc(&storage) == CGTRACE_OK;
        cgtrace_free(5, NULL);
    }
    return (void *)got;
}

static void contention(void)
{
    pthread_t all[THREADS];
    size_t sum = 0;

    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, contend, (void *)i);
    for (size_t i = 0; i < THREADS; i++) {
        void *got;

        pthread_join(all[i], &got);
        sum += (size_t)got;
    }
    say("allocations", (long long)sum);
}

/* ---- sessions ---- */

static void one_session(uint64_t step, int own_measured)
{
    const struct cgtrace_tag_info tags[] = {{"run", "1"}, {"a", "b"}};
    struct cgtrace_contract_info manifest = contract;
    struct cgtrace_session_info session = {.entrypoint = "trainer",
                                           .phase = CGTRACE_PHASE_TRAIN,
                                           .capture_step = step,
                                           .warmup_steps = CGTRACE_UNKNOWN,
                                           .own_measured = own_measured,
                                           .tags = tags,
                                           .tag_count = 2,
                                           .identity = &identity,
                                           .contract = &manifest};
    const struct cgtrace_storage_info storage = {.storage = 1, .tensor = step, .bytes = 8};
    cgtrace_span measured = 0, outer, inner;
    char path[1024] = "";

    manifest.gradients = CGTRACE_LEVEL_COMPLETE;
    manifest.entries = entries;
    manifest.entry_count = 2;
    manifest.families = families;
    manifest.family_count = 2;
    SAY(cgtrace_session_begin(&session));
    SAY(cgtrace_session_begin(&session));
    if (own_measured) measured = BEGAN(cgtrace_measured_begin("update"));
    SAY(cgtrace_measured_begin("update"));
    outer = BEGAN(cgtrace_span_begin("train_step"));
    inner = BEGAN(cgtrace_span_begin("loading"));
    SAY(cgtrace_gradient("vb", "encoder.weight", CGTRACE_GRADIENT_PRESENT, 2));
    SAY(cgtrace_gradient("vb", "encoder.weight", CGTRACE_GRADIENT_PRESENT, 2));
    SAY(cgtrace_gradient("vb", "unheard of", CGTRACE_GRADIENT_PRESENT, 2));
    SAY(cgtrace_gradient("vb", "head.bias", CGTRACE_GRADIENT_MISSING, 0));
    SAY(cgtrace_free(1, NULL)); /* alive since before */
    SAY(cgtrace_session_finish(path, sizeof path));
    SAY(cgtrace_span_end(inner));
    SAY(cgtrace_span_end(outer));
    if (own_measured) SAY(cgtrace_span_end(measured));
    SAY(cgtrace_alloc(&storage)); /* alive at the end */
    SAY(cgtrace_session_finish(path, sizeof path));
    printf("path %s\n", path);
}

static void wrong_requests(void)
{
    struct cgtrace_session_info session = {.entrypoint = "e"};
    struct cgtrace_identity_info wrong = identity;
    const struct cgtrace_contract_info complete = {.gradients = CGTRACE_LEVEL_COMPLETE};

    SAY(cgtrace_session_begin(NULL));
    SAY(cgtrace_session_begin(&session));
    session.capture_step = session.warmup_steps = 2;
    SAY(cgtrace_session_begin(&session));
    session.warmup_steps = 0;
    session.entrypoint = " ";
    SAY(cgtrace_session_begin(&session));
    session.entrypoint = NULL;
    SAY(cgtrace_session_begin(&session));
    session.entrypoint = "e";
    session.phase = (enum cgtrace_phase)3;
    SAY(cgtrace_session_begin(&session));
    session.phase = CGTRACE_PHASE_AUTO;
    session.tag_count = 1;
    SAY(cgtrace_session_begin(&session));
    session.tag_count = 0;
    wrong.data_id = "";
    session.identity = &wrong;
    SAY(cgtrace_session_begin(&session));
    session.identity = NULL;
    session.contract = &complete;
    SAY(cgtrace_session_begin(&session));
    session.contract = NULL;
    session.path = "/proc/none/x.jsonl";
    SAY(cgtrace_session_begin(&session));
    SAY(cgtrace_session_finish(NULL, 0));
}

static void sessions(void)
{
    const struct cgtrace_session_info last = {
        .entrypoint = "last", .capture_step = 9, .warmup_steps = 1, .path = "named.jsonl"};
    const struct cgtrace_storage_info storage = {.storage = 1, .tensor = 1, .bytes = 8};
    cgtrace_span around, open;
    char path[8] = "";

    SAY(cgtrace_capture_explicit_only());
    SAY(cgtrace_recording());
    SAY(cgtrace_scalar("loss", 1));
    SAY(cgtrace_alloc(&storage));
    wrong_requests();
    around = BEGAN(cgtrace_span_begin("epoch"));
    one_session(3, 0);
    one_session(4, 1);
    SAY(cgtrace_span_end(around));
    SAY(cgtrace_session_begin(&last));
    SAY(cgtrace_recording());
    open = BEGAN(cgtrace_span_begin("never ended"));
    SAY(cgtrace_session_fail(NULL, NULL, 0));
    SAY(cgtrace_session_fail(" \n", NULL, 0));
    SAY(cgtrace_session_fail("loss is \"nan\"", path, sizeof path));
    printf("path %s\n", path);
    SAY(cgtrace_session_fail("again", NULL, 0));
    SAY(cgtrace_span_end(open));
    SAY(cgtrace_flush());
}

/* ---- others ---- */

static void words(void)
{
    static const char *const phases[] = {"train", "TRAINING", "Infer", "inference",
                                         "eval",  "Evaluate", "test",  ""};
    static const char *const steps[] = {"forward", "FWD",      "backward", "Backward-Pass",
                                        "bwd",     "backprop", "optim",    "optimizer",
                                        "step",    "steps",    "fw",       "backward__pass"};
    struct cgtrace_selector selector = {0};

    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        enum cgtrace_phase phase = CGTRACE_PHASE_AUTO;
        int result = cgtrace_parse_phase(phases[i], &phase);

        printf("phase:%s %d %d\n", phases[i], result, (int)phase);
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        enum cgtrace_step step = CGTRACE_STEP_NONE;
        int result = cgtrace_parse_step(steps[i], &step);

        printf("step:%s %d %d\n", steps[i], result, (int)step);
    }
    SAY(cgtrace_parse_phase(NULL, NULL));
    SAY(cgtrace_parse_step("forward", NULL));
    SAY(cgtrace_select(&selector, 0));
    SAY(cgtrace_selected(&selector, 0));
    SAY(cgtrace_select(&selector, 3));
    SAY(cgtrace_selected(&selector, 2));
    SAY(cgtrace_selected(&selector, 3));
    SAY(cgtrace_selected(NULL, 3));
#define RESULT(constant, value, meaning)                                                                     \
    printf(#constant " %d %s\n", (int)constant, cgtrace_result_text(constant));
    CGTRACE_RESULTS(RESULT)
    printf("%s\n", cgtrace_result_text(-1000));
}

/* What is flushed is in the unfinished trace, whatever happens to the capture file. */
static void flushed(void)
{
    cgtrace_scalar("flushed", 1);
    SAY(cgtrace_flush());
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

/* A session whose measured region never comes, ended by the end of the program. */
static void unmeasured(void)
{
    const struct cgtrace_session_info session = {.entrypoint = "e", .capture_step = 1, .own_measured = 1};

    SAY(cgtrace_session_begin(&session));
    SAY(cgtrace_session_finish(NULL, 0));
    BEGAN(cgtrace_span_begin("open at the end"));
}

/* Each child of a fork has its own trace, and its own storages. */
static void forked(void)
{
    const struct cgtrace_storage_info storage = {.storage = 1, .tensor = 1, .bytes = 8};
    cgtrace_span span = cgtrace_span_begin("parent");

    SAY(cgtrace_alloc(&storage));
    fflush(stdout);
    pid_t child = fork();

    SAY(cgtrace_alloc(&storage));
    SAY(cgtrace_data_edge(1, 1));
    SAY(cgtrace_span_end(span));
    fflush(stdout);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
}

/* All of it, then dies without an end. */
static void killed(void)
{
    everything();
    cgtrace_span_begin("open at death");
    cgtrace_scalar("last", 4);
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

__attribute__((visibility("default"))) int calls_run(const char *way);
int calls_run(const char *way)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"everything", everything}, {"misuse", misuse},         {"mistaken", mistaken},
                {"threads", threads},       {"contention", contention}, {"sessions", sessions},
                {"words", words},           {"tags", many_tags},        {"killed", killed},
                {"flushed", flushed},       {"unmeasured", unmeasured}, {"forked", forked}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(way, ways[i].name) != 0) continue;
        ways[i].run();
        fflush(stdout);
        return 0;
    }
    fprintf(stderr, "calls: unknown way '%s'\n", way);
    return 2;
}

#ifndef PLUGIN
int main(int argc, char **argv)
{
    return calls_run(argc > 1 ? argv[1] : "");
}
#endif
