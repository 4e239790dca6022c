#include "analyzer/evidence/bundle_semantic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/bundle_derive.h"
#include "analyzer/evidence/json_compare.h"

/* Texts for people, which may change from version to version (10.2). */
static const char *const free_texts[] = {"/health/issues/*/message",
                                         "/capabilities/*/source",
                                         "/capabilities/*/reason",
                                         "/activations/definition",
                                         "/activations/*/source",
                                         "/activations/*/reason",
                                         "/findings/*/summary",
                                         "/facts/*/label",
                                         "/facts/*/source",
                                         "/gaps",
                                         "/gpu/reason",
                                         "/gpu/diagnostics",
                                         "/gpu/provenance/diagnostics",
                                         "/gpu/correlation/reason",
                                         NULL};

/* ---- byte by byte: what a bundle of ours is ---- */

struct stored {
    const char *bytes;
    size_t length, at;
};

/* A json_sink that compares instead of writing; the first difference ends it. */
static int compare_bytes(void *context, const char *bytes, size_t length)
{
    struct stored *stored = context;
    if (length > stored->length - stored->at || memcmp(stored->bytes + stored->at, bytes, length) != 0)
        return EILSEQ;
    stored->at += length;
    return 0;
}

/* 0 or an errno value; *same when the stored bytes are those that we would write. */
static int same_bytes(const struct evidence *evidence, const char *bytes, size_t length, bool *same)
{
    struct stored stored = {bytes, length, 0};
    struct json_doc *doc = doc_start(DOC_PRETTY, DOC_DECLARED, compare_bytes, &stored);
    if (!doc) return ENOMEM;
    emit_packet(doc, evidence);
    int fault = doc_finish(doc);
    *same = fault == 0 && stored.at == stored.length;
    return fault == EILSEQ ? 0 : fault;
}

/* ---- value by value ---- */

struct growing {
    char *bytes;
    size_t length, room;
};

static int append(void *context, const char *bytes, size_t length)
{
    struct growing *text = context;
    if (text->room - text->length < length + JSON_PADDING) {
        size_t room = 2 * text->room + length + JSON_PADDING;
        char *more = realloc(text->bytes, room);
        if (!more) return ENOMEM;
        text->bytes = more;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

static int derived_text(const struct evidence *evidence, struct growing *text)
{
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, append, text);
    if (!doc) return ENOMEM;
    emit_packet(doc, evidence);
    return doc_finish(doc);
}

/* Of another schema nothing can be said. */
static int check_schema(const char *name, struct shape_reader *stored, struct cg_error *error)
{
    const char *packet = shape_document(stored), *value = NULL;
    char found[TEXT_NAME_SIZE];
    struct cg_text schema = {0};
    if (*packet == '{') value = shape_member(stored, packet, "schema");
    if (value && *value == '"') schema = shape_text(stored, value);
    if (schema.length == strlen(EVIDENCE_SCHEMA) && memcmp(schema.bytes, EVIDENCE_SCHEMA, schema.length) == 0)
        return 0;
    return cg_fail(error, CG_EXIT_CONDITION,
                   "%s: schema %s: only " EVIDENCE_SCHEMA " can be derived anew and compared", name,
                   schema.bytes ? text_name(schema, found) : "(none)");
}

static int compare_texts(const char *name, struct shape_reader *derived, struct shape_reader *stored,
                         bool *except_text, struct cg_error *error)
{
    char pointer[JSON_POINTER_SIZE];
    int status = shape_check_any(stored, error);
    if (status == CG_EXIT_INPUT) return error->status = CG_EXIT_CONDITION;
    if (status == 0) status = check_schema(name, stored, error);
    if (status != 0) return status;
    switch (json_compare(derived, stored, free_texts, pointer)) {
    case JSON_EQUAL:
        return 0;
    case JSON_EQUAL_EXCEPT_FREE:
        *except_text = true;
        return 0;
    case JSON_DIFFERENT:
        return cg_fail(error, CG_EXIT_CONDITION, "%s: does not follow from the trace: first difference at %s",
                       name, *pointer ? pointer : "the document itself");
    case JSON_COMPARE_NO_MEMORY:
        break;
    }
    return cg_fail(error, CG_EXIT_IO, "%s: out of memory", name);
}

static int compare_values(const char *name, const struct evidence *evidence, char *bytes, size_t length,
                          bool *except_text, struct cg_error *error)
{
    struct growing text = {0};
    struct shape_reader derived, stored;
    int status = derived_text(evidence, &text);
    if (status != 0) {
        free(text.bytes);
        return cg_fail(error, CG_EXIT_IO, "%s: %s", name, strerror(status));
    }
    shape_open(&derived, "the evidence derived anew", text.bytes, text.length);
    shape_open(&stored, name, bytes, length);
    status = compare_texts(name, &derived, &stored, except_text, error);
    shape_close(&derived);
    shape_close(&stored);
    free(text.bytes);
    return status;
}

static int compare(const struct bundle *bundle, const struct evidence *evidence, bool *except_text,
                   struct cg_error *error)
{
    char *bytes, name[BUNDLE_PATH_MAX + sizeof "/evidence.json"];
    size_t length;
    bool same = false;
    int status = bundle_read_file(bundle, "evidence.json", &bytes, &length, error);
    if (status != 0) return status;
    snprintf(name, sizeof name, "%s/evidence.json", bundle->root);
    int fault = same_bytes(evidence, bytes, length, &same);
    if (fault != 0)
        status = cg_fail(error, CG_EXIT_IO, "%s: %s", name, strerror(fault));
    else if (!same)
        status = compare_values(name, evidence, bytes, length, except_text, error);
    free(bytes);
    return status;
}

int bundle_semantic(const struct bundle *bundle, bool *except_text, struct cg_error *error)
{
    char name[BUNDLE_PATH_MAX + sizeof "/trace.jsonl"];
    struct cg_trace *trace;
    struct evidence evidence;

    *except_text = false;
    int status = CG_EXIT_INPUT, fd = bundle_open_file(bundle, "trace.jsonl", error);
    if (fd >= 0) {
        snprintf(name, sizeof name, "%s/trace.jsonl", bundle->root);
        status = bundle_derive(bundle->root_fd, name, fd, NULL, &trace, &evidence, error);
    }
    if (status == 0) {
        status = compare(bundle, &evidence, except_text, error);
        evidence_free(&evidence);
        trace_free(trace);
    }
    /* Here a file that cannot be understood is a bundle that does not verify. */
    return status == CG_EXIT_INPUT ? error->status = CG_EXIT_CONDITION : status;
}
