/* Jobs: each is done once, on as many threads as can be had, and a failure is not lost. */
#include "tests/unit/cmocka_tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "analyzer/trace/jobs.h"

enum { JOBS = 1000 };

/* Threads that may still be made. Sanitizers have a pthread_create of their own, which must stay. */
static unsigned allowed = 1000;
static unsigned made;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTED 1
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *context)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (made == allowed) return EAGAIN;
    made++;
    return real(thread, attributes, start, context);
}
#endif

struct task {
    atomic_uint done;
    bool good;
};

static bool do_task(void *context)
{
    struct task *task = context;
    atomic_fetch_add(&task->done, 1);
    return task->good;
}

/* Runs all of them, the failing ones with the numbers given; whether none failed. */
static bool run(unsigned threads, size_t count, size_t first_bad, size_t second_bad)
{
    static struct task tasks[JOBS];
    static struct job jobs[JOBS];
    for (size_t i = 0; i < count; i++) {
        tasks[i] = (struct task){0, i != first_bad && i != second_bad};
        jobs[i] = (struct job){.run = do_task, .context = &tasks[i]};
    }
    made = 0;
    bool good = jobs_run(jobs, count, threads);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tasks[i].done, 1);
    return good;
}

static void test_all_done(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 12; threads++)
        for (size_t count = 0; count < 12; count++)
            assert_true(run(threads, count, JOBS, JOBS));
    assert_true(run(2, JOBS, JOBS, JOBS));
}

static void test_failures(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads < 4; threads++) {
        assert_false(run(threads, JOBS, 0, JOBS));
        assert_false(run(threads, JOBS, JOBS - 1, JOBS));
        assert_false(run(threads, JOBS, 3, 500));
    }
}

/* A job and what it finds done when it begins. */
struct step {
    const struct step *before[2];
    atomic_bool done;
    bool good, ran, in_order;
};

static bool do_step(void *context)
{
    struct step *step = context;
    step->ran = true;
    step->in_order = true;
    for (int i = 0; i < 2; i++)
        step->in_order &= !step->before[i] || atomic_load(&step->before[i]->done);
    sched_yield();
    atomic_store(&step->done, true);
    return step->good;
}

/* Each waits for the one of half its number, every third also for the first; bad: the one that fails. */
static bool run_steps(unsigned threads, size_t count, size_t bad, struct step *steps)
{
    struct job jobs[32];
    for (size_t i = 0; i < count; i++) {
        size_t other = i % 3 == 0 ? 0 : i / 2;
        steps[i] =
            (struct step){.before = {i ? &steps[i / 2] : NULL, i ? &steps[other] : NULL}, .good = i != bad};
        jobs[i] = (struct job){.run = do_step,
                               .context = &steps[i],
                               .after = {i ? &jobs[other] : NULL, i ? &jobs[i / 2] : NULL}};
    }
    return jobs_run(jobs, count, threads);
}

static void test_order(void **state)
{
    (void)state;
    struct step steps[32];
    for (unsigned threads = 1; threads < 6; threads++) {
        assert_true(run_steps(threads, 32, 32, steps));
        for (size_t i = 0; i < 32; i++)
            assert_true(steps[i].ran && steps[i].in_order);
        /* 3 fails: 6 and 7 wait for it, 12 to 15 for those, 24 to 31 for these. */
        assert_false(run_steps(threads, 32, 3, steps));
        for (size_t i = 0; i < 32; i++)
            assert_int_equal(steps[i].ran, !(i == 6 || i == 7 || (i >= 12 && i < 16) || i >= 24));
    }
}

#ifdef COUNTED
static void test_threads(void **state)
{
    (void)state;
    run(1, JOBS, JOBS, JOBS);
    assert_int_equal(made, 0);
    run(5, JOBS, JOBS, JOBS);
    assert_int_equal(made, 4);
    run(5, 3, JOBS, JOBS); /* no thread without a job */
    assert_int_equal(made, 2);
    run(100, JOBS, JOBS, JOBS);
    assert_int_equal(made, JOBS_THREADS_MAX - 1);
}

static void test_no_threads_to_be_had(void **state)
{
    (void)state;
    for (allowed = 0; allowed < 4; allowed++) {
        assert_true(run(5, JOBS, JOBS, JOBS));
        assert_int_equal(made, allowed);
        assert_false(run(5, JOBS, 7, JOBS));
    }
    allowed = 1000;
}
#endif

static void test_worth(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int processors = CPU_COUNT(&before), most = JOBS_THREADS_MAX;
    assert_int_equal(jobs_threads(1000, 0), 1);
    assert_int_equal(jobs_threads(1000, 3), 3);
    assert_int_equal(jobs_threads(UINT64_MAX, 1), 1);
    assert_int_equal(jobs_threads(UINT64_MAX, 1000), JOBS_THREADS_MAX);
    assert_int_equal(jobs_threads(UINT64_MAX, 0), processors < most ? processors : most);
    CPU_ZERO(&one);
    size_t first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(jobs_threads(UINT64_MAX, 0), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_done), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_order),
#ifdef COUNTED
        cmocka_unit_test(test_threads),  cmocka_unit_test(test_no_threads_to_be_had),
#endif
        cmocka_unit_test(test_worth),
    };
    return run_tap(tests);
}
