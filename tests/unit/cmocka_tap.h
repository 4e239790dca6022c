/* Every unit test includes this instead of cmocka.h: the headers in the order that cmocka wants, and results
 * as TAP. */
#ifndef CGTRACE_TESTS_UNIT_CMOCKA_TAP_H
#define CGTRACE_TESTS_UNIT_CMOCKA_TAP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Runs the tests of one program; the return value is for main(). */
#define run_tap(tests)                                                                                       \
    (cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL))

/* Skips the test that runs. The line before cmocka's own ("not ok 1 # SKIP name") says why, to tests/run.py
 * too. */
#define skip_because(reason) (print_message("# skipped: %s\n", reason), skip())

#endif
