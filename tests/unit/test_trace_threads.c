/* A trace that several threads read is the one that a single thread reads, to the last number of a string;
 * and so is the message about one that is refused. Small blocks make many turns of small traces. */
#include "tests/unit/trace_vectors.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/old_files.h"
#include "tests/unit/same_trace.h"

/* ---- threads that can be refused ---- */

static unsigned threads_allowed = UINT32_MAX, threads_made;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    int (*make)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&make, &found, sizeof make);
    if (threads_made >= threads_allowed) return EAGAIN;
    threads_made++;
    return make(thread, attributes, start, argument);
}

/* ---- ways of reading ---- */

static const struct cg_load_options ways[] = {
    {.extras = true, .threads = 1},
    {.extras = true, .threads = 1, .block_bytes = 64},
    {.extras = true, .threads = 2, .block_bytes = 64},
    {.extras = true, .threads = 5, .block_bytes = 64},
    {.extras = true, .threads = 2, .block_bytes = 1000},
    {.extras = true, .threads = 5, .block_bytes = 1000, .portable = true},
};

/* From memory, or from a file that has it. */
static int load_way(const struct cg_load_options *way, const char *text, size_t length, bool file,
                    struct cg_trace **trace, struct cg_error *error)
{
    if (!file) return trace_load_bytes("test", text, length, way, trace, error);
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    return trace_load_descriptor("test", fd, way, trace, error);
}

/* The status of all ways, which is the same, as all else is. */
static int same_answer(const char *of, const char *text, size_t length)
{
    struct cg_trace *first = NULL;
    struct cg_error first_error = {0};
    int first_status = trace_load_bytes("test", text, length, &ways[0], &first, &first_error);
    for (size_t i = 1; i < 2 * COUNT(ways); i++) {
        const struct cg_load_options *way = &ways[i / 2];
        bool file = i % 2 == 1;
        struct cg_trace *trace = NULL;
        struct cg_error error = {0};
        int status = load_way(way, text, length, file, &trace, &error);
        if (status != first_status || strcmp(error.message, first_error.message) != 0)
            fail_msg("%s: status %d \"%s\", with %u threads and blocks of %zu bytes%s %d \"%s\"", of,
                     first_status, first_error.message, way->threads, way->block_bytes,
                     file ? " of a file" : "", status, error.message);
        if (status == 0) same_trace(first, trace, of);
        trace_free(trace);
    }
    trace_free(first);
    return first_status;
}

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    *length = fread(text, 1, (size_t)size, file);
    assert_int_equal(*length, size);
    fclose(file);
    return text;
}

/* ---- mutations: always the same ones ---- */

static uint64_t random_state = 1;
static size_t random_below(size_t limit)
{
    random_state ^= random_state << 13; /* G. Marsaglia, Xorshift RNGs, 2003 */
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % limit);
}

/* One change in text, which has room for twice its length: a byte written over, left out or put in, a piece
 * given twice, the end cut off. Returns the new length. */
static size_t mutate(char *text, size_t length)
{
    static const char bytes[] = "{}[]\",:\\0-e \n\r\xFF\xC2\0";
    size_t at = random_below(length), piece = random_below(length - at) / 2 + 1;
    switch (random_below(6)) {
    case 0:
        text[at] = bytes[random_below(sizeof bytes)];
        return length;
    case 1:
        memmove(text + at, text + at + 1, length - at - 1);
        return length - 1;
    case 2:
        memmove(text + at + 1, text + at, length - at);
        text[at] = bytes[random_below(sizeof bytes)];
        return length + 1;
    case 3: /* a whole line once more */
        while (at > 0 && text[at - 1] != '\n')
            at--;
        piece = (size_t)((const char *)memchr(text + at, '\n', length - at) - text) + 1 - at;
        memmove(text + at + piece, text + at, length - at);
        return length + piece;
    case 4:
        memmove(text + at, text + at + piece, length - at - piece);
        return length - piece;
    default:
        return at + 1;
    }
}

static void test_conformance(void **state)
{
    glob_t found;
    (void)state;
    assert_int_equal(glob("tests/conformance/traces/*.jsonl", 0, NULL, &found), 0);
    size_t accepted_count = 0, refused_count = 0;
    threads_made = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        enum { MUTANTS = 5 };
        size_t length;
        char *text = read_file(found.gl_pathv[i], &length), *mutant = malloc(2 * length + 2);
        assert_non_null(mutant);
        same_answer(found.gl_pathv[i], text, length);
        for (int round = 0; round < MUTANTS; round++) {
            memcpy(mutant, text, length);
            int status = same_answer(found.gl_pathv[i], mutant, mutate(mutant, length));
            (*(status == 0 ? &accepted_count : &refused_count))++;
        }
        free(mutant);
        free(text);
    }
    assert_true(found.gl_pathc >= 160);
    assert_true(accepted_count >= 50 && refused_count >= 50);
    assert_true(threads_made >= 160 * (1 + 4 + 1 + 4) / 2); /* at least half of the traces have two blocks */
    globfree(&found);
}

/* ---- what is odd ---- */

#define FEW_SPANS                                                                                            \
    "{\"kind\":\"span_start\",\"id\":\"b\",\"parent_id\":\"a\",\"name\":\"n\",\"start_ns\":1,\"span_kind\":" \
    "\"function\"}\n{\"kind\":\"span_end\",\"id\":\"b\",\"duration_ns\":1}\n"
#define BAD_LINE "{\"kind\":\"span_end\",\"id\":7}\n"

/* The first defect of the file counts, however early a later one was seen. */
static const struct vector odd[] = {
    ACCEPT("stream", STREAM),
    ACCEPT("carriage returns", META "\r\n" SPAN_A "\r\n" FEW_SPANS END_A "\r\n" TERMINAL "\r\n"),
    ACCEPT("blank lines", "\n\n" META "\n\n\n\n" SPAN_A "\n \n\t\n" END_A "\n" TERMINAL "\n\n\n\n"),
    ACCEPT("no last line feed", META "\n" SPAN_A "\n" END_A "\n" TERMINAL),
    REJECT("empty", "", "no record at all"),
    REJECT("mark at the start", "\xEF\xBB\xBF" STREAM, "test:1:1: byte order mark"),
    REJECT("two defects", META "\n" SPAN_A "\n" BAD_LINE FEW_SPANS BAD_LINE,
           "test:3:25: span_end: field \"id\""),
    REJECT("defect in the stream before one in a line", META "\n" END_A "\n" BAD_LINE,
           "test:2: span_end: span \"a\" has not started"),
    REJECT("defect in a line before one in the stream", META "\n" BAD_LINE END_A "\n", "test:2:25: span_end"),
    REJECT("bad line behind the terminal", STREAM BAD_LINE, "test:5: a record follows the terminal"),
    REJECT("no object behind the terminal", STREAM "\n\nx\n", "test:7: a record follows the terminal"),
    REJECT("cut off", META "\n" SPAN_A "\n{\"kind\":\"span_end\"",
           "test:3:19: span_end: expected ',' or '}' (the file is cut"),
    REJECT("no line feed behind a bad line that is not the last", META "\n{\"kind\":\"span_end\"\n" SPAN_A,
           "test:2:19: span_end: expected ',' or '}'"),
};

static void test_odd(void **state)
{
    const struct vector *vector = *state;
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    same_answer(vector->name, vector->text, strlen(vector->text));
    trace_load_bytes("test", vector->text, strlen(vector->text), &ways[3], &trace, &error);
    trace_free(trace);
    if (vector->message == NULL) {
        assert_string_equal(error.message, "");
    } else if (strstr(error.message, vector->message) == NULL) {
        fail_msg("expected \"%s\" in the message: %s", vector->message, error.message);
    }
    /* Only the last line of a file can be cut off. */
    if (strncmp(vector->name, "no line feed", 12) == 0) assert_null(strstr(error.message, "cut off"));
}

static void test_zero_bytes(void **state)
{
    static const char text[] = META "\n" SPAN_A "\n" FEW_SPANS "\0\n" END_A "\n" TERMINAL "\n";
    (void)state;
    assert_int_equal(same_answer("zero byte", text, sizeof text - 1), CG_EXIT_INPUT);
}

/* Spans enough for several blocks of the usual size, one with a name that is longer than all of them. */
static char *many_spans(size_t count, size_t longest, size_t *length)
{
    char *text = malloc(sizeof STREAM + count * 160 + longest), *to = text;
    assert_non_null(text);
    to += sprintf(to, "%s\n%s\n", META, SPAN_A);
    for (size_t i = 0; i < count; i++) {
        to += sprintf(to, "{\"kind\":\"span_start\",\"id\":\"span:%zu\",\"parent_id\":\"a\",\"name\":\"", i);
        size_t name = i == count / 2 ? longest : 1;
        memset(to, 'n', name);
        to += name;
        to += sprintf(to, "\",\"start_ns\":%zu,\"span_kind\":\"function\"}\n", i);
    }
    to += sprintf(to, "%s\n{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%zu}\n", END_A,
                  count);
    *length = (size_t)(to - text);
    return text;
}

static void test_long_line(void **state)
{
    size_t length;
    char *text = many_spans(3000, 3 << 20, &length);
    (void)state;
    assert_int_equal(same_answer("long line", text, length), 0);
    free(text);
}

struct tapped {
    char *bytes;
    size_t length;
};

static void take_tapped(void *context, const void *bytes, size_t length)
{
    struct tapped *tapped = context;
    memcpy(tapped->bytes + tapped->length, bytes, length);
    tapped->length += length;
}

/* A tap gets the bytes in their order, whoever reads them. */
static void test_tap(void **state)
{
    size_t length;
    char *text = many_spans(3000, 1, &length);
    FILE *file = tmpfile();
    struct tapped tapped = {.bytes = malloc(length)};
    struct cg_load_options options = {
        .threads = 5, .block_bytes = 1000, .tap = take_tapped, .tap_context = &tapped};
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    (void)state;
    assert_true(file != NULL && tapped.bytes != NULL);
    assert_int_equal(fwrite(text, 1, length, file), length);
    rewind(file);
    if (trace_load_descriptor("test", dup(fileno(file)), &options, &trace, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(tapped.length, length);
    assert_memory_equal(tapped.bytes, text, length);
    trace_free(trace);
    free(tapped.bytes);
    fclose(file);
    free(text);
}

/* Threads that cannot be had are done without: none, or one of four. */
static void test_no_threads(void **state)
{
    size_t length;
    char *text = many_spans(3000, 1, &length);
    (void)state;
    for (unsigned allowed = 0; allowed < 2; allowed++) {
        struct cg_load_options options = {.threads = 5};
        struct cg_error error = {0};
        struct cg_trace *trace = NULL;
        threads_made = 0;
        threads_allowed = allowed;
        int status = trace_load_bytes("test", text, length, &options, &trace, &error);
        threads_allowed = UINT32_MAX;
        if (status != 0) fail_msg("%s", error.message);
        assert_int_equal(threads_made, allowed);
        assert_int_equal(trace->span.rows, 3001);
        trace_free(trace);
    }
    free(text);
}

/* A small trace is not worth a thread. */
static void test_one_block(void **state)
{
    struct cg_load_options options = {.threads = 5};
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    (void)state;
    threads_made = 0;
    assert_int_equal(trace_load_bytes("test", STREAM, sizeof STREAM - 1, &options, &trace, &error), 0);
    assert_int_equal(threads_made, 0);
    trace_free(trace);
}

int main(void)
{
    struct CMUnitTest tests[6 + COUNT(odd)] = {
        cmocka_unit_test(test_conformance), cmocka_unit_test(test_zero_bytes),
        cmocka_unit_test(test_long_line),   cmocka_unit_test(test_no_threads),
        cmocka_unit_test(test_one_block),   cmocka_unit_test(test_tap),
    };
    size_t count = 6;
    for (size_t i = 0; i < COUNT(odd); i++)
        tests[count++] = (struct CMUnitTest){odd[i].name, test_odd, NULL, NULL, (void *)&odd[i]};
    return run_tap(tests);
}
