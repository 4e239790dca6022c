/* Statistics of a comparison against the values of doc/spec/compare.md 6, to the last bit. */
#include "tests/unit/cmocka_tap.h"

#include "analyzer/evidence/statistics.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void expect_statistics(const uint64_t *values, size_t count, double median, double p95, double mad)
{
    struct sample_statistics got;
    assert_true(sample_statistics_make(values, count, &got));
    assert_true(got.median_ns == median);
    assert_true(got.p95_ns == p95);
    assert_true(got.mad_ns == mad);
}

static void test_order_statistics(void **state)
{
    (void)state;
    expect_statistics((uint64_t[]){100, 13, 12, 11, 10}, 5, 12.0, 82.6, 1.0);
    expect_statistics((uint64_t[]){1, 2, 3, 5}, 4, 2.5, 4.699999999999999, 1.5);
    expect_statistics((uint64_t[]){9, 6, 4, 3, 2, 1}, 6, 3.5, 8.25, 2.0);
    expect_statistics(NULL, 0, 0.0, 0.0, 0.0);
    expect_statistics((uint64_t[]){7}, 1, 7.0, 7.0, 0.0);
    /* The median of two greatest values is 2^64 as a double: it is clamped for the deviation, which is then
     * 0. */
    expect_statistics((uint64_t[]){UINT64_MAX, UINT64_MAX}, 2, 0x1p64, 0x1p64, 0.0);
}

static void test_paired_median(void **state)
{
    (void)state;
    double delta;
    const struct sample_pair even[] = {{10, 5}, {10, 9}, {10, 13}, {10, 19}}; /* -5 -1 3 9 */
    assert_true(paired_median_delta(even, COUNT(even), &delta));
    assert_true(delta == 1.0);
    const struct sample_pair extreme[] = {{0, UINT64_MAX}, {UINT64_MAX, 0}, {5, 5}};
    assert_true(paired_median_delta(extreme, COUNT(extreme), &delta));
    assert_true(delta == 0.0);
    assert_true(paired_median_delta(NULL, 0, &delta));
    assert_true(delta == 0.0);
}

struct bootstrap_case {
    size_t count;
    uint64_t baseline[6], candidate[6];
    bool paired;
    double lower, upper;
    uint64_t end_state;
};

static void test_bootstrap(void **state)
{
    (void)state;
    static const struct bootstrap_case cases[] = {
        {5, {100, 102, 99, 101, 103}, {75, 80, 78, 79, 77}, false, -26.0, -20.0, 0x84958a3354b8a5bc},
        {6,
         {1000, 1013, 987, 1044, 1002, 1021},
         {1001, 990, 1015, 1060, 976, 1008},
         false,
         -32.5,
         33.0,
         0x3b0cd263cba63964},
        {6,
         {1000, 1013, 987, 1044, 1002, 1021},
         {1001, 990, 1015, 1060, 976, 1008},
         true,
         -24.5,
         22.0,
         0xd62d09a0cf097791},
        {5, {200, 210, 205, 220, 215}, {207, 211, 213, 222, 218}, false, -8.0, 17.0, 0x84958a3354b8a5bc},
        {5, {200, 210, 205, 220, 215}, {207, 211, 213, 222, 218}, true, 1.0, 8.0, 0xf6e69bd3a9cf7e27},
        {6,
         {100, 100, 101, 104, 98, 103},
         {99, 102, 100, 101, 97, 105},
         false,
         -3.5,
         3.0,
         0x3b0cd263cba63964},
        {6, {100, 100, 101, 104, 98, 103}, {99, 102, 100, 101, 97, 105}, true, -2.0, 2.0, 0xd62d09a0cf097791},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct bootstrap_case *c = &cases[i];
        struct confidence_interval got;
        uint64_t generator = BOOTSTRAP_SEED;
        if (c->paired) {
            struct sample_pair pairs[6];
            for (size_t k = 0; k < c->count; k++)
                pairs[k] = (struct sample_pair){c->baseline[k], c->candidate[k]};
            assert_true(bootstrap_paired(pairs, c->count, &generator, &got));
        } else {
            assert_true(bootstrap_unpaired(c->baseline, c->count, c->candidate, c->count, &generator, &got));
        }
        assert_true(got.level == 0.95);
        assert_true(got.lower_delta_ns == c->lower);
        assert_true(got.upper_delta_ns == c->upper);
        assert_int_equal(generator, c->end_state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_statistics),
        cmocka_unit_test(test_paired_median),
        cmocka_unit_test(test_bootstrap),
    };
    return run_tap(tests);
}
