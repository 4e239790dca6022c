/* A trace that is read where it stands in its file, while something happens to the file. */
#include "tests/unit/trace_vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/trace/input.h"
#include "analyzer/trace/window.h"

/* ---- what the system does ---- */

static bool not_in_memory, reads_fail;
static int windows; /* looks whether one can be had that said yes */

/* Files of memfd_create() cannot tell. */
ssize_t preadv2(int fd, const struct iovec *to, int count, off_t at, int flags)
{
    (void)fd, (void)to, (void)count, (void)at;
    assert_int_equal(flags, RWF_NOWAIT);
    if (!not_in_memory) {
        windows++;
        return 1;
    }
    errno = EAGAIN;
    return -1;
}

/* A page of a window that is gone is another one from then on, whoever reads in it: a race that may be lost.
 */
#ifdef __SANITIZE_THREAD__
enum { THREADS_MOST = 1 };
#else
enum { THREADS_MOST = 3 };
#endif

/* ---- a trace, and what is done to its file at a block ---- */

enum { LINES = 20000, LINE = 80, BLOCK_BYTES = 16 << 10 };

/* Edges, LINE bytes each. The caller frees it. */
static char *make_text(size_t *length)
{
    char *text = malloc(sizeof STREAM + (size_t)LINES * 2 * LINE), *to = text;
    assert_non_null(text);
    to += sprintf(to, "%s\n%s\n", META, SPAN_A);
    for (int i = 0; i < LINES; i++)
        to += sprintf(
            to, "%-*s\n", LINE - 1,
            i % 2 ? "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"a\",\"to_tensor\":\"b\"}"
                  : "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"bc\",\"to_tensor\":\"d\"}");
    to += sprintf(to, "%s\n%s\n", END_A, TERMINAL);
    *length = (size_t)(to - text);
    return text;
}

static struct happening {
    int at;        /* the look for the last line of a block, counted: */
    off_t shorter; /* what the file has from then on; -1: it stays */
    bool fail_then;
    const char *was; /* and has again when it is read; NULL: it stays so */
    size_t length;
} happening;
static int fd_of_happening;
static atomic_int looks;

static void make_whole(void)
{
    if (happening.was && looks > happening.at &&
        pwrite(fd_of_happening, happening.was, happening.length, 0) != (ssize_t)happening.length)
        abort();
}

/* On the test's own clock every look takes as long as the next one, and copying takes copy_ns in addition. */
enum { LOOK_NS = 1000, SLOW_COPY_NS = 100000 };
static atomic_long copy_ns = SLOW_COPY_NS, clock_ns;
static atomic_int copies;
static struct {
    const char *text; /* in place of what the file has, from so many copies on; NULL: it stays */
    size_t length;
    int at;
} rewriting;

/* Later than a step of the file system's clock, or its times would not tell. */
static void rewrite(void)
{
    usleep(20000);
    if (pwrite(fd_of_happening, rewriting.text, rewriting.length, 0) != (ssize_t)rewriting.length) abort();
    rewriting.text = NULL;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, clock, now);
    long ns = atomic_fetch_add(&clock_ns, LOOK_NS);
    *now = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    if (atomic_fetch_add(&copies, 1) == rewriting.at && rewriting.text) rewrite();
    atomic_fetch_add(&clock_ns, copy_ns);
    make_whole();
    if (reads_fail) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, size, at);
}

/* Files are as old as those of users, or as a test wants them to be. */
enum { OLD_S = 10 };
static time_t age_s = OLD_S;

int fstat(int fd, struct stat *status)
{
    make_whole();
    int answer = fstatat(fd, "", status, AT_EMPTY_PATH);
    status->st_ctim.tv_sec -= age_s;
    return answer;
}

void *memrchr(const void *bytes, int byte, size_t length)
{
    const char *at = (const char *)bytes + length;
    if (atomic_fetch_add(&looks, 1) == happening.at && happening.shorter >= 0) {
        if (ftruncate(fd_of_happening, happening.shorter) != 0) abort();
        reads_fail = happening.fail_then;
    }
    while (at > (const char *)bytes)
        if (*--at == byte) return (void *)(uintptr_t)at;
    return NULL;
}

static int load_file(const char *text, size_t length, unsigned threads, struct happening what,
                     struct cg_trace **trace, struct cg_error *error)
{
    struct cg_load_options options = {.threads = threads, .block_bytes = BLOCK_BYTES};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    *error = (struct cg_error){0};
    *trace = NULL;
    happening = what;
    looks = 0;
    fd_of_happening = dup(fd);
    int status = trace_load_descriptor("file", fd, &options, trace, error);
    close(fd_of_happening);
    return status;
}

static uint32_t whole_strings; /* of the trace */
static const struct happening nothing = {.at = -1, .shorter = -1};

/* All of the trace is there, whatever happens. */
static void expect_whole(const char *text, size_t length, unsigned threads, struct happening what)
{
    struct cg_trace *trace;
    struct cg_error error;
    if (load_file(text, length, threads, what, &trace, &error) != 0) fail_msg("%s", error.message);
    assert_int_equal(trace->edge.rows, LINES);
    if (whole_strings == 0) whole_strings = trace_string_count(trace);
    assert_int_equal(trace_string_count(trace), whole_strings);
    assert_string_equal(error.message, "");
    trace_free(trace);
}

static void test_mapped(void **state)
{
    size_t length;
    char *text = make_text(&length);
    (void)state;
    for (unsigned threads = 1; threads < 4; threads++)
        for (int mapped = 0; mapped < 2; mapped++) {
            not_in_memory = !mapped;
            windows = 0;
            expect_whole(text, length, threads, nothing);
            assert_int_equal(windows > 0, mapped);
        }
    not_in_memory = false;
    free(text);
}

/* Where the first pages take longer than half of what copies of them take, all is copied. */
static void test_pays(void **state)
{
    static const struct {
        long copy_ns;
        bool mapped;
    } cases[] = {{SLOW_COPY_NS, true}, {LOOK_NS, true}, {LOOK_NS - 2, false}, {0, false}};
    size_t length;
    char *text = make_text(&length);
    (void)state;
    for (unsigned threads = 1; threads < 4; threads++)
        for (size_t i = 0; i < COUNT(cases); i++) {
            copy_ns = cases[i].copy_ns;
            copies = 0;
            expect_whole(text, length, threads, nothing);
            assert_int_equal(copies < LINES * LINE / BLOCK_BYTES, cases[i].mapped);
        }
    copy_ns = SLOW_COPY_NS;
    free(text);
}

/* Of a file that is copied and written to meanwhile, either text is read, and no mixture. */
static void test_rewritten(void **state)
{
    size_t length;
    char *text = make_text(&length), *other = make_text(&length);
    (void)state;
    for (char *at = other; (at = strstr(at, "\"bc\"")) != NULL; at++)
        memcpy(at, "\"xy\"", 4);
    for (unsigned threads = 1; threads < 4; threads++) {
        copy_ns = copies = 0;
        rewriting.text = other;
        rewriting.length = length;
        rewriting.at = 20;
        expect_whole(text, length, threads, nothing);
        assert_null(rewriting.text);
    }
    copy_ns = SLOW_COPY_NS;
    free(other);
    free(text);
}

/* A file is not looked at where it stands before its times would tell of a change, to two seconds on FAT; nor
 * where the clock of its file system is ahead of ours. */
static void test_age(void **state)
{
    static const struct {
        time_t age_s;
        bool mapped;
    } cases[] = {{-5, false}, {0, false}, {1, false}, {3, true}};
    struct cg_trace *trace;
    struct cg_error error;
    size_t length;
    char *text = make_text(&length);
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        age_s = cases[i].age_s;
        windows = 0;
        assert_int_equal(load_file(text, length, 1, nothing, &trace, &error), 0);
        assert_int_equal(windows > 0, cases[i].mapped);
        trace_free(trace);
    }
    age_s = OLD_S;
    free(text);
}

/* It is read as what it is then, wherever the new end lies: before the block, at a page of it, inside of one.
 */
static void test_shorter(void **state)
{
    static const off_t ends[] = {0, 100, 3 * BLOCK_BYTES, 3 * BLOCK_BYTES + 4096, 3 * BLOCK_BYTES + 5000};
    struct cg_trace *trace;
    struct cg_error error, expected;
    size_t length;
    char *text = make_text(&length);
    (void)state;
    for (size_t i = 0; i < COUNT(ends); i++)
        for (unsigned threads = 1; threads <= THREADS_MOST; threads++) {
            struct happening shorter = {.at = 4, .shorter = ends[i]};
            assert_int_equal(load_file(text, (size_t)ends[i], 1, nothing, &trace, &expected), CG_EXIT_INPUT);
            assert_int_equal(load_file(text, length, threads, shorter, &trace, &error), CG_EXIT_INPUT);
            assert_string_equal(error.message, expected.message);
            assert_null(trace);
        }
    free(text);
}

/* Nothing of what stood there meanwhile is kept. */
static void test_whole_again(void **state)
{
    size_t length;
    char *text = make_text(&length);
    (void)state;
    for (unsigned threads = 1; threads <= THREADS_MOST; threads++) {
        struct happening again = {.at = 4, .shorter = 0, .was = text, .length = length};
        expect_whole(text, length, threads, again);
    }
    free(text);
}

static void test_device_fails(void **state)
{
    struct happening failing = {.at = 4, .shorter = 0, .fail_then = true};
    struct cg_trace *trace;
    struct cg_error error;
    size_t length;
    char *text = make_text(&length);
    (void)state;
    int status = load_file(text, length, THREADS_MOST, failing, &trace, &error);
    reads_fail = false;
    assert_int_equal(status, CG_EXIT_IO);
    assert_string_equal(error.message, "file: reading failed: Input/output error");
    free(text);
}

/* ---- another program writes into it ---- */

static atomic_bool written_enough;

struct scribbling {
    char *file;
    const char *text;
    size_t length;
};

/* Bytes that matter, anywhere, and the right ones again: no line feed is safe. */
static void *scribble(void *context)
{
    static const char bytes[] = "\n\"\\{}[],:0\0";
    const struct scribbling *scribbling = context;
    uint64_t random = 88172645463325252; /* G. Marsaglia, Xorshift RNGs, 2003 */
    while (!atomic_load(&written_enough)) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t at = random % scribbling->length;
        bool right = random >> 60 != 0;
        *(volatile char *)&scribbling->file[at] =
            right ? scribbling->text[at] : bytes[(random >> 40) % sizeof bytes];
        if (!right && scribbling->text[at] == '\n') scribbling->file[at] = 'x';
    }
    return NULL;
}

/* Any answer will do, but an answer. */
static void test_changing(void **state)
{
    enum { TIMES = 200 };
    struct scribbling scribbling;
    pthread_t writer;
    size_t length;
    char *text = make_text(&length);
    int fd = memfd_create("trace", MFD_CLOEXEC), refused = 0;
    (void)state;
    assert_int_equal(write(fd, text, length), length);
    scribbling =
        (struct scribbling){mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), text, length};
    assert_ptr_not_equal(scribbling.file, MAP_FAILED);
    assert_int_equal(pthread_create(&writer, NULL, scribble, &scribbling), 0);
    for (int i = 0; i < TIMES; i++) {
        struct cg_load_options options = {.threads = (unsigned)i % 3 + 1, .block_bytes = BLOCK_BYTES};
        struct cg_trace *trace = NULL;
        struct cg_error error = {0};
        int status = trace_load_descriptor("file", dup(fd), &options, &trace, &error);
        assert_true(status == 0 || status == CG_EXIT_INPUT);
        refused += status != 0;
        trace_free(trace);
    }
    atomic_store(&written_enough, true);
    pthread_join(writer, NULL);
    assert_true(refused > 0);
    munmap(scribbling.file, length);
    close(fd);
    free(text);
}

/* ---- elsewhere ---- */

/* The status of a process that has `before` for bus errors, and one that is none of ours once a window was
 * there. */
static int status_of_other_bus_error(const struct sigaction *before)
{
    int status;
    atomic_bool broken = false;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sigaction(SIGBUS, before, NULL); /* cmocka has a handler */
        int fd = memfd_create("other", MFD_CLOEXEC);
        if (ftruncate(fd, 8192) != 0) _exit(1);
        struct window *window = window_open(fd, 0, 8192, &broken);
        volatile char *other = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        window_enter(window);
        if (window == NULL || ftruncate(fd, 0) != 0) _exit(1);
        if (*window_text(window, 4096) != '\n' || !broken) _exit(2);
        alarm(10); /* were it tried for ever */
        _exit(*other == 0 ? 3 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* It ends the process as it would without us. */
static void test_other_bus_error(void **state)
{
    const struct sigaction none = {.sa_handler = SIG_DFL};
    int status = status_of_other_bus_error(&none);
    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
}

static void tell(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    _exit(info->si_code > 0 ? 7 : 8);
}

/* Whose handler was there before hears of a fault as one, and not as of a signal that was sent. */
static void test_handler_before(void **state)
{
    const struct sigaction telling = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
    int status = status_of_other_bus_error(&telling);
    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* A block that has no window leaves none: its thread may be in another block's. */
static void test_block_without(void **state)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    struct input_block none = {0};
    atomic_bool broken = false;
    (void)state;
    assert_int_equal(ftruncate(fd, 8192), 0);
    struct window *window = window_open(fd, 0, 8192, &broken);
    assert_non_null(window);
    window_enter(window);
    input_block_free(&none);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(*window_text(window, 4096), '\n');
    assert_true(broken);
    window_enter(NULL);
    window_release(window);
    close(fd);
}

/* Behind the last byte of a file there are line feeds, behind the zeros of its last page. */
static void test_guard(void **state)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    atomic_bool broken = false;
    (void)state;
    assert_int_equal(ftruncate(fd, 10000), 0);
    struct window *window = window_open(fd, 5000, 10000, &broken);
    assert_non_null(window);
    assert_int_equal(window_left(window, 5000), 5000);
    assert_int_equal(window_left(window, 10000), 0);
    const char *text = window_text(window, 5000);
    assert_int_equal(text[0], 0);
    assert_int_equal(text[3 * 4096 - 5000 - 1], 0);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(text[3 * 4096 - 5000 + i], '\n');
    window_release(window);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_pays),
        cmocka_unit_test(test_rewritten),
        cmocka_unit_test(test_shorter),
        cmocka_unit_test(test_handler_before),
        cmocka_unit_test(test_block_without),
        cmocka_unit_test(test_whole_again),
        cmocka_unit_test(test_device_fails),
        cmocka_unit_test(test_changing),
        cmocka_unit_test(test_other_bus_error),
        cmocka_unit_test(test_guard),
    };
    return run_tap(tests);
}
