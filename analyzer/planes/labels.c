/* Health of the semantic labels (doc/spec/trace.md 10.1, steps 19 and 20). */
#include "analyzer/planes/health_steps.h"
#include "analyzer/planes/pair_map.h"

struct label_pass {
    struct health_pass *pass;
    struct pair_map spans;        /* (required label, 0) to the number of spans with this name */
    struct string_set classified; /* labels seen in either class */
    size_t distinct_classified;   /* of those, how many are required */
    bool unrequired;              /* a classified label is not required */
};

static bool count_spans(struct label_pass *labels, const cg_str *required, size_t count)
{
    const struct cg_spans *spans = &labels->pass->trace->span;
    for (size_t i = 0; i < count; i++)
        if (!pair_map_insert(&labels->spans, required[i], 0, NULL)) return false;
    for (size_t i = 0; count && i < spans->rows; i++) {
        struct pair_entry *entry = pair_map_find(&labels->spans, spans->name[i], 0);
        if (entry) entry->value++;
    }
    return true;
}

static bool check_required(struct label_pass *labels, const cg_str *required, size_t count)
{
    struct health_pass *pass = labels->pass;
    struct string_set seen;
    if (!string_set_make(&seen, pass->trace)) return false;
    for (size_t i = 0; i < count; i++) {
        cg_str label = required[i];
        uint32_t spans = pair_map_find(&labels->spans, label, 0)->value;
        if (trace_blank(pass->trace, label))
            report(pass, HEALTH_EMPTY_REQUIRED_SEMANTIC_LABEL, .subject = label);
        if (!string_set_add(&seen, label))
            report(pass, HEALTH_DUPLICATE_REQUIRED_SEMANTIC_LABEL, .subject = label);
        if (spans != 1)
            report(pass, HEALTH_REQUIRED_SEMANTIC_LABEL_CARDINALITY, .subject = label, .number = spans);
    }
    string_set_free(&seen);
    return true;
}

static bool check_class(struct label_pass *labels, struct cg_list list, enum health_detail detail)
{
    struct health_pass *pass = labels->pass;
    const uint16_t class = (uint16_t)detail;
    struct string_set seen;
    if (!string_set_make(&seen, pass->trace)) return false;
    for (uint32_t i = 0; i < list.count; i++) {
        cg_str label = pass->trace->str_pool[list.first + i];
        bool required = pair_map_find(&labels->spans, label, 0) != NULL;
        if (trace_blank(pass->trace, label))
            report(pass, HEALTH_EMPTY_SEMANTIC_LABEL_CLASSIFICATION, .subject = label, .detail = class);
        if (!string_set_add(&seen, label))
            report(pass, HEALTH_DUPLICATE_SEMANTIC_LABEL_CLASSIFICATION, .subject = label, .detail = class);
        if (!required)
            report(pass, HEALTH_UNREQUIRED_SEMANTIC_LABEL_CLASSIFICATION, .subject = label, .detail = class);
        if (!string_set_add(&labels->classified, label))
            report(pass, HEALTH_OVERLAPPING_SEMANTIC_LABEL_CLASSIFICATION, .subject = label, .detail = class);
        else
            labels->distinct_classified += required;
        labels->unrequired = labels->unrequired || !required;
    }
    string_set_free(&seen);
    return true;
}

static bool check_classes(struct label_pass *labels)
{
    const struct CG_OBJECT_CONTRACT *contract = &labels->pass->trace->run.capture_contract;
    struct cg_list gpu = contract->gpu_expected_semantic_labels, cpu = contract->cpu_only_semantic_labels;
    if (!gpu.count && !cpu.count) return true;
    if (!string_set_make(&labels->classified, labels->pass->trace)) return false;
    bool done =
        check_class(labels, gpu, HEALTH_DETAIL_GPU_LIST) && check_class(labels, cpu, HEALTH_DETAIL_CPU_LIST);
    if (done && (labels->unrequired || labels->distinct_classified != labels->spans.count))
        report(labels->pass, HEALTH_INCOMPLETE_SEMANTIC_LABEL_PARTITION);
    string_set_free(&labels->classified);
    return done;
}

bool health_labels(struct health_pass *pass)
{
    struct cg_list required = pass->trace->run.capture_contract.required_semantic_labels;
    const cg_str *strings = required.count ? pass->trace->str_pool + required.first : NULL;
    struct label_pass labels = {.pass = pass};
    bool done = count_spans(&labels, strings, required.count) &&
                (!required.count || check_required(&labels, strings, required.count)) &&
                check_classes(&labels);
    pair_map_free(&labels.spans);
    return done;
}
