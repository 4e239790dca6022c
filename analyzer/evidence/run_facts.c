#include "analyzer/evidence/run_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/planes.h"
#include "common/json_doc.h"

bool text_equal(struct cg_text a, struct cg_text b)
{
    if (!a.bytes || !b.bytes) return !a.bytes && !b.bytes;
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

/* Copies one string of the trace; false when memory is short. */
static bool keep(struct run_facts *facts, const struct cg_trace *trace, cg_str string, struct cg_text *text)
{
    *text = (struct cg_text){0};
    if (string == CG_ABSENT) return true;
    struct cg_text source = trace_text(trace, string);
    *text = arena_text(&facts->arena, source.bytes, source.length);
    return text->bytes != NULL;
}

/* ---- the contract as canonical text ---- */

struct growing {
    char *bytes;
    size_t length, capacity;
};

static int grow(void *context, const char *bytes, size_t length)
{
    struct growing *text = context;
    if (text->capacity - text->length < length) {
        size_t capacity = (text->capacity + length) * 2;
        char *larger = realloc(text->bytes, capacity);
        if (!larger) return -1;
        text->bytes = larger;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

static void write_text(struct json_doc *doc, const struct cg_trace *trace, cg_str string)
{
    struct cg_text text = trace_text(trace, string);
    doc_string_bytes(doc, text.bytes, text.length);
}

static void write_labels(struct json_doc *doc, const struct cg_trace *trace, struct cg_list labels)
{
    doc_array(doc);
    for (uint32_t i = 0; i < labels.count; i++)
        write_text(doc, trace, trace->str_pool[labels.first + i]);
    doc_array_end(doc);
}

static void write_gradient_contract(struct json_doc *doc, const struct cg_trace *trace)
{
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract = &trace->run.capture_contract.gradient_contract;
    if (!contract->present) {
        doc_null(doc);
        return;
    }
    doc_array(doc);
    write_text(doc, trace, contract->manifest_sha256);
    for (size_t i = 0; i < contract->expected_count; i++) {
        write_text(doc, trace, contract->expected[i].root);
        write_text(doc, trace, contract->expected[i].key);
        write_text(doc, trace, contract->expected[i].family);
    }
    doc_array(doc);
    for (size_t i = 0; i < contract->families_count; i++) {
        write_text(doc, trace, contract->families[i].family);
        doc_u64(doc, contract->families[i].expectation);
        doc_u64(doc, contract->families[i].min_present);
    }
    doc_array_end(doc);
    doc_array_end(doc);
}

/* All members with their defaults in place, in one fixed order: structural equality is equality of these
 * bytes. */
static bool keep_contract(struct run_facts *facts, const struct cg_trace *trace)
{
    const struct CG_OBJECT_CONTRACT *contract = &trace->run.capture_contract;
    const uint8_t levels[] = {(uint8_t)contract->measurement_scope, (uint8_t)contract->operations,
                              (uint8_t)contract->activations,       (uint8_t)contract->tensors,
                              (uint8_t)contract->gradients,         (uint8_t)contract->logical_memory,
                              (uint8_t)contract->physical_memory,   (uint8_t)contract->device_timing};
    struct growing text = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, grow, &text);
    if (!doc) return false;
    doc_array(doc);
    for (size_t i = 0; i < sizeof levels; i++)
        doc_u64(doc, levels[i]);
    write_gradient_contract(doc, trace);
    write_labels(doc, trace, contract->required_semantic_labels);
    write_labels(doc, trace, contract->gpu_expected_semantic_labels);
    write_labels(doc, trace, contract->cpu_only_semantic_labels);
    doc_array_end(doc);
    bool ok = doc_finish(doc) == 0;
    if (ok) {
        facts->contract = arena_text(&facts->arena, text.bytes, text.length);
        ok = facts->contract.bytes != NULL;
    }
    free(text.bytes);
    return ok;
}

/* ---- the rest ---- */

static bool keep_identity(struct run_facts *facts, const struct cg_trace *trace)
{
    const struct CG_OBJECT_IDENTITY *source = &trace->run.comparison_identity;
    struct fact_identity *identity = &facts->identity;
    identity->present = source->present;
    if (!source->present) return true;
    bool ok = keep(facts, trace, source->implementation_id, &identity->implementation_id) &&
              keep(facts, trace, source->pair_id, &identity->pair_id);
#define KEEP_TEXT(name)            ok = ok && keep(facts, trace, source->name, &identity->name);
#define KEEP_NUMBER(name)          identity->name = source->name;
#define KEEP_CONDITION(name, type) KEEP_##type(name)
    FACT_CONDITIONS(KEEP_CONDITION)
#undef KEEP_CONDITION
#undef KEEP_NUMBER
#undef KEEP_TEXT
    return ok;
}

static void keep_measured(struct run_facts *facts, const struct cg_trace *trace)
{
    for (size_t row = 0; row < trace->span.rows; row++) {
        if (!trace->span.measured[row] || !trace->span.closed[row]) continue;
        if (facts->measured_count++ == 0) facts->measured_duration_ns = trace->span.duration_ns[row];
    }
}

static bool keep_stats(struct run_facts *facts, const struct cg_trace *trace)
{
    const struct cg_tensor_stats *source = &trace->tensor_stats;
    if (source->rows == 0) return true;
    facts->stats = calloc(source->rows, sizeof *facts->stats);
    if (!facts->stats) return false;
    facts->stats_count = source->rows;
    for (size_t row = 0; row < source->rows; row++) {
        struct fact_stats *event = &facts->stats[row];
        *event = (struct fact_stats){.rms = source->rms[row],
                                     .abs_max = source->abs_max[row],
                                     .mean = source->mean[row],
                                     .non_finite = source->non_finite[row],
                                     .elements = source->elements[row]};
        if (!keep(facts, trace, source->label[row], &event->label)) return false;
    }
    return true;
}

static bool keep_gradients(struct run_facts *facts, const struct cg_trace *trace)
{
    const struct cg_gradients *source = &trace->gradient;
    if (source->rows == 0) return true;
    facts->gradients = calloc(source->rows, sizeof *facts->gradients);
    if (!facts->gradients) return false;
    facts->gradient_count = source->rows;
    struct growing joined = {0};
    bool ok = true;
    for (size_t row = 0; row < source->rows && ok; row++) {
        struct cg_text root = trace_text(trace, source->root[row]), key = trace_text(trace, source->key[row]);
        joined.length = 0;
        ok = grow(&joined, root.bytes, root.length) == 0 && grow(&joined, "/", 1) == 0 &&
             grow(&joined, key.bytes, key.length) == 0;
        if (!ok) break;
        struct fact_gradient *event = &facts->gradients[row];
        *event = (struct fact_gradient){.key = arena_text(&facts->arena, joined.bytes, joined.length),
                                        .state = (enum cg_value_GRADIENT_STATE)source->state[row],
                                        .norm_known = source->norm_set[row],
                                        .norm = source->norm[row]};
        ok = event->key.bytes != NULL;
    }
    free(joined.bytes);
    return ok;
}

static bool judge(struct run_facts *facts, const struct cg_trace *trace)
{
    struct health health = {0};
    bool ok = health_make(trace, &health);
    facts->structurally_valid = ok && health.structurally_valid;
    health_free(&health);
    return ok;
}

bool run_facts_make(const struct cg_trace *trace, struct run_facts *facts)
{
    const struct cg_run *run = &trace->run;
    *facts = (struct run_facts){.phase = run->phase,
                                .timing_mode = run->timing_mode,
                                .measurement_scope = run->capture_contract.measurement_scope,
                                .outcome = trace->terminal.outcome,
                                .capture_step = run->capture_step,
                                .warmup_steps = run->warmup_steps,
                                .device_synchronized = run->measured_region_device_synchronized};
    bool ok = keep(facts, trace, run->run_id, &facts->run_id) &&
              keep(facts, trace, run->entrypoint, &facts->entrypoint) &&
              keep(facts, trace, run->device, &facts->device) &&
              keep(facts, trace, trace->terminal.reason, &facts->failure_reason) &&
              keep_contract(facts, trace) && keep_identity(facts, trace) && keep_stats(facts, trace) &&
              keep_gradients(facts, trace) && judge(facts, trace);
    keep_measured(facts, trace);
    if (!ok) run_facts_free(facts);
    return ok;
}

void run_facts_free(struct run_facts *facts)
{
    arena_free(&facts->arena);
    free(facts->stats);
    free(facts->gradients);
    *facts = (struct run_facts){0};
}
