/* The .part of a program that died, read as far as its capture file says that it is whole. */
#include "tests/unit/cmocka_tap.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "analyzer/recover/part.h"

static const char line[] = "{\"kind\":\"span_start\",\"id\":\"span:1\"}\n";

static void scan(uint64_t begin, uint64_t limit, uint64_t end)
{
    FILE *file = tmpfile();
    struct cg_error error = {0};
    assert_non_null(file);
    assert_int_equal(fputs(line, file) >= 0 && fflush(file) == 0, 1);
    struct part part = {.fd = fileno(file), .path = "t.part"};
    assert_int_equal(part_scan(&part, begin, limit, &error), 0);
    assert_int_equal(part.begin, begin);
    assert_int_equal(part.end, end);
    number_set_free(&part.open_spans);
    fclose(file);
}

/* A damaged publication may name any of them. */
static void places_beyond_every_file(void **state)
{
    (void)state;
    const uint64_t beyond = (uint64_t)INT64_MAX + 1;
    scan(0, UINT64_MAX, sizeof line - 1);
    scan(beyond, beyond + 100, beyond);
    scan(INT64_MAX - 5, INT64_MAX, INT64_MAX - 5);
    scan(UINT64_MAX - 5, UINT64_MAX, UINT64_MAX - 5);
}

static void only_what_is_whole(void **state)
{
    (void)state;
    scan(0, sizeof line - 1, sizeof line - 1);
    scan(0, sizeof line - 2, 0);
    scan(sizeof line - 1, sizeof line - 1, sizeof line - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_beyond_every_file),
                                       cmocka_unit_test(only_what_is_whole)};
    return run_tap(tests);
}
