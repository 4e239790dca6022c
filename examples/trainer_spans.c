/* The trainer with explicit calls of cgtrace.h: one step, the TRAINER_CAPTUREth (50), is a capture of its
 * own, with the parts of the step as spans, the loss, statistics of the gradients and the gradients
 * themselves, which a manifest declares. It runs the same without the recorder. */
#include <stdbool.h>

#include "preload/cgtrace.h"

static cgtrace_span parts[8]; /* open ones */
static unsigned depth;

static void part_begin(const char *name)
{
    parts[depth++] = cgtrace_span_begin(name);
}
static void part_end(void)
{
    cgtrace_span_end(parts[--depth]);
}

/* What the trainer calls at these places. */
#define PART_BEGIN(name)      part_begin(name)
#define PART_END()            part_end()
#define PROGRAM_BEGIN()       program_begin()
#define STEP_BEGIN(step)      step_begin(step)
#define STEP_END(step, loss)  step_end(step, loss)
#define GRADIENT(name, layer) gradient(name, layer)
static void program_begin(void);
static void step_begin(long step);
static void step_end(long step, float loss);
struct layer;
static void gradient(const char *name, const struct layer *layer);

#include "examples/trainer.c"

static struct cgtrace_selector selected;

/* The four parameters of the two layers. */
static const struct cgtrace_gradient_entry entries[] = {{"trainer", "first.weight", "weights"},
                                                        {"trainer", "first.bias", "biases"},
                                                        {"trainer", "second.weight", "weights"},
                                                        {"trainer", "second.bias", "biases"}};
static const struct cgtrace_gradient_family families[] = {{"weights", CGTRACE_EXPECT_ACTIVE, 2},
                                                          {"biases", CGTRACE_EXPECT_ACTIVE, 2}};
static const char *const labels[] = {"train_step", "forward", "backward", "optimizer"};

static void say(const char *what, int result)
{
    if (result < 0) fprintf(stderr, "trainer: %s: %s\n", what, cgtrace_result_text(result));
}

/* Nothing is captured but what step_begin() asks for. */
static void program_begin(void)
{
    const char *number = getenv("TRAINER_CAPTURE");

    if (cgtrace_select(&selected, number ? strtoull(number, NULL, 10) : 50) != CGTRACE_OK)
        selected.invocation = 50;
    say("captures", cgtrace_capture_explicit_only());
}

static void step_begin(long step)
{
    const struct cgtrace_contract_info contract = {.scope = CGTRACE_SCOPE_PROFILED_WORK,
                                                   .gradients = CGTRACE_LEVEL_COMPLETE,
                                                   .entries = entries,
                                                   .entry_count = 4,
                                                   .families = families,
                                                   .family_count = 2,
                                                   .required_labels = labels,
                                                   .required_count = 4};
    const struct cgtrace_session_info session = {.entrypoint = "trainer",
                                                 .phase = CGTRACE_PHASE_TRAIN,
                                                 .capture_step = (uint64_t)step,
                                                 .warmup_steps = CGTRACE_UNKNOWN,
                                                 .contract = &contract};

    if (cgtrace_selected(&selected, (uint64_t)step)) say("capture", cgtrace_session_begin(&session));
}

static void step_end(long step, float loss)
{
    if (!cgtrace_selected(&selected, (uint64_t)step)) return;
    say("loss", cgtrace_scalar("loss", (double)loss));
    say("capture", cgtrace_session_finish(NULL, 0));
}

/* What a gradient on the device says, once for each parameter and capture. */
static void tell_gradient(const char *key, const uint64_t *shape, size_t rank, CUdeviceptr values)
{
    uint64_t count = rank == 2 ? shape[0] * shape[1] : shape[0];
    float *copy = malloc(count * sizeof *copy);
    double squares = 0;
    bool finite = true;

    if (!copy) exit(1);
    CU(cuMemcpyDtoHAsync(copy, values, count * sizeof *copy, stream));
    CU(cuStreamSynchronize(stream));
    for (uint64_t i = 0; i < count; i++) {
        finite = finite && isfinite(copy[i]);
        squares += (double)copy[i] * (double)copy[i];
    }
    say("statistics", cgtrace_tensor_values(key, shape, rank, copy));
    if (!finite)
        say("gradient", cgtrace_gradient("trainer", key, CGTRACE_GRADIENT_NON_FINITE, 0));
    else if (squares > 0)
        say("gradient", cgtrace_gradient("trainer", key, CGTRACE_GRADIENT_PRESENT, sqrt(squares)));
    else
        say("gradient", cgtrace_gradient("trainer", key, CGTRACE_GRADIENT_ZERO, 0));
    free(copy);
}

static void gradient(const char *name, const struct layer *layer)
{
    const uint64_t shape[] = {layer->inputs, layer->outputs};
    char key[32];

    if (!cgtrace_recording()) return;
    snprintf(key, sizeof key, "%s.weight", name);
    tell_gradient(key, shape, 2, layer->weight_grad);
    snprintf(key, sizeof key, "%s.bias", name);
    tell_gradient(key, &shape[1], 1, layer->bias_grad);
}
