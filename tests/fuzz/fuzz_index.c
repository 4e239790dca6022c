/* libFuzzer: an index that anybody may have changed, all of its checksums right again, is refused with a
 * reason or is used without harm: evidence, packet and ranks are made of it. An input is the changes, of four
 * bytes each: where, in words of four bytes, and what; one that begins with the name of an index is taken
 * whole. */
#include "tests/fuzz/files.h"
#include "tests/unit/index_memory.h"

static const char whole[] =
#include "tests/unit/index_trace.h"
    ;

/* The index of the trace, made once. */
static const struct index_memory *original(void)
{
    static struct index_memory memory;
    struct cg_load_options options = {.extras = true};
    struct cg_trace *trace;
    struct cg_error error;
    struct evidence evidence;

    if (memory.length > 0) return &memory;
    if (trace_load_bytes("fuzz", whole, sizeof whole - 1, &options, &trace, &error) != 0 ||
        evidence_make(trace, NULL, 0, &evidence, &error) != 0 ||
        !index_memory_make(trace, &evidence, &memory))
        abort();
    evidence_free(&evidence);
    trace_free(trace);
    return &memory;
}

static int nowhere(void *context, const char *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    return 0;
}

static void use(const struct cg_trace *trace)
{
    struct cg_strings *labels = strings_new();
    struct rank_columns columns = {0};
    struct evidence evidence;
    struct cg_error error;

    if (!labels) abort();
    if (rank_columns_make(trace, NULL, labels, &columns)) rank_columns_free(&columns);
    strings_free(labels);
    if (evidence_make(trace, NULL, EVIDENCE_EDGES, &evidence, &error) != 0) return;
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, nowhere, NULL);
    if (!doc) abort();
    emit_packet(doc, &evidence);
    doc_finish(doc);
    evidence_free(&evidence);
}

static void change(struct index_memory *memory, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i + 8 <= length; i += 8) {
        uint32_t where, what;
        memcpy(&where, bytes + i, sizeof where);
        memcpy(&what, bytes + i + 4, sizeof what);
        memcpy(memory->bytes + (size_t)where % (memory->length / 4) * 4, &what, sizeof what);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    bool taken = length > sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
    struct index_memory memory = {0};
    char why[INDEX_WHY] = "";

    if (index_memory_sink(&memory, taken ? (const char *)bytes : (const char *)original()->bytes,
                          taken ? length : original()->length) != 0)
        abort();
    if (!taken) change(&memory, bytes, length);
    if (memory.length > sizeof(struct header)) index_memory_seal(&memory);
    struct index_file *file = index_file_of(memory.bytes, memory.length, trace_index_layout(), why);
    struct cg_trace *trace = file ? trace_index_read(file, length % 2 == 1, why) : NULL;
    if (trace)
        use(trace);
    else if (why[0] == '\0')
        abort();
    trace_free(trace);
    free(memory.bytes);
    return 0;
}
