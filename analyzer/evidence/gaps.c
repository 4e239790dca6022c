/* What the evidence does not say (doc/spec/evidence.md 8): warnings and the reasons of incomplete states. */
#include <stdlib.h>

#include "analyzer/evidence/evidence_private.h"

static int compare_gaps(const void *a, const void *b)
{
    return text_compare(*(const struct cg_text *)a, *(const struct cg_text *)b);
}

static void add_gap(struct evidence *evidence, struct cg_text text)
{
    evidence->gaps[evidence->gap_count++] = text;
}

static bool add_warnings(struct evidence *evidence)
{
    for (size_t i = 0; i < evidence->health.issue_count; i++) {
        const struct health_issue *issue = &evidence->health.issues[i];
        if (issue->severity != HEALTH_WARNING) continue;
        char message[HEALTH_MESSAGE_SIZE];
        health_message(evidence->trace, issue, message);
        struct cg_text gap = arena_string(&evidence->arena, message);
        if (!gap.bytes) return false;
        add_gap(evidence, gap);
    }
    return true;
}

bool evidence_shows_activations(const struct evidence *evidence)
{
    return evidence->trace->run.capture_contract.activations != CG_COVERAGE_NONE ||
           evidence->activations.operation_count > 0;
}

static void add_activation_gaps(struct evidence *evidence)
{
    const struct activations *activations = &evidence->activations;
    const struct activation_state *const states[] = {&activations->coverage, &activations->host_time,
                                                     &activations->device_time, &activations->dense_output,
                                                     &activations->logical_memory};
    if (!evidence_shows_activations(evidence)) return;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i]->level != CAPABILITY_COMPLETE) add_gap(evidence, text_of(states[i]->reason));
}

bool gaps_make(struct evidence *evidence)
{
    size_t most = evidence_issue_count(evidence, HEALTH_WARNING) + CAPABILITY_KIND_COUNT + 5;
    evidence->gaps = malloc(most * sizeof *evidence->gaps);
    if (!evidence->gaps || !add_warnings(evidence)) return false;
    for (unsigned kind = 0; kind < CAPABILITY_KIND_COUNT; kind++)
        if (evidence->capabilities[kind].level != CAPABILITY_COMPLETE)
            add_gap(evidence, evidence->capabilities[kind].reason);
    add_activation_gaps(evidence);
    qsort(evidence->gaps, evidence->gap_count, sizeof *evidence->gaps, compare_gaps);
    size_t kept = 0;
    for (size_t i = 0; i < evidence->gap_count; i++)
        if (!kept || text_compare(evidence->gaps[kept - 1], evidence->gaps[i]) != 0)
            evidence->gaps[kept++] = evidence->gaps[i];
    evidence->gap_count = kept;
    return true;
}
