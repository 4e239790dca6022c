/* Reasons that the command line cannot give, because it makes the receipts itself (doc/spec/compare.md 1.4).
 */
#include "tests/unit/cmocka_tap.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/evidence/comparison.h"

#define TEXT(string) ((struct cg_text){string, sizeof string - 1})
enum { RUNS = 5 };

/* A cohort of eligible runs; ids begin at number. */
struct made {
    struct run_facts runs[RUNS];
    struct comparison_receipt receipts[RUNS];
    char ids[RUNS][8];
    struct cohort cohort;
};

static void make(struct made *made, int number, uint64_t duration)
{
    static char digest[] = "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCD";
    *made = (struct made){.cohort = {made->runs, RUNS, made->receipts, RUNS}};
    for (int i = 0; i < RUNS; i++) {
        snprintf(made->ids[i], sizeof made->ids[i], "r%d", number + i);
        struct cg_text id = {made->ids[i], strlen(made->ids[i])};
        made->runs[i] = (struct run_facts){.run_id = id,
                                           .entrypoint = TEXT("e"),
                                           .device = TEXT("cpu"),
                                           .contract = TEXT("{}"),
                                           .measurement_scope = CG_SCOPE_PRODUCTION_EQUIVALENT,
                                           .outcome = CG_OUTCOME_COMPLETE,
                                           .capture_step = 1,
                                           .structurally_valid = true,
                                           .identity = {.present = true,
                                                        .workload_id = TEXT("w"),
                                                        .model_id = TEXT("m"),
                                                        .config_id = TEXT("c"),
                                                        .data_id = TEXT("d"),
                                                        .seed_policy = TEXT("s"),
                                                        .physical_batch = 1,
                                                        .accumulation_steps = 1,
                                                        .precision = TEXT("p"),
                                                        .device_state = TEXT("x"),
                                                        .implementation_id = TEXT("i")},
                                           .measured_count = 1,
                                           .measured_duration_ns = duration + (uint64_t)i};
        made->receipts[i].run_id = id;
        memcpy(made->receipts[i].manifest_sha256, digest, sizeof digest);
    }
}

static struct made before, after;

static void expect_codes(const enum comparison_code *codes, size_t count)
{
    struct comparison comparison;
    assert_true(comparison_make(&before.cohort, &after.cohort, true, &comparison));
    assert_int_equal(comparison.reason_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(comparison.reasons[i].code, codes[i]);
    assert_int_equal(comparison.verdict == VERDICT_INELIGIBLE, count > 0);
    assert_int_equal(comparison.interval_known, count == 0);
    comparison_free(&comparison);
}

static int again(void **state)
{
    (void)state;
    make(&before, 0, 1000);
    make(&after, 100, 500);
    return 0;
}

static void good_receipts(void **state)
{
    (void)state;
    expect_codes(NULL, 0); /* digests of either case */
}

static void too_few_receipts(void **state)
{
    (void)state;
    before.cohort.receipt_count = 4;
    after.receipts[1].run_id = TEXT("other");
    before.receipts[0].run_id = TEXT("other"); /* not looked at: the count is wrong */
    after.receipts[1].manifest_sha256[0] = 'x';
    expect_codes((enum comparison_code[]){COMPARISON_RECEIPT_COUNT, COMPARISON_RECEIPT_RUN_ID,
                                          COMPARISON_RECEIPT_DIGEST},
                 3);
}

static void receipts_of_both_cohorts(void **state)
{
    (void)state;
    after.cohort.receipt_count = 0;
    before.receipts[4].manifest_sha256[63] = '\0'; /* 63 digits */
    before.receipts[2].manifest_sha256[10] = 'g';
    before.receipts[3].run_id = TEXT("");
    expect_codes((enum comparison_code[]){COMPARISON_RECEIPT_DIGEST, COMPARISON_RECEIPT_RUN_ID,
                                          COMPARISON_RECEIPT_DIGEST, COMPARISON_RECEIPT_COUNT},
                 4);
}

static void no_runs(void **state)
{
    (void)state;
    before.cohort = after.cohort = (struct cohort){0};
    expect_codes((enum comparison_code[]){COMPARISON_INSUFFICIENT, COMPARISON_NO_RUNS,
                                          COMPARISON_IDENTITY_MISSING, COMPARISON_IMPLEMENTATION_MISSING,
                                          COMPARISON_IMPLEMENTATION_MISSING},
                 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(good_receipts, again),
        cmocka_unit_test_setup(too_few_receipts, again),
        cmocka_unit_test_setup(receipts_of_both_cohorts, again),
        cmocka_unit_test_setup(no_runs, again),
    };
    return run_tap(tests);
}
