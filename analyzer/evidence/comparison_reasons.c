#include "analyzer/evidence/comparison_reasons.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MIN = 5 };

/* The two cohorts and how messages call them. */
struct side {
    const struct cohort *cohort;
    const char *name;
};

static bool add(struct comparison *comparison, enum comparison_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool add(struct comparison *comparison, enum comparison_code code, const char *format, ...)
{
    if (comparison->reason_count == comparison->reason_capacity) {
        size_t capacity = comparison->reason_capacity * 2 + 16;
        struct comparison_reason *larger =
            reallocarray(comparison->reasons, capacity, sizeof *comparison->reasons);
        if (!larger) return false;
        comparison->reasons = larger;
        comparison->reason_capacity = capacity;
    }
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct cg_text text = arena_string(&comparison->arena, message);
    comparison->reasons[comparison->reason_count++] = (struct comparison_reason){code, text};
    return text.bytes != NULL;
}

/* ---- steps 1 to 4: receipts and single runs ---- */

static bool digest_valid(const char digest[65])
{
    size_t length = strnlen(digest, 65);
    for (size_t i = 0; i < length; i++)
        if (!isxdigit((unsigned char)digest[i])) return false;
    return length == 64;
}

static bool examine_receipts(struct comparison *comparison, struct side side)
{
    const struct cohort *cohort = side.cohort;
    if (cohort->receipt_count != cohort->count)
        return add(comparison, COMPARISON_RECEIPT_COUNT, "the %s has %zu receipts for %zu traces", side.name,
                   cohort->receipt_count, cohort->count);
    for (size_t i = 0; i < cohort->count; i++) {
        const struct comparison_receipt *receipt = &cohort->receipts[i];
        char name[TEXT_NAME_SIZE];
        if (!text_equal(receipt->run_id, cohort->runs[i].run_id) &&
            !add(comparison, COMPARISON_RECEIPT_RUN_ID, "%s run %zu: the receipt names another run than %s",
                 side.name, i + 1, text_name(cohort->runs[i].run_id, name)))
            return false;
        if (!digest_valid(receipt->manifest_sha256) &&
            !add(comparison, COMPARISON_RECEIPT_DIGEST,
                 "%s run %zu: the receipt's digest is not 64 hexadecimal digits", side.name, i + 1))
            return false;
    }
    return true;
}

static bool on_device(struct cg_text device)
{
    return device.length < 3 || memcmp(device.bytes, "cpu", 3) != 0;
}

static bool examine_run(struct comparison *comparison, const struct run_facts *run, const char *cohort,
                        size_t number)
{
    bool complete = run->structurally_valid && run->outcome == CG_OUTCOME_COMPLETE;
    if (!complete &&
        !add(comparison, COMPARISON_INCOMPLETE, "%s run %zu: %s", cohort, number,
             run->structurally_valid ? "the capture failed" : "the trace is not structurally valid"))
        return false;
    if (run->measurement_scope != CG_SCOPE_PRODUCTION_EQUIVALENT &&
        !add(comparison, COMPARISON_NOT_EQUIVALENT,
             "%s run %zu: measurement scope is %s, not production_equivalent", cohort, number,
             cg_name_SCOPE[run->measurement_scope]))
        return false;
    if (on_device(run->device) && !run->device_synchronized &&
        !add(comparison, COMPARISON_UNSYNCHRONIZED,
             "%s run %zu: the measured region is not declared synchronised with its device", cohort, number))
        return false;
    return run->measured_count == 1 ||
           add(comparison, COMPARISON_MEASURED_COUNT, "%s run %zu: %llu closed measured regions, expected 1",
               cohort, number, (unsigned long long)run->measured_count);
}

static bool examine_runs(struct comparison *comparison, struct side side)
{
    for (size_t i = 0; i < side.cohort->count; i++)
        if (!examine_run(comparison, &side.cohort->runs[i], side.name, i + 1)) return false;
    return true;
}

/* ---- steps 5 to 7: over all runs, baseline first ---- */

static const struct run_facts *run_at(const struct comparison *comparison, size_t i)
{
    size_t before = comparison->baseline_inputs.count;
    return i < before ? &comparison->baseline_inputs.runs[i] : &comparison->candidate_inputs.runs[i - before];
}

static size_t run_total(const struct comparison *comparison)
{
    return comparison->baseline_inputs.count + comparison->candidate_inputs.count;
}

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct cg_text *)a, *(const struct cg_text *)b);
}

static bool examine_duplicates(struct comparison *comparison)
{
    size_t total = run_total(comparison);
    struct cg_text *ids = calloc(total + 1, sizeof *ids);
    if (!ids) return false;
    for (size_t i = 0; i < total; i++)
        ids[i] = run_at(comparison, i)->run_id;
    qsort(ids, total, sizeof *ids, compare_texts);
    bool ok = true;
    for (size_t i = 1; i < total; i++) {
        if (!text_equal(ids[i - 1], ids[i])) continue;
        char name[TEXT_NAME_SIZE];
        ok = add(comparison, COMPARISON_DUPLICATE_RUNS, "run %s was given more than once",
                 text_name(ids[i], name));
        break;
    }
    free(ids);
    return ok;
}

/* The first member in which two runs were not captured alike; NULL when there is none. */
static const char *semantic_difference(const struct run_facts *a, const struct run_facts *b)
{
    if (!text_equal(a->entrypoint, b->entrypoint)) return "entrypoint";
    if (a->phase != b->phase) return "phase";
    if (!text_equal(a->device, b->device)) return "device";
    if (a->timing_mode != b->timing_mode) return "timing_mode";
    if (a->warmup_steps != b->warmup_steps) return "warmup_steps";
    if (a->capture_step != b->capture_step) return "capture_step";
    if (!text_equal(a->contract, b->contract)) return "capture_contract";
    if (a->device_synchronized != b->device_synchronized) return "measured_region_device_synchronized";
    return NULL;
}

static bool examine_semantics(struct comparison *comparison)
{
    size_t total = run_total(comparison);
    if (total == 0) return add(comparison, COMPARISON_NO_RUNS, "no run was given");
    for (size_t i = 1; i < total; i++) {
        const char *member = semantic_difference(run_at(comparison, 0), run_at(comparison, i));
        if (!member) continue;
        char name[TEXT_NAME_SIZE];
        return add(comparison, COMPARISON_SEMANTICS, "run %s differs from the first run in %s",
                   text_name(run_at(comparison, i)->run_id, name), member);
    }
    return true;
}

static bool identity_valid(const struct fact_identity *identity)
{
    bool valid = !(identity->implementation_id.bytes && cg_text_blank(identity->implementation_id)) &&
                 !(identity->pair_id.bytes && cg_text_blank(identity->pair_id));
#define VALID_TEXT(name)            valid = valid && !cg_text_blank(identity->name);
#define VALID_NUMBER(name)          valid = valid && identity->name > 0;
#define VALID_CONDITION(name, type) VALID_##type(name)
    FACT_CONDITIONS(VALID_CONDITION)
#undef VALID_CONDITION
#undef VALID_NUMBER
#undef VALID_TEXT
    return valid;
}

/* The first condition in which two identities differ; NULL when there is none. */
static const char *condition_difference(const struct fact_identity *a, const struct fact_identity *b)
{
#define DIFFERENT_TEXT(name)                                                                                 \
    if (!text_equal(a->name, b->name)) return #name;
#define DIFFERENT_NUMBER(name)                                                                               \
    if (a->name != b->name) return #name;
#define DIFFERENT_CONDITION(name, type) DIFFERENT_##type(name)
    FACT_CONDITIONS(DIFFERENT_CONDITION)
#undef DIFFERENT_CONDITION
#undef DIFFERENT_NUMBER
#undef DIFFERENT_TEXT
    return NULL;
}

static bool examine_identity(struct comparison *comparison)
{
    size_t total = run_total(comparison);
    char name[TEXT_NAME_SIZE];
    if (total == 0) return add(comparison, COMPARISON_IDENTITY_MISSING, "no run has a comparison identity");
    for (size_t i = 0; i < total; i++)
        if (!run_at(comparison, i)->identity.present)
            return add(comparison, COMPARISON_IDENTITY_MISSING, "run %s has no comparison identity",
                       text_name(run_at(comparison, i)->run_id, name));
    const struct fact_identity *first = &run_at(comparison, 0)->identity;
    if (!identity_valid(first))
        return add(comparison, COMPARISON_IDENTITY_INVALID,
                   "the comparison identity of run %s has a blank or zero member",
                   text_name(run_at(comparison, 0)->run_id, name));
    for (size_t i = 1; i < total; i++) {
        const char *member = condition_difference(first, &run_at(comparison, i)->identity);
        if (member)
            return add(comparison, COMPARISON_IDENTITY_DIFFERS, "run %s differs from the first run in %s",
                       text_name(run_at(comparison, i)->run_id, name), member);
    }
    comparison->identity = first;
    return true;
}

/* ---- steps 8 to 10: implementation ids and pairs ---- */

static bool examine_implementation(struct comparison *comparison, struct side side,
                                   struct cohort_result *result)
{
    const struct cohort *cohort = side.cohort;
    if (cohort->count == 0)
        return add(comparison, COMPARISON_IMPLEMENTATION_MISSING, "the %s has no run", side.name);
    for (size_t i = 0; i < cohort->count; i++)
        if (!cohort->runs[i].identity.implementation_id.bytes)
            return add(comparison, COMPARISON_IMPLEMENTATION_MISSING, "%s run %zu has no implementation id",
                       side.name, i + 1);
    for (size_t i = 0; i < cohort->count; i++)
        if (cg_text_blank(cohort->runs[i].identity.implementation_id))
            return add(comparison, COMPARISON_IMPLEMENTATION_EMPTY,
                       "%s run %zu has a blank implementation id", side.name, i + 1);
    const struct cg_text *first = &cohort->runs[0].identity.implementation_id;
    for (size_t i = 1; i < cohort->count; i++)
        if (!text_equal(cohort->runs[i].identity.implementation_id, *first))
            return add(comparison, COMPARISON_IMPLEMENTATION_INCONSISTENT,
                       "%s run %zu has another implementation id than run 1", side.name, i + 1);
    result->implementation_id = first;
    return true;
}

struct paired_run {
    struct cg_text id;
    uint64_t duration_ns;
    size_t number;
};

static int compare_paired_runs(const void *a, const void *b)
{
    const struct paired_run *x = a, *y = b;
    int order = text_compare(x->id, y->id);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Which run of a cohort, in argument order, is the first that cannot be paired, and why;
 * COMPARISON_CODE_COUNT when all can. Fills runs, ascending by pair id. */
static enum comparison_code first_unpaired(const struct cohort *cohort, struct paired_run *runs,
                                           size_t *number)
{
    size_t usable = 0;
    while (usable < cohort->count && cohort->runs[usable].identity.pair_id.bytes &&
           cohort->runs[usable].measured_count > 0) {
        runs[usable] = (struct paired_run){cohort->runs[usable].identity.pair_id,
                                           cohort->runs[usable].measured_duration_ns, usable + 1};
        usable++;
    }
    qsort(runs, usable, sizeof *runs, compare_paired_runs);
    size_t repeated = SIZE_MAX;
    for (size_t i = 1; i < usable; i++)
        if (text_equal(runs[i - 1].id, runs[i].id) && runs[i].number < repeated) repeated = runs[i].number;
    if (repeated != SIZE_MAX) { /* it stands before the run that ended the loop above */
        *number = repeated;
        return COMPARISON_PAIR_DUPLICATED;
    }
    *number = usable + 1;
    return usable < cohort->count ? COMPARISON_PAIRING_INCOMPLETE : COMPARISON_CODE_COUNT;
}

/* Sorts both cohorts by pair id; false when a reason was found (or memory is short, then *ok is false). */
static bool pair_cohort(struct comparison *comparison, struct side side, struct paired_run *runs, bool *ok)
{
    size_t number;
    enum comparison_code code = first_unpaired(side.cohort, runs, &number);
    if (code == COMPARISON_PAIR_DUPLICATED)
        *ok = add(comparison, code, "%s run %zu repeats the pair id of an earlier run", side.name, number);
    else if (code == COMPARISON_PAIRING_INCOMPLETE)
        *ok = add(comparison, code, "%s run %zu has no pair id or no closed measured region", side.name,
                  number);
    return code == COMPARISON_CODE_COUNT;
}

static bool same_pair_sets(const struct paired_run *baseline, size_t baseline_count,
                           const struct paired_run *candidate, size_t candidate_count)
{
    if (baseline_count != candidate_count) return false;
    for (size_t i = 0; i < baseline_count; i++)
        if (!text_equal(baseline[i].id, candidate[i].id)) return false;
    return true;
}

static bool pairing_requested(const struct comparison *comparison)
{
    for (size_t i = 0; i < run_total(comparison); i++)
        if (run_at(comparison, i)->identity.pair_id.bytes) return true;
    return false;
}

static bool examine_pairs(struct comparison *comparison, struct side before, struct side after)
{
    if (!pairing_requested(comparison)) return true;
    size_t n = before.cohort->count, m = after.cohort->count;
    struct paired_run *baseline = calloc(n + 1, sizeof *baseline),
                      *candidate = calloc(m + 1, sizeof *candidate);
    bool ok = baseline && candidate;
    if (ok && pair_cohort(comparison, before, baseline, &ok) &&
        pair_cohort(comparison, after, candidate, &ok)) {
        if (!same_pair_sets(baseline, n, candidate, m)) {
            ok = add(comparison, COMPARISON_PAIR_SETS, "the cohorts do not have the same pair ids");
        } else {
            comparison->pairs = calloc(n + 1, sizeof *comparison->pairs);
            ok = comparison->pairs != NULL;
            for (size_t i = 0; ok && i < n; i++)
                comparison->pairs[i] =
                    (struct sample_pair){baseline[i].duration_ns, candidate[i].duration_ns};
            comparison->pair_count = n;
            comparison->paired = ok;
        }
    }
    free(baseline);
    free(candidate);
    return ok;
}

bool comparison_examine(struct comparison *comparison)
{
    struct side before = {&comparison->baseline_inputs, "baseline"};
    struct side after = {&comparison->candidate_inputs, "candidate"};
    bool ok =
        comparison->verified
            ? examine_receipts(comparison, before) && examine_receipts(comparison, after)
            : add(comparison, COMPARISON_UNVERIFIED_INPUTS, "raw traces are not vouched for by a bundle");
    ok = ok && examine_runs(comparison, before) && examine_runs(comparison, after);
    if (ok && (before.cohort->count < RUNS_MIN || after.cohort->count < RUNS_MIN))
        ok = add(comparison, COMPARISON_INSUFFICIENT,
                 "%zu baseline and %zu candidate runs, at least %d of each are needed", before.cohort->count,
                 after.cohort->count, RUNS_MIN);
    return ok && examine_duplicates(comparison) && examine_semantics(comparison) &&
           examine_identity(comparison) &&
           examine_implementation(comparison, before, &comparison->baseline) &&
           examine_implementation(comparison, after, &comparison->candidate) &&
           examine_pairs(comparison, before, after);
}
