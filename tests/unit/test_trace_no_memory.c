/* Reading a trace when memory is short: each allocation in turn is refused, with one thread and with several.
 * The answer is the whole trace or one clear line, and nothing is left behind. */
#include "tests/unit/trace_vectors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__) &&                 \
    defined(__x86_64__)
#define CAN_FAIL 1

/* Unlike those of no_memory.h these are for several threads, and blocks come from the system as well. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *old);

enum { NEVER = 1 << 30 };
static atomic_long allowed = NEVER; /* allocations until the one that fails; all after it succeed */
static atomic_long held;            /* blocks of the C library that were not given back */

static bool fails(void)
{
    return atomic_load(&allowed) < NEVER && atomic_fetch_sub(&allowed, 1) == 0;
}

static void *counted(void *block)
{
    if (block != NULL) atomic_fetch_add(&held, 1);
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}
void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}
int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = fails() ? NULL : counted(__libc_memalign(alignment, size));
    return *block != NULL ? 0 : ENOMEM;
}
void free(void *old)
{
    if (old != NULL) atomic_fetch_sub(&held, 1);
    __libc_free(old);
}
void *realloc(void *old, size_t size)
{
    if (fails()) return NULL;
    void *block = __libc_realloc(old, size);
    if (old == NULL) counted(block);
    return block;
}
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
#endif

/* Spans with operations, whose shapes, inputs and stacks differ: everything that grows does. */
static char *make_text(size_t count, size_t *length)
{
    enum { MOST = 700 };
    char *text = malloc(sizeof STREAM + count * MOST), *to = text;
    assert_non_null(text);
    to += sprintf(to, "%s\n%s\n", META, SPAN_A);
    for (size_t i = 0; i < count; i++) {
        to += sprintf(
            to,
            "{\"kind\":\"span_start\",\"id\":\"span:%zu\",\"parent_id\":\"a\",\"name\":\"\\u00e4%zu\","
            "\"start_ns\":1,\"span_kind\":\"function\",\"enclosing\":[\"e%zu\"]}\n",
            i, i % 7, i);
        to += sprintf(to,
                      "{\"kind\":\"op\",\"span_id\":\"span:%zu\",\"op_name\":\"mm\",\"inputs\":[\"x%zu\"],"
                      "\"shape\":[%zu,3],\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":1,"
                      "\"timestamp_ns\":1,\"input_dense_bytes\":0,\"stack\":{\"id\":\"stack:%zu\",\"frames\":"
                      "[{\"module\":\"m\",\"offset\":%zu,\"source\":[{\"function\":\"f\"}]}]}}\n",
                      i, i, i, i, i);
    }
    to += sprintf(to, "%s\n%s\n", END_A, TERMINAL);
    *length = (size_t)(to - text);
    return text;
}

static void test_each_allocation(void **state)
{
    unsigned threads = *(const unsigned *)*state;
#ifdef CAN_FAIL
    enum { SPANS = 300, LOADS_MOST = 5000 };
    size_t length;
    char *text = make_text(SPANS, &length);
    struct cg_load_options options = {.extras = true, .threads = threads, .block_bytes = 4096};
    bool enough = false;
    unsigned refused_loads = 0;
    for (long n = 0; !enough && n < LOADS_MOST; n++) {
        struct cg_error error = {0};
        struct cg_trace *trace = NULL;
        long before = atomic_load(&held);
        atomic_store(&allowed, n);
        int status = trace_load_bytes("test", text, length, &options, &trace, &error);
        enough = atomic_exchange(&allowed, NEVER) >= 0;
        if (status == 0) {
            assert_int_equal(trace->span.rows, SPANS + 1);
            assert_int_equal(trace->op.rows, SPANS);
            assert_int_equal(trace_frame_count(trace), SPANS);
        } else {
            assert_int_equal(status, CG_EXIT_IO);
            assert_string_equal(error.message, "test: out of memory");
            assert_null(trace);
            refused_loads++;
        }
        trace_free(trace);
        /* Of threads that have ended the C library keeps some for the next ones. */
        if (threads == 1) assert_int_equal(atomic_load(&held), before);
    }
    assert_true(enough);
    assert_true(refused_loads > 30);
    free(text);
#else
    (void)threads;
    skip_because("the allocator of this build cannot be told to fail");
#endif
}

int main(void)
{
    static unsigned threads[] = {1, 2, 5};
    const struct CMUnitTest tests[] = {
        {"one thread", test_each_allocation, NULL, NULL, &threads[0]},
        {"two threads", test_each_allocation, NULL, NULL, &threads[1]},
        {"five threads", test_each_allocation, NULL, NULL, &threads[2]},
    };
    return run_tap(tests);
}
