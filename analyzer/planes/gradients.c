/* Health of the gradients: each record, and the records against the contract (doc/spec/trace.md 11). */
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/health_steps.h"
#include "analyzer/planes/pair_map.h"

/* A (root, key) that was observed. */
struct observed {
    uint32_t first; /* row of its first record */
    uint32_t count;
};

/* What a family's observed entries are, by their first records. */
struct family_state {
    uint64_t entries, captured, present, attached, non_finite;
};

struct gradient_pass {
    struct health_pass *pass;
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract;
    struct pair_map keys; /* (root, key) to row of observed */
    struct observed *observed;
    size_t observed_count, observed_capacity;
    struct pair_map expected;      /* (root, key) of the contract */
    struct pair_map family_rows;   /* (family, 0) to row of families */
    struct family_state *families; /* in contract order */
};

/* ---- each record (11.1) ---- */

static bool consistent(const struct cg_gradients *records, size_t row)
{
    double norm = records->norm[row];
    switch ((enum cg_value_GRADIENT_STATE)records->state[row]) {
    case CG_GRADIENT_STATE_PRESENT:
        return records->norm_set[row] && isfinite(norm) && norm > 0;
    case CG_GRADIENT_STATE_ZERO:
        return records->norm_set[row] && norm == 0 && !signbit(norm);
    default:
        return !records->norm_set[row];
    }
}

static enum health_detail state_detail(uint8_t state)
{
    static const enum health_detail details[CG_GRADIENT_STATE_COUNT] = {
        [CG_GRADIENT_STATE_PRESENT] = HEALTH_DETAIL_STATE_PRESENT,
        [CG_GRADIENT_STATE_MISSING] = HEALTH_DETAIL_STATE_MISSING,
        [CG_GRADIENT_STATE_ZERO] = HEALTH_DETAIL_STATE_ZERO,
        [CG_GRADIENT_STATE_NON_FINITE] = HEALTH_DETAIL_STATE_NON_FINITE,
    };
    return details[state];
}

static bool observe(struct gradient_pass *gradients, size_t row)
{
    const struct cg_gradients *records = &gradients->pass->trace->gradient;
    bool made;
    struct pair_entry *entry =
        pair_map_insert(&gradients->keys, records->root[row], records->key[row], &made);
    if (!entry) return false;
    if (made) {
        if (!array_room(&gradients->observed, gradients->observed_count, &gradients->observed_capacity,
                        sizeof *gradients->observed))
            return false;
        entry->value = (uint32_t)gradients->observed_count;
        gradients->observed[gradients->observed_count++] = (struct observed){.first = (uint32_t)row};
    }
    gradients->observed[entry->value].count++;
    return true;
}

static bool check_records(struct gradient_pass *gradients)
{
    struct health_pass *pass = gradients->pass;
    const struct cg_gradients *records = &pass->trace->gradient;
    struct string_set ids = {0};
    if (records->rows && !string_set_make(&ids, pass->trace)) return false;
    bool done = true;
    for (size_t i = 0; done && i < records->rows; i++) {
        cg_str id = records->event_id[i], root = records->root[i], key = records->key[i];
        if (trace_blank(pass->trace, id))
            report(pass, HEALTH_EMPTY_GRADIENT_EVENT_ID, .subject = root, .object = key);
        if (trace_blank(pass->trace, root) || trace_blank(pass->trace, key))
            report(pass, HEALTH_EMPTY_GRADIENT_PARAMETER_KEY, .subject = root, .object = key);
        if (!string_set_add(&ids, id)) report(pass, HEALTH_DUPLICATE_GRADIENT_EVENT_ID, .subject = id);
        if (!consistent(records, i))
            report(pass, HEALTH_GRADIENT_STATE_NORM_INCONSISTENT, .subject = root, .object = key,
                   .detail = (uint16_t)state_detail(records->state[i]));
        done = observe(gradients, i);
    }
    string_set_free(&ids);
    return done;
}

/* ---- the contract in itself (11.2) ---- */

static bool hash_text(EVP_MD_CTX *hash, struct cg_text text)
{
    unsigned char length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)text.length >> 8 * i);
    return EVP_DigestUpdate(hash, length, sizeof length) && EVP_DigestUpdate(hash, text.bytes, text.length);
}

bool gradient_manifest_digest(const struct cg_trace *trace,
                              const struct CG_OBJECT_GRADIENT_CONTRACT *contract,
                              char digest[GRADIENT_DIGEST_SIZE])
{
    static const char domain[] = "candle-graph/gradient-manifest/1"; /* its NUL is part of it */
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool done =
        hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) && EVP_DigestUpdate(hash, domain, sizeof domain);
    for (size_t i = 0; done && i < contract->expected_count; i++) {
        const struct CG_OBJECT_GRADIENT_ENTRY *entry = &contract->expected[i];
        done = hash_text(hash, trace_text(trace, entry->root)) &&
               hash_text(hash, trace_text(trace, entry->key)) &&
               hash_text(hash, trace_text(trace, entry->family));
    }
    done = done && EVP_DigestFinal_ex(hash, bytes, &length);
    EVP_MD_CTX_free(hash);
    if (!done) return false;

    static const char hex[] = "0123456789abcdef";
    char *end = stpcpy(digest, "sha256:");
    for (unsigned i = 0; i < length; i++) {
        *end++ = hex[bytes[i] >> 4];
        *end++ = hex[bytes[i] & 15];
    }
    *end = '\0';
    return true;
}

/* The rules give their first fault as an issue, or one without detail when there is none. */
#define FAULT(which, ...) ((struct health_issue){.detail = HEALTH_DETAIL_##which, __VA_ARGS__})

static bool find_entry_fault(struct gradient_pass *gradients, struct health_issue *fault)
{
    const struct cg_trace *trace = gradients->pass->trace;
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract = gradients->contract;
    for (size_t i = 0; i < contract->expected_count; i++) {
        const struct CG_OBJECT_GRADIENT_ENTRY *entry = &contract->expected[i];
        if (trace_blank(trace, entry->root) || trace_blank(trace, entry->key) ||
            trace_blank(trace, entry->family)) {
            *fault = FAULT(ENTRY_BLANK, .number = i + 1);
            return true;
        }
        bool made;
        if (!pair_map_insert(&gradients->expected, entry->root, entry->key, &made)) return false;
        if (!made) {
            *fault = FAULT(ENTRY_REPEATED, .subject = entry->root, .object = entry->key);
            return true;
        }
    }
    return true;
}

/* Counts the entries of each family that has any: (family, 0) to the number of its entries. */
static bool count_entries(struct gradient_pass *gradients, struct pair_map *entries)
{
    for (size_t i = 0; i < gradients->contract->expected_count; i++) {
        struct pair_entry *entry = pair_map_insert(entries, gradients->contract->expected[i].family, 0, NULL);
        if (!entry) return false;
        entry->value++;
    }
    return true;
}

static struct health_issue minimum_fault(const struct CG_OBJECT_GRADIENT_FAMILY *family, uint64_t entries)
{
    if (family->expectation == CG_EXPECTATION_INACTIVE) {
        if (family->min_present != 0)
            return FAULT(FAMILY_INACTIVE_MINIMUM, .subject = family->family, .number = family->min_present);
    } else if (family->min_present < 1 || family->min_present > entries) {
        return FAULT(FAMILY_MINIMUM, .subject = family->family, .number = family->min_present);
    }
    return FAULT(NONE);
}

static bool find_family_fault(struct gradient_pass *gradients, const struct pair_map *entries,
                              struct health_issue *fault)
{
    const struct cg_trace *trace = gradients->pass->trace;
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract = gradients->contract;
    for (size_t i = 0; i < contract->families_count && !fault->detail; i++) {
        const struct CG_OBJECT_GRADIENT_FAMILY *family = &contract->families[i];
        if (trace_blank(trace, family->family)) {
            *fault = FAULT(FAMILY_BLANK, .number = i + 1);
            return true;
        }
        bool made;
        struct pair_entry *row = pair_map_insert(&gradients->family_rows, family->family, 0, &made);
        if (!row) return false;
        const struct pair_entry *entry = pair_map_find(entries, family->family, 0);
        if (!made)
            *fault = FAULT(FAMILY_REPEATED, .subject = family->family);
        else if (!entry)
            *fault = FAULT(FAMILY_WITHOUT_ENTRY, .subject = family->family);
        else
            *fault = minimum_fault(family, entry->value);
        if (made) row->value = (uint32_t)i;
    }
    for (size_t i = 0; i < contract->expected_count && !fault->detail; i++)
        if (!pair_map_find(&gradients->family_rows, contract->expected[i].family, 0))
            *fault = FAULT(ENTRY_WITHOUT_FAMILY, .subject = contract->expected[i].family);
    return true;
}

/* The first rule that the contract breaks; fills the maps of entries and families on the way. */
static bool find_contract_fault(struct gradient_pass *gradients, struct health_issue *fault)
{
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract = gradients->contract;
    const struct cg_trace *trace = gradients->pass->trace;
    char digest[GRADIENT_DIGEST_SIZE];
    struct cg_text declared = trace_text(trace, contract->manifest_sha256);
    *fault = FAULT(NONE);
    if (!gradient_manifest_digest(trace, contract, digest)) return false;
    if (!contract->expected_count)
        *fault = FAULT(EXPECTED_EMPTY);
    else if (!contract->families_count)
        *fault = FAULT(FAMILIES_EMPTY);
    else if (declared.length != strlen(digest) || memcmp(declared.bytes, digest, declared.length) != 0)
        *fault = FAULT(DIGEST);
    if (fault->detail) return true;

    if (!find_entry_fault(gradients, fault)) return false;
    if (fault->detail) return true;
    struct pair_map entries = {0};
    bool done = count_entries(gradients, &entries) && find_family_fault(gradients, &entries, fault);
    pair_map_free(&entries);
    return done;
}

/* ---- records against the contract (11.3 and 11.4) ---- */

static int compare_observed(const void *a, const void *b, void *context)
{
    const struct cg_trace *trace = context;
    uint32_t left = ((const struct observed *)a)->first, right = ((const struct observed *)b)->first;
    int order = trace_compare(trace, trace->gradient.root[left], trace->gradient.root[right]);
    return order ? order : trace_compare(trace, trace->gradient.key[left], trace->gradient.key[right]);
}

static bool check_observed(struct gradient_pass *gradients)
{
    struct health_pass *pass = gradients->pass;
    const struct cg_gradients *records = &pass->trace->gradient;
    struct observed *sorted = array_raw(gradients->observed_count, sizeof *sorted);
    if (!sorted) return false;
    if (gradients->observed_count) /* the rows that the keys map to must stay */
        memcpy(sorted, gradients->observed, gradients->observed_count * sizeof *sorted);
    qsort_r(sorted, gradients->observed_count, sizeof *sorted, compare_observed,
            (void *)(uintptr_t)pass->trace);
    for (size_t i = 0; i < gradients->observed_count; i++) {
        cg_str root = records->root[sorted[i].first], key = records->key[sorted[i].first];
        if (sorted[i].count != 1)
            report(pass, HEALTH_GRADIENT_MANIFEST_DUPLICATE_KEY, .subject = root, .object = key,
                   .number = sorted[i].count);
        if (!pair_map_find(&gradients->expected, root, key))
            report(pass, HEALTH_GRADIENT_MANIFEST_UNDECLARED_KEY, .subject = root, .object = key);
    }
    free(sorted);
    return true;
}

/* Reports what was not observed, and counts for each family what was. */
static void check_expected(struct gradient_pass *gradients)
{
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract = gradients->contract;
    const struct cg_gradients *records = &gradients->pass->trace->gradient;
    for (size_t i = 0; i < contract->expected_count; i++) {
        const struct CG_OBJECT_GRADIENT_ENTRY *entry = &contract->expected[i];
        struct family_state *family =
            &gradients->families[pair_map_find(&gradients->family_rows, entry->family, 0)->value];
        const struct pair_entry *key = pair_map_find(&gradients->keys, entry->root, entry->key);
        family->entries++;
        if (!key) {
            report(gradients->pass, HEALTH_GRADIENT_MANIFEST_MISSING_KEY, .subject = entry->root,
                   .object = entry->key);
            continue;
        }
        uint8_t state = records->state[gradients->observed[key->value].first];
        family->captured++;
        family->present += state == CG_GRADIENT_STATE_PRESENT;
        family->attached += state != CG_GRADIENT_STATE_MISSING;
        family->non_finite += state == CG_GRADIENT_STATE_NON_FINITE;
    }
}

static void check_family(struct health_pass *pass, const struct CG_OBJECT_GRADIENT_FAMILY *family,
                         const struct family_state *state)
{
    cg_str name = family->family;
    /* What a failed capture did not get to see is not held against the family. */
    bool judged = !pass->failed || state->captured == state->entries;
    bool below = judged && state->present < family->min_present;
    if (state->non_finite)
        report(pass, HEALTH_GRADIENT_FAMILY_NON_FINITE, .subject = name, .number = state->non_finite);
    switch (family->expectation) {
    case CG_EXPECTATION_ACTIVE:
        if (below)
            report(pass, HEALTH_GRADIENT_ACTIVE_FAMILY_BELOW_MINIMUM, .subject = name,
                   .number = state->present);
        break;
    case CG_EXPECTATION_INACTIVE:
        if (state->attached)
            report(pass, HEALTH_GRADIENT_INACTIVE_FAMILY_LEAKAGE, .subject = name, .number = state->attached);
        break;
    default:
        if (below && state->present)
            report(pass, HEALTH_GRADIENT_CONDITIONAL_FAMILY_BELOW_MINIMUM, .subject = name,
                   .number = state->present);
    }
}

static bool check_manifest(struct gradient_pass *gradients)
{
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract = gradients->contract;
    gradients->families = array_zeroed(contract->families_count, sizeof *gradients->families);
    if (!gradients->families || !check_observed(gradients)) return false;
    check_expected(gradients);
    for (size_t i = 0; i < contract->families_count; i++)
        check_family(gradients->pass, &contract->families[i], &gradients->families[i]);
    return true;
}

/* The gate of 11.2. */
static bool check_contract(struct gradient_pass *gradients)
{
    struct health_pass *pass = gradients->pass;
    bool complete = pass->trace->run.capture_contract.gradients == CG_COVERAGE_COMPLETE;
    if (!gradients->contract->present) {
        if (complete) report(pass, HEALTH_GRADIENT_CONTRACT_MISSING);
        return true;
    }
    if (!complete) {
        report(pass, HEALTH_GRADIENT_CONTRACT_WITHOUT_COMPLETE_COVERAGE);
        return true;
    }
    struct health_issue fault;
    if (!find_contract_fault(gradients, &fault)) return false;
    if (!fault.detail) return check_manifest(gradients);
    pass->health->gradient_contract_fault = (uint32_t)pass->health->issue_count;
    fault.code = HEALTH_GRADIENT_CONTRACT_INVALID;
    health_report(pass, fault);
    return true;
}

bool health_gradients(struct health_pass *pass)
{
    struct gradient_pass gradients = {.pass = pass,
                                      .contract = &pass->trace->run.capture_contract.gradient_contract};
    bool done = check_records(&gradients) && check_contract(&gradients);
    pair_map_free(&gradients.keys);
    pair_map_free(&gradients.expected);
    pair_map_free(&gradients.family_rows);
    free(gradients.observed);
    free(gradients.families);
    return done;
}
