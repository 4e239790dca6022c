/* The documents of a page whose evidence is a stored packet: its one reader is never asked by two at once. */
#include "tests/unit/packet.h"

#include <stdatomic.h>
#include <time.h>

#include "analyzer/viewer/viewer.h"

enum { DOCUMENTS = 12, THREADS = 4, ASKED_NS = 2000000 };
static atomic_int asking;
static atomic_bool together;

/* Long enough that a second thread is here meanwhile, if one may be. */
static void emit_document(struct json_doc *doc, const void *evidence)
{
    const struct timespec asked = {.tv_nsec = ASKED_NS};
    if (atomic_fetch_add(&asking, 1) > 0) atomic_store(&together, true);
    nanosleep(&asked, NULL);
    emit_health(doc, evidence);
    atomic_fetch_sub(&asking, 1);
}

static int no_sink(void *context, const char *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    return 0;
}

static void write_page(const struct cg_trace *trace, const struct evidence *evidence)
{
    static const char *const names[DOCUMENTS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    struct viewer_document documents[DOCUMENTS];
    struct cg_error error;
    for (size_t i = 0; i < DOCUMENTS; i++)
        documents[i] = (struct viewer_document){names[i], emit_document, evidence};
    struct viewer_run run = {.trace = trace,
                             .evidence = evidence,
                             .input = "t.jsonl",
                             .documents = documents,
                             .document_count = DOCUMENTS};
    assert_int_equal(viewer_write(&run, NULL, VIEWER_SIZE, no_sink, NULL, &error), 0);
}

static void test_stored_evidence(void **state)
{
    (void)state;
    const struct cg_load_options options = {.extras = true, .threads = THREADS};
    struct buffer text = {0};
    struct cg_trace *trace;
    struct evidence derived, stored;
    struct cg_error error;
    meta(&text, (struct contract){0});
    measured(&text, "a", NULL, 0, 5);
    complete(&text, 5);
    assert_int_equal(trace_load_bytes("test", text.at, text.length, &options, &trace, &error), 0);
    assert_int_equal(evidence_make(trace, NULL, EVIDENCE_NODES | EVIDENCE_EDGES, &derived, &error), 0);
    struct buffer packet = packet_text(&derived, DOC_COMPACT, DOC_DECLARED);
    buffer_reserve(&packet, EVIDENCE_PADDING);
    if (evidence_read("evidence.json", packet.at, packet.length, &stored, &error))
        fail_msg("%s", error.message);
    write_page(trace, &stored);
    assert_false(together);
    evidence_free(&stored);
    evidence_free(&derived);
    trace_free(trace);
    free(packet.at);
    free(text.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stored_evidence)};
    return run_tap(tests);
}
