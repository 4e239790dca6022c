/* Labels of the trace against ranges of the NVTX projection, in both directions (doc/spec/nsight.md 8). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/nsight_private.h"

enum { EXPECTED = 1, CPU_ONLY = 2 };

/* A label that is declared or was projected. */
struct label {
    struct cg_text text;
    unsigned roles;
    uint64_t occurrences;
};

struct correlating {
    struct nsight *nsight;
    unsigned char *roles;  /* of each string; strings from `known` on have none */
    uint64_t *occurrences; /* of each string, as a label */
    uint32_t known;
    struct label *labels; /* byte order */
    size_t count;
    bool plain, colon; /* forms of declared labels that were met */
    uint64_t unchecked, checked, by_ids, wrong;
};

static void declare(struct correlating *correlating, const struct gpu_texts *labels, unsigned role)
{
    for (size_t i = 0; i < labels->count; i++) {
        cg_str label = strings_find(correlating->nsight->strings, labels->at[i].bytes, labels->at[i].length);
        if (label != CG_ABSENT) correlating->roles[label] |= (unsigned char)role;
    }
}

/* The label of a range: its name, or what follows the colon of the default domain. */
static cg_str label_of(struct correlating *correlating, cg_str name)
{
    struct nsight *nsight = correlating->nsight;
    struct cg_text text = strings_text(nsight->strings, name);
    if (text.bytes[0] != ':' || (name < correlating->known && correlating->roles[name])) return name;
    cg_str label = strings_find(nsight->strings, text.bytes + 1, text.length - 1);
    if (label != CG_ABSENT) return label;
    struct cg_text copy =
        arena_text(&nsight->gpu->arena, text.bytes + 1, text.length - 1); /* interning moves texts */
    return nsight_intern(nsight, copy);
}

static void name_ranges(struct correlating *correlating)
{
    struct nsight_intervals *ranges = &correlating->nsight->ranges;
    for (size_t r = 0; r < ranges->count && !correlating->nsight->no_memory; r++) {
        struct nsight_interval *range = &ranges->at[r];
        range->label = label_of(correlating, range->name);
        if (range->label < correlating->known && correlating->roles[range->label])
            *(range->label == range->name ? &correlating->plain : &correlating->colon) = true;
    }
}

static unsigned roles_of(const struct correlating *correlating, cg_str string)
{
    return string < correlating->known ? correlating->roles[string] : 0;
}

static int compare_labels(const void *a, const void *b)
{
    return text_compare(((const struct label *)a)->text, ((const struct label *)b)->text);
}

static bool list_labels(struct correlating *correlating)
{
    struct nsight *nsight = correlating->nsight;
    uint32_t strings = nsight->strings->count;
    correlating->occurrences = calloc((size_t)strings + 1, sizeof *correlating->occurrences);
    if (!correlating->occurrences) return false;
    for (size_t r = 0; r < nsight->ranges.count; r++)
        correlating->occurrences[nsight->ranges.at[r].label]++;
    size_t count = 0;
    for (uint32_t s = 1; s <= strings; s++)
        count += correlating->occurrences[s] || roles_of(correlating, s);
    correlating->labels = calloc(count + 1, sizeof *correlating->labels);
    if (!correlating->labels) return false;
    for (uint32_t s = 1; s <= strings; s++)
        if (correlating->occurrences[s] || roles_of(correlating, s))
            correlating->labels[correlating->count++] =
                (struct label){nsight_text(nsight, s), roles_of(correlating, s), correlating->occurrences[s]};
    qsort(correlating->labels, count, sizeof *correlating->labels, compare_labels);
    return true;
}

static void put(struct correlating *correlating, struct gpu_texts *list, bool belongs, struct cg_text label)
{
    if (belongs && !gpu_texts_add(&correlating->nsight->gpu->arena, list, label))
        correlating->nsight->no_memory = true;
}

static void write_ledger(struct correlating *correlating)
{
    struct gpu_ledger *ledger = &correlating->nsight->gpu->correlation.ledger;
    ledger->duplicates = calloc(correlating->count + 1, sizeof *ledger->duplicates);
    if (!ledger->duplicates) {
        correlating->nsight->no_memory = true;
        return;
    }
    for (size_t i = 0; i < correlating->count; i++) {
        const struct label *label = &correlating->labels[i];
        bool expected = label->roles & EXPECTED, cpu_only = label->roles & CPU_ONLY,
             seen = label->occurrences;
        put(correlating, &ledger->expected, expected, label->text);
        put(correlating, &ledger->cpu_only, cpu_only, label->text);
        put(correlating, &ledger->observed, seen, label->text);
        put(correlating, &ledger->matched, expected && seen, label->text);
        put(correlating, &ledger->missing_expected, expected && !seen, label->text);
        put(correlating, &ledger->unexpected_observed, seen && !label->roles, label->text);
        put(correlating, &ledger->unexpected_cpu_only, seen && cpu_only, label->text);
        if (label->occurrences > 1)
            ledger->duplicates[ledger->duplicate_count++] =
                (struct gpu_duplicate){label->text, label->occurrences};
    }
}

/* Do the ranges of expected labels hold the operations that they declare? */
static void check_counts(struct correlating *correlating, const struct nsight_join *joins)
{
    const struct nsight *nsight = correlating->nsight;
    for (size_t r = 0; r < nsight->ranges.count; r++) {
        const struct nsight_interval *range = &nsight->ranges.at[r];
        if (!(roles_of(correlating, range->label) & EXPECTED)) continue;
        if (range->operations.known && range->operations.value == 0) {
            correlating->wrong++;
        } else if (!range->operations.known || !nsight->timeline.count || !joins[r].keys) {
            correlating->unchecked++;
        } else if (!joins[r].exact) {
            correlating->wrong++;
        } else {
            correlating->checked++;
            correlating->by_ids += joins[r].rows != range->operations.value;
        }
    }
}

static struct cg_text incomplete(const struct correlating *correlating)
{
    struct gpu_evidence *gpu = correlating->nsight->gpu;
    const struct gpu_ledger *ledger = &gpu->correlation.ledger;
    if (!correlating->nsight->ranges.count)
        return arena_string(&gpu->arena, "there is no NVTX projection to correlate");
    if (!ledger->expected.count)
        return arena_string(
            &gpu->arena, "nothing was expected: the trace's contract names no label that shows on the GPU");
    return arena_printf(
        &gpu->arena,
        "%zu expected labels missing, %zu unexpected, %zu declared for the CPU alone but projected, "
        "%zu more than once; operation counts %s (%llu ranges differ)",
        ledger->missing_expected.count, ledger->unexpected_observed.count, ledger->unexpected_cpu_only.count,
        ledger->duplicate_count, correlating->wrong ? "do not hold" : "hold",
        (unsigned long long)correlating->wrong);
}

static struct cg_text complete(const struct correlating *correlating)
{
    struct text_arena *arena = &correlating->nsight->gpu->arena;
    unsigned long long checked = correlating->checked, unchecked = correlating->unchecked,
                       by_ids = correlating->by_ids;
    if (by_ids)
        return arena_printf(
            arena,
            "every expected label was projected once: the operations of %llu ranges were counted in "
            "the GPU timeline (of %llu by distinct correlation ids, not rows), %llu rely on the NVTX "
            "projection alone",
            checked, by_ids, unchecked);
    return arena_printf(
        arena,
        "every expected label was projected once: the operations of %llu ranges were counted in the "
        "GPU timeline, %llu rely on the NVTX projection alone",
        checked, unchecked);
}

static void conclude(struct correlating *correlating)
{
    struct nsight *nsight = correlating->nsight;
    struct gpu_correlation *correlation = &nsight->gpu->correlation;
    const struct gpu_ledger *ledger = &correlation->ledger;
    struct text_arena *arena = &nsight->gpu->arena;

    correlation->mode = arena_string(arena, nsight->ranges.count ? "nvtx_projected_range" : "none");
    correlation->complete = nsight->ranges.count && ledger->expected.count &&
                            !ledger->missing_expected.count && !ledger->unexpected_observed.count &&
                            !ledger->unexpected_cpu_only.count && !ledger->duplicate_count &&
                            !correlating->wrong;
    correlation->reason = correlation->complete ? complete(correlating) : incomplete(correlating);
    if (correlating->plain || correlating->colon)
        correlation->label_form = arena_string(arena, !correlating->colon  ? "plain"
                                                      : correlating->plain ? "mixed"
                                                                           : "colon");
    if (correlating->plain && correlating->colon)
        nsight_note(nsight, "NVTX projection: some names of labels begin with a colon and some do not");
    if (!correlation->mode.bytes || !correlation->reason.bytes) nsight->no_memory = true;
}

/* Which of the lists holds the labels that the GPU should show (1). */
static const struct gpu_texts *expected_labels(const struct nsight_labels *labels)
{
    return labels->gpu_expected.count || labels->cpu_only.count ? &labels->gpu_expected : &labels->required;
}

/* Declared labels that no report names are strings too: they were interned before. */
void nsight_correlate(struct nsight *nsight, const struct nsight_join *joins)
{
    struct correlating correlating = {.nsight = nsight, .known = nsight->strings->count + 1};
    correlating.roles = calloc(correlating.known, 1);
    if (correlating.roles) {
        declare(&correlating, expected_labels(nsight->labels), EXPECTED);
        declare(&correlating, &nsight->labels->cpu_only, CPU_ONLY);
        name_ranges(&correlating);
    }
    if (!correlating.roles || nsight->no_memory || !list_labels(&correlating)) {
        nsight->no_memory = true;
    } else {
        check_counts(&correlating, joins);
        write_ledger(&correlating);
        conclude(&correlating);
    }
    free(correlating.roles);
    free(correlating.occurrences);
    free(correlating.labels);
}
