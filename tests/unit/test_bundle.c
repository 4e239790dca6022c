/* A bundle whose bytes are changed one by one: every change is found, and the file named (doc/spec/bundle.md
 * 7). */
#include "tests/unit/cmocka_tap.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/bundle.h"
#include "analyzer/evidence/bundle_publish.h"

static char folder[] = "/tmp/cgtrace-bundle-XXXXXX";
static char root[sizeof folder + 16];

#define RUN_ID "7001"
static const char trace_text_[] =
    "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"" RUN_ID
    "\",\"correlation_id\":\"c\","
    "\"entrypoint\":\"e\",\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,"
    "\"device\":\"cpu\",\"timing_mode\":\"host\",\"capture_contract\":{\"measurement_scope\":\"unknown\","
    "\"operations\":\"none\",\"logical_memory\":\"none\",\"physical_memory\":\"none\",\"device_timing\":"
    "\"none\"},"
    "\"tags\":{}}\n"
    "{\"kind\":\"span_start\",\"id\":\"m\",\"name\":\"m\",\"start_ns\":0,\"span_kind\":\"module\","
    "\"measured\":"
    "true}\n"
    "{\"kind\":\"span_end\",\"id\":\"m\",\"duration_ns\":9}\n"
    "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":9}\n";

/* The page is not what is looked at here. */
static int write_page(const struct cg_trace *trace, const struct evidence *evidence, json_sink *sink,
                      void *context, struct cg_error *error)
{
    (void)trace;
    (void)evidence;
    (void)error;
    return sink(context, "page", 4);
}

static int publish(void **state)
{
    struct bundle bundle;
    struct cg_error error;
    char trace[sizeof folder + 16];
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(trace, sizeof trace, "%s/t.jsonl", folder);
    snprintf(root, sizeof root, "%s/b", folder);
    FILE *file = fopen(trace, "w");
    if (!file || fputs(trace_text_, file) < 0 || fclose(file) != 0) return -1;
    if (bundle_publish(trace, NULL, root, 0, write_page, &bundle, &error) != 0) return -1;
    bundle_close(&bundle);
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static int clean(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The file's bytes and its descriptor, open for changing it. */
static int open_file(const char *name, char *bytes, size_t room, size_t *length)
{
    char path[sizeof root + 64];
    snprintf(path, sizeof path, "%s/%s", root, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got = pread(fd, bytes, room, 0);
    assert_true(got > 0 && (size_t)got < room);
    *length = (size_t)got;
    return fd;
}

/* What verification says while one byte is another. */
static int verify_changed(int fd, size_t at, char byte, char mask, struct bundle *bundle,
                          struct cg_error *error)
{
    char other = (char)(byte ^ mask);
    assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
    int status = bundle_verify(root, false, bundle, error);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    return status;
}

static void every_byte_of_every_declared_file(void **state)
{
    static const char *const names[] = {"trace.jsonl", "evidence.json", "report.md"};
    static char bytes[1 << 20];
    struct bundle bundle;
    struct cg_error error;
    size_t length;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = open_file(names[i], bytes, sizeof bytes, &length);
        for (size_t at = 0; at < length; at++) {
            assert_int_equal(verify_changed(fd, at, bytes[at], (char)(1 << at % 8), &bundle, &error),
                             CG_EXIT_CONDITION);
            assert_non_null(strstr(error.message, names[i]));
        }
        close(fd);
    }
    assert_int_equal(bundle_verify(root, false, &bundle, &error), 0);
    bundle_close(&bundle);
}

/* What is parsed is what is hashed: a changed byte is a wrong digest, whatever the parser makes of it. */
static void every_byte_that_is_loaded(void **state)
{
    static const char *const names[] = {"trace.jsonl", "evidence.json"};
    static char bytes[1 << 20];
    struct bundle_load load = {.packet_wanted = true};
    struct bundle bundle;
    struct cg_error error;
    size_t length;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = open_file(names[i], bytes, sizeof bytes, &length);
        for (size_t at = 0; at < length; at++) {
            char other = (char)(bytes[at] ^ 1 << at % 8);
            assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
            assert_int_equal(bundle_load(root, &load, &bundle, &error), CG_EXIT_INPUT);
            assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t)at), 1);
            assert_non_null(strstr(error.message, names[i]));
            assert_non_null(strstr(error.message, "its SHA-256 is"));
            assert_null(load.trace);
            assert_null(load.packet);
        }
        close(fd);
    }
    assert_int_equal(bundle_load(root, &load, &bundle, &error), 0);
    assert_int_equal(load.packet_length, length); /* evidence.json came last */
    assert_memory_equal(load.packet, bytes, length);
    assert_int_equal(load.trace->span.rows, 1);
    trace_free(load.trace);
    free(load.packet);
    bundle_close(&bundle);
}

/* Only the run id is not vouched for by anything else; then the digest of the manifest tells. */
static void every_byte_of_the_manifest(void **state)
{
    static char bytes[1 << 16];
    struct bundle whole, bundle;
    struct cg_error error;
    size_t length, verified = 0;
    (void)state;
    int fd = open_file(BUNDLE_MANIFEST, bytes, sizeof bytes - 1, &length);
    const char *run_id = strstr(bytes, RUN_ID);
    assert_non_null(run_id);
    size_t begin = (size_t)(run_id - bytes), end = begin + sizeof RUN_ID - 1;
    assert_int_equal(bundle_verify(root, false, &whole, &error), 0);
    for (size_t at = 0; at < length; at++) {
        int status = verify_changed(fd, at, bytes[at], 1, &bundle, &error);
        assert_int_equal(status, at >= begin && at < end ? 0 : CG_EXIT_CONDITION);
        if (status != 0) continue;
        assert_string_not_equal(bundle.manifest_sha256, whole.manifest_sha256);
        bundle_close(&bundle);
        verified++;
    }
    assert_int_equal(verified, sizeof RUN_ID - 1);
    bundle_close(&whole);
    close(fd);
}

/* A file that is replaced between verification and reading is not read. */
static void only_what_was_hashed_is_read(void **state)
{
    static char bytes[1 << 20];
    static const char *const consumed[] = {"trace.jsonl"};
    char path[sizeof root + 64], other[sizeof root + 64];
    struct bundle bundle;
    struct bundle_load load = {0};
    struct cg_error error;
    (void)state;
    assert_int_equal(bundle_load(root, &load, &bundle, &error), 0);
    trace_free(load.trace);
    assert_null(load.packet);
    assert_int_equal(bundle_unchanged(&bundle, consumed, 1, &error), 0);
    snprintf(path, sizeof path, "%s/trace.jsonl", root);
    snprintf(other, sizeof other, "%s/copy", folder);
    size_t length;
    int from = open_file("trace.jsonl", bytes, sizeof bytes, &length),
        to = open(other, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(to, bytes, length), (ssize_t)length);
    close(from);
    close(to);
    assert_int_equal(rename(other, path), 0); /* the same bytes in another file */
    assert_int_equal(bundle_open_file(&bundle, "trace.jsonl", &error), -1);
    assert_int_equal(error.status, CG_EXIT_INPUT);
    assert_int_equal(bundle_unchanged(&bundle, consumed, 1, &error), CG_EXIT_INPUT);
    bundle_close(&bundle);
    assert_int_equal(bundle_verify(root, false, &bundle, &error), 0);
    int fd = open_file(BUNDLE_MANIFEST, bytes, sizeof bytes, &length);
    assert_int_equal(pwrite(fd, "\n", 1, (off_t)length), 1);
    close(fd);
    assert_int_equal(bundle_unchanged(&bundle, consumed, 1, &error), CG_EXIT_INPUT);
    bundle_close(&bundle);
}

static void safe_paths(void **state)
{
    static const char *const safe[] = {"a",   "a/b",     "nsight/x.csv", "sub/bundle.json",
                                       "...", ".hidden", "a/.b"};
    static const char *const unsafe[] = {"",   "/",    "/a",   "a/",     "a//b",  ".",    "./a",
                                         "..", "../a", "a/..", "a/../b", "a/./b", "a\\b", "bundle.json"};
    (void)state;
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++)
        assert_true(bundle_path_safe(safe[i]));
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        assert_false(bundle_path_safe(unsafe[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safe_paths),
        cmocka_unit_test(every_byte_of_every_declared_file),
        cmocka_unit_test(every_byte_that_is_loaded),
        cmocka_unit_test(every_byte_of_the_manifest),
        cmocka_unit_test(only_what_was_hashed_is_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name(__FILE__, tests, publish, clean);
}
