/* Kinds that show a plane as it is: memory and capabilities. */
#include "analyzer/cmd/query.h"

static void emit_memory_profile(struct json_doc *doc, const void *object)
{
    emit_memory(doc, &((const struct query *)object)->input->evidence);
}

const struct query_kind query_memory = {
    .name = "memory",
    .about = "the memory profile: peak, timeline, lifetimes, device samples",
    .rows = "*",
    .emit = emit_memory_profile,
};

static void emit_matrix(struct json_doc *doc, const void *object)
{
    emit_capabilities(doc, &((const struct query *)object)->input->evidence);
}

const struct query_kind query_capabilities = {
    .name = "capabilities",
    .about = "what the capture can and cannot say, and why",
    .rows = "",
    .emit = emit_matrix,
};
