/* Where a trace comes from: files, standard input, compressed streams, long lines, and what cannot be read.
 */
#include "tests/unit/trace_vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static char folder[] = "/tmp/test_trace_input.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const void *bytes, size_t length)
{
    const char *path = in_folder(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

static int load_path(const char *path, struct cg_error *error, size_t *spans)
{
    struct cg_trace *trace = NULL;
    *error = (struct cg_error){0};
    int status = trace_load(path, NULL, &trace, error);
    if (status == 0) *spans = trace->span.rows;
    trace_free(trace);
    return status;
}

static void expect_path(const char *path, int status, const char *message)
{
    struct cg_error error;
    size_t spans = 0;
    int answer = load_path(path, &error, &spans);
    if (answer != status) fail_msg("status %d, expected %d: %s", answer, status, error.message);
    if (status != 0 && strstr(error.message, message) == NULL)
        fail_msg("expected \"%s\" in the message: %s", message, error.message);
    if (status == 0) assert_int_equal(spans, 1);
}

static void test_file(void **state)
{
    (void)state;
    expect_path(write_file("plain", STREAM, sizeof STREAM - 1), 0, "");
    assert_int_equal(symlink("plain", in_folder("link")), 0);
    expect_path(in_folder("link"), 0, "");
}

static void test_not_a_trace_file(void **state)
{
    (void)state;
    expect_path(folder, CG_EXIT_INPUT, "is a directory");
    expect_path(in_folder("missing"), CG_EXIT_INPUT, "No such file");
    expect_path(in_folder("plain/below"), CG_EXIT_INPUT, "Not a directory");
    expect_path("", CG_EXIT_INPUT, "No such file");
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    expect_path(in_folder("fifo"), CG_EXIT_INPUT, "not a regular file");
    expect_path("/dev/null", CG_EXIT_INPUT, "not a regular file");
    expect_path(write_file("empty", "", 0), CG_EXIT_INPUT, "no record at all");
    expect_path(write_file("binary",
                           "\x7f"
                           "ELF\0\0\0",
                           7),
                CG_EXIT_INPUT, "expected a JSON object");
}

/* The superuser may read everything, so the question is asked as somebody else. */
static void test_unreadable(void **state)
{
    (void)state;
    const char *path = write_file("secret", STREAM, sizeof STREAM - 1);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct cg_error error;
        size_t spans = 0;
        if (geteuid() == 0 && setuid(65534) != 0) _exit(77);
        int status = load_path(path, &error, &spans);
        _exit(strstr(error.message, "Permission denied") != NULL ? status : 99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_because("the user cannot be changed here, and root may read all");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CG_EXIT_IO);
}

/* A regular file whose read() fails: address 0 of our own memory. */
static void test_read_error(void **state)
{
    (void)state;
    if (access("/proc/self/mem", R_OK) != 0) skip_because("no /proc/self/mem");
    expect_path("/proc/self/mem", CG_EXIT_IO, "reading failed");
}

/* Feeds bytes through a pipe to standard input, a few at a time. */
static int load_standard_input(const char *bytes, size_t length, size_t piece, struct cg_error *error)
{
    int ends[2], keep = dup(STDIN_FILENO);
    size_t spans = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        for (size_t at = 0; at < length; at += piece)
            if (write(ends[1], bytes + at, length - at < piece ? length - at : piece) < 0) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    int status = load_path("-", error, &spans);
    dup2(keep, STDIN_FILENO);
    close(keep);
    waitpid(child, NULL, 0);
    if (status == 0) assert_int_equal(spans, 1);
    return status;
}

static void test_standard_input(void **state)
{
    (void)state;
    struct cg_error error;
    assert_int_equal(load_standard_input(STREAM, sizeof STREAM - 1, 7, &error), 0);
    assert_int_equal(load_standard_input(STREAM, sizeof STREAM - 1, 4096, &error), 0);
    assert_int_equal(load_standard_input(STREAM "x", sizeof STREAM, 1, &error), CG_EXIT_INPUT);
    assert_non_null(strstr(error.message, "standard input:5:"));
    assert_int_equal(load_standard_input("", 0, 1, &error), CG_EXIT_INPUT);
}

static size_t gzip(const void *from, size_t length, unsigned char *to, size_t room)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)from,
                  .avail_in = (unsigned)length,
                  .next_out = to,
                  .avail_out = (unsigned)room};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static void test_gzip(void **state)
{
    (void)state;
    unsigned char bytes[8192];
    size_t length = gzip(STREAM, sizeof STREAM - 1, bytes, sizeof bytes);
    expect_path(write_file("t.jsonl", bytes, length), 0, ""); /* told by its bytes, not by its name */
    expect_path(write_file("t.gz", bytes, length - 9), CG_EXIT_INPUT,
                "gzip data cannot be decompressed: it ends too early");
    bytes[length - 6] ^= 1; /* in the CRC */
    expect_path(write_file("t.gz", bytes, length), CG_EXIT_INPUT, "gzip data cannot be decompressed");
    /* Two members, the second of which begins in the middle of a line. */
    size_t first = gzip(STREAM, 100, bytes, sizeof bytes);
    size_t second = gzip(&STREAM[100], sizeof STREAM - 101, bytes + first, sizeof bytes - first);
    expect_path(write_file("t.gz", bytes, first + second), 0, "");
    struct cg_error error;
    assert_int_equal(load_standard_input((char *)bytes, first + second, 11, &error), 0);
    expect_path(write_file("t.gz", "\x1F\x8B", 2), CG_EXIT_INPUT, "gzip");
}

static void test_zstandard(void **state)
{
    (void)state;
    unsigned char bytes[8192];
    size_t length = ZSTD_compress(bytes, sizeof bytes, STREAM, sizeof STREAM - 1, 3);
    assert_false(ZSTD_isError(length));
    expect_path(write_file("t.jsonl", bytes, length), 0, "");
    expect_path(write_file("t.zst", bytes, length - 3), CG_EXIT_INPUT,
                "zstd data cannot be decompressed: it ends too early");
    expect_path(write_file("t.zst", "\x28\xB5\x2F\xFD\xFF\xFF\xFF\xFF\xFF", 9), CG_EXIT_INPUT,
                "zstd data cannot");
    size_t first = ZSTD_compress(bytes, sizeof bytes, STREAM, 100, 3);
    size_t second = ZSTD_compress(bytes + first, sizeof bytes - first, &STREAM[100], sizeof STREAM - 101, 3);
    expect_path(write_file("t.zst", bytes, first + second), 0, "");
    struct cg_error error;
    assert_int_equal(load_standard_input((char *)bytes, first + second, 11, &error), 0);
}

/* Lines at every distance from the border of a block of 1 MiB, and one that is far longer than a block. */
static void test_long_lines(void **state)
{
    (void)state;
    static const char head[] = META "\n{\"kind\":\"span_start\",\"id\":\"a\",\"name\":\"",
                      tail[] = "\",\"start_ns\":0,\"span_kind\":\"op\"}\n" TERMINAL "\n";
    static const size_t sizes[] = {(1 << 20) - 700, (1 << 20) - 456, (1 << 20) - 64,
                                   1 << 20,         (3 << 20) + 1,   100 << 20};
    char *text = malloc(sizeof head + sizeof tail + (100 << 20));
    assert_non_null(text);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char *at = stpcpy(text, head);
        memset(at, 'x', sizes[i]);
        size_t length = (size_t)(stpcpy(at + sizes[i], tail) - text);
        struct cg_trace *trace = accepted(text, length);
        assert_int_equal(trace_text(trace, trace->span.name[0]).length, sizes[i]);
        assert_true(trace->file_bytes == length);
        trace_free(trace);
        text[length - 2] = 'x';
        assert_non_null(strstr(refused(text, length, CG_EXIT_INPUT), "test:3:"));
    }
    free(text);
}

/* Many lines: every border between blocks, and ids that need the tables to grow. */
static void test_many_spans(void **state)
{
    (void)state;
    enum { SPANS = 40000 };
    char *text = malloc(SPANS * 128 + 1024), *at = stpcpy(text, META "\n");
    assert_non_null(text);
    for (int i = 0; i < SPANS; i++)
        at += sprintf(
            at,
            "{\"kind\":\"span_start\",\"id\":\"%d\",\"name\":\"n\",\"start_ns\":%d,\"span_kind\":\"op\"}\n",
            (i * 7919) % SPANS, i);
    at = stpcpy(at, "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":40000}\n");
    struct cg_trace *trace = accepted(text, (size_t)(at - text));
    assert_int_equal(trace->span.rows, SPANS);
    for (uint32_t row = 1; row < SPANS; row++)
        assert_true(trace_compare(trace, trace->span.id[row - 1], trace->span.id[row]) < 0);
    for (int i = 0; i < SPANS; i++) {
        char id[16];
        int length = snprintf(id, sizeof id, "%d", (i * 7919) % SPANS);
        cg_str string = trace_find(trace, id, (size_t)length);
        assert_int_not_equal(string, CG_ABSENT);
        assert_true(trace->span.start_ns[trace_span(trace, string)] == (uint64_t)i);
    }
    trace_free(trace);
    free(text);
}

static void remember_progress(void *context, uint64_t done, uint64_t total)
{
    uint64_t *last = context;
    assert_true(done > last[0]);
    assert_int_equal(total, 0); /* a pipe has no size */
    last[0] = done;
    last[1]++;
}

/* Writes so much, and waits until it has been read. */
static bool put(int pipe, const char *bytes, size_t length)
{
    int left = 1;
    if (write(pipe, bytes, length) != (ssize_t)length) return false;
    while (ioctl(pipe, FIONREAD, &left) == 0 && left > 0)
        usleep(1000);
    return left == 0;
}

/* A pipe that holds its last line back for longer than progress may stay silent, which counts from when
 * reading has begun: what is read first tells the form, what comes then is read as lines. */
static void test_progress(void **state)
{
    (void)state;
    static const char first[] = META "\n", more[] = SPAN_A "\n" END_A "\n", tail[] = TERMINAL "\n";
    uint64_t last[2] = {0, 0};
    struct cg_load_options options = {.progress = remember_progress, .progress_context = last};
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    int ends[2], keep = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!put(ends[1], first, sizeof first - 1) || !put(ends[1], more, sizeof more - 1)) _exit(1);
        usleep(150000);
        _exit(write(ends[1], tail, sizeof tail - 1) < 0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    int status = trace_load("-", &options, &trace, &error);
    dup2(keep, STDIN_FILENO);
    close(keep);
    waitpid(child, NULL, 0);
    assert_int_equal(status, 0);
    assert_true(last[1] >= 1);
    assert_int_equal(last[0], sizeof first + sizeof more + sizeof tail - 3);
    trace_free(trace);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"plain",  "link",    "fifo", "empty", "binary",
                                        "secret", "t.jsonl", "t.gz", "t.zst"};
    for (size_t i = 0; i < COUNT(names); i++)
        unlink(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),           cmocka_unit_test(test_not_a_trace_file),
        cmocka_unit_test(test_unreadable),     cmocka_unit_test(test_read_error),
        cmocka_unit_test(test_standard_input), cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstandard),      cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_many_spans),     cmocka_unit_test(test_progress),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name(__FILE__, tests, make_folder, remove_folder);
}
