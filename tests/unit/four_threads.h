/* Four threads at once, for what many may use together. */
#ifndef CGTRACE_TESTS_UNIT_FOUR_THREADS_H
#define CGTRACE_TESTS_UNIT_FOUR_THREADS_H

#include "tests/unit/cmocka_tap.h"

#include <pthread.h>
#include <stdint.h>

/* Runs it with 0 to 3 as its argument; each must return NULL, not what went wrong. */
static inline void run_four_threads(void *(*worker)(void *number))
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, worker, (void *)i), 0);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
}

#endif
