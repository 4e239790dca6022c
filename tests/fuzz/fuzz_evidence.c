/* libFuzzer: the evidence of any trace that is taken can be made, and the packet that is written of it is
 * read back. Without the sources of the parser's own target: what comes behind it. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/evidence.h"
#include "common/json_doc.h"
#include "tests/fuzz/files.h"

struct text {
    char *bytes;
    size_t length;
};

static int keep(void *context, const char *bytes, size_t length)
{
    struct text *text = context;
    char *more = realloc(text->bytes, text->length + length + EVIDENCE_PADDING);
    if (!more) abort();
    memcpy(more + text->length, bytes, length);
    *text = (struct text){more, text->length + length};
    return 0;
}

static struct text packet_of(const struct evidence *evidence)
{
    struct text text = {NULL, 0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, keep, &text);
    if (!doc) abort();
    emit_packet(doc, evidence);
    if (doc_finish(doc) != 0) abort();
    memset(text.bytes + text.length, 0, EVIDENCE_PADDING);
    return text;
}

static void read_back(struct text packet)
{
    struct cg_error error = {0};
    struct evidence stored;
    if (evidence_read("packet", packet.bytes, packet.length, &stored, &error) != CG_EXIT_DONE) abort();
    evidence_free(&stored);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct cg_load_options options = {.extras = true, .threads = 1};
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    struct evidence evidence;
    if (trace_load_bytes("fuzz", bytes, length, &options, &trace, &error) != CG_EXIT_DONE) return 0;
    int status = evidence_make(trace, NULL, EVIDENCE_NODES | EVIDENCE_EDGES, &evidence, &error);
    if (status == CG_EXIT_DONE) {
        struct text packet = packet_of(&evidence);
        read_back(packet);
        free(packet.bytes);
        evidence_free(&evidence);
    } else if (status != CG_EXIT_INPUT || !error.message[0]) {
        abort();
    }
    trace_free(trace);
    return 0;
}
