/* Indexes of traces: the same evidence as from the trace itself, and no way to crash what reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>

#include "tests/unit/index_memory.h"

struct text {
    char *bytes;
    size_t length, room;
};

static int to_text(void *context, const char *bytes, size_t length)
{
    struct text *text = context;
    if (text->length + length > text->room) {
        text->room = (text->length + length) * 2;
        text->bytes = realloc(text->bytes, text->room);
        assert_non_null(text->bytes);
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

/* The packet of a trace, or the message of why there is none. */
static struct text packet_of(const struct cg_trace *trace, bool indexed)
{
    struct evidence evidence;
    struct cg_error error;
    struct text text = {0};

    if (evidence_make(trace, NULL, EVIDENCE_EDGES, &evidence, &error) != 0) {
        to_text(&text, error.message, strlen(error.message));
        return text;
    }
    if (indexed) assert_true(evidence.indexed);
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, to_text, &text);
    emit_packet(doc, &evidence);
    assert_int_equal(doc_finish(doc), 0);
    evidence_free(&evidence);
    return text;
}

static struct cg_trace *read_index(const struct index_memory *memory, bool extras, char why[INDEX_WHY])
{
    struct index_file *file = index_file_of(memory->bytes, memory->length, trace_index_layout(), why);
    return file ? trace_index_read(file, extras, why) : NULL;
}

static struct cg_trace *load(const char *path, bool extras)
{
    struct cg_load_options options = {.extras = extras};
    struct cg_trace *trace;
    struct cg_error error;
    return trace_load(path, &options, &trace, &error) == 0 ? trace : NULL;
}

static void make(const struct cg_trace *trace, struct index_memory *memory)
{
    struct evidence evidence;
    struct cg_error error;
    bool derived = evidence_make(trace, NULL, 0, &evidence, &error) == 0;

    assert_true(index_memory_make(trace, derived ? &evidence : NULL, memory));
    if (derived) evidence_free(&evidence);
}

static void compare(const char *path, const struct index_memory *memory, bool extras)
{
    char why[INDEX_WHY];
    struct cg_trace *trace = load(path, extras), *indexed = read_index(memory, extras, why);

    if (!indexed) fail_msg("%s: %s", path, why);
    struct text wanted = packet_of(trace, false), got = packet_of(indexed, wanted.bytes[0] == '{');
    if (got.length != wanted.length || memcmp(got.bytes, wanted.bytes, got.length) != 0)
        fail_msg("%s: another packet", path);
    assert_int_equal(indexed->file_bytes, trace->file_bytes);
    assert_int_equal(indexed->out_of_memory_count, trace->out_of_memory_count);
    assert_int_equal(trace_stack_count(indexed), trace_stack_count(trace));
    free(wanted.bytes);
    free(got.bytes);
    trace_free(trace);
    trace_free(indexed);
}

static void same_evidence(void **state)
{
    glob_t found;
    size_t accepted = 0;

    (void)state;
    assert_int_equal(glob("tests/conformance/traces/*.jsonl", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct index_memory memory;
        struct cg_trace *trace = load(found.gl_pathv[i], true);
        if (!trace) continue;
        make(trace, &memory);
        trace_free(trace);
        compare(found.gl_pathv[i], &memory, true);
        compare(found.gl_pathv[i], &memory, false);
        free(memory.bytes);
        accepted++;
    }
    globfree(&found);
    assert_true(accepted > 100);
}

static const char whole[] =
#include "tests/unit/index_trace.h"
    ;

static struct index_memory index_of_whole(void)
{
    struct cg_load_options options = {.extras = true};
    struct index_memory memory;
    struct cg_trace *trace;
    struct cg_error error;

    if (trace_load_bytes("test", whole, sizeof whole - 1, &options, &trace, &error) != 0)
        fail_msg("%s", error.message);
    make(trace, &memory);
    trace_free(trace);
    return memory;
}

static void use(const struct index_memory *memory, bool extras)
{
    char why[INDEX_WHY] = "";
    struct cg_trace *trace = read_index(memory, extras, why);
    struct text text;

    if (!trace) {
        assert_true(strlen(why) > 0);
        return;
    }
    text = packet_of(trace, false);
    free(text.bytes);
    trace_free(trace);
}

/* Each word of each array, and of the directory, takes values that break rules; all checksums are right. */
static void hostile(void **state)
{
    static const uint32_t values[] = {0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 2, 1, 0, 0x01010101};
    struct index_memory memory = index_of_whole();
    size_t refused = 0, taken = 0;

    (void)state;
    for (size_t at = offsetof(struct header, arrays); at + 4 <= memory.length; at += 4)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            unsigned char *bytes = memory.bytes;
            struct index_memory changed = {aligned_alloc(4096, memory.room), memory.length, memory.room};
            char why[INDEX_WHY];
            assert_non_null(changed.bytes);
            memcpy(changed.bytes, bytes, memory.length);
            memcpy(changed.bytes + at, &values[i], 4);
            index_memory_seal(&changed);
            struct cg_trace *trace = read_index(&changed, i % 2 == 0, why);
            refused += trace == NULL;
            taken += trace != NULL;
            trace_free(trace);
            if (at >= index_memory_begin(&memory) || i == 0) use(&changed, i % 2 == 0);
            free(changed.bytes);
        }
    assert_true(refused > 1000 && taken > 1000);
    free(memory.bytes);
}

/* Without the checksums put right, every changed byte of what is used is noticed. */
static void flipped(void **state)
{
    struct index_memory memory = index_of_whole();
    struct header header;
    char why[INDEX_WHY];

    (void)state;
    memcpy(&header, memory.bytes, sizeof header);
    const struct entry *entries = (const struct entry *)(const void *)(memory.bytes + aligned(sizeof header));
    for (size_t at = 0; at < aligned(sizeof header) + header.arrays * sizeof *entries; at++) {
        if (at >= sizeof header && at < aligned(sizeof header)) continue; /* filling */
        memory.bytes[at] ^= 0x10;
        assert_null(index_file_of(memory.bytes, memory.length, trace_index_layout(), why));
        memory.bytes[at] ^= 0x10;
    }
    for (size_t i = 0; i < header.arrays; i++)
        for (uint64_t k = 0; k < entries[i].stored; k++) {
            struct index_file *file;
            memory.bytes[entries[i].offset + k] ^= 1;
            file = index_file_of(memory.bytes, memory.length, trace_index_layout(), why);
            assert_non_null(file);
            assert_null(index_file_array(file, entries[i].name, entries[i].length));
            index_file_close(file);
            memory.bytes[entries[i].offset + k] ^= 1;
        }
    free(memory.bytes);
}

static void refused_with(struct index_memory *memory, size_t length, const char *words)
{
    char why[INDEX_WHY] = "";
    assert_null(index_file_of(memory->bytes, length, trace_index_layout(), why));
    if (!strstr(why, words)) fail_msg("said '%s', not '%s'", why, words);
}

static void other_files(void **state)
{
    struct index_memory memory = index_of_whole();
    struct header *header = (struct header *)(void *)memory.bytes;
    uint64_t layout;

    (void)state;
    for (size_t length = 0; length < memory.length; length += length < 300 ? 1 : 999)
        refused_with(&memory, length, "cut off");
    header->version++;
    refused_with(&memory, memory.length, "another version");
    header->version--;
    layout = header->layout;
    header->layout++;
    refused_with(&memory, memory.length, "another version");
    header->layout = layout;
    header->byte_order = __builtin_bswap64(header->byte_order);
    refused_with(&memory, memory.length, "another byte order");
    header->byte_order = __builtin_bswap64(header->byte_order);
    memory.bytes[0] = 'x';
    refused_with(&memory, memory.length, "no index");
    free(memory.bytes);
}

/* New strings in a trace whose strings are the index's: Nsight's reports bring some. */
static void more_strings(void **state)
{
    struct index_memory memory = index_of_whole();
    char why[INDEX_WHY];
    struct cg_trace *trace = read_index(&memory, true, why);

    (void)state;
    assert_non_null(trace);
    uint32_t count = trace_string_count(trace);
    cg_str known = trace_find(trace, "gemm", 4);
    assert_int_not_equal(known, CG_ABSENT);
    assert_int_equal(strings_intern(trace->strings, strings_hash("gemm", 4), "gemm", 4), known);
    assert_int_equal(trace_string_count(trace), count);
    assert_int_equal(strings_intern(trace->strings, strings_hash("new", 3), "new", 3), count + 1);
    assert_int_equal(trace_find(trace, "gemm", 4), known);
    assert_int_equal(trace_find(trace, "new", 3), count + 1);
    assert_int_equal(trace_span(trace, count + 1), CG_NONE);
    trace_free(trace);
    free(memory.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_evidence), cmocka_unit_test(hostile),
                                       cmocka_unit_test(flipped), cmocka_unit_test(other_files),
                                       cmocka_unit_test(more_strings)};

    return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
