/* Shared by the emitters: values that name strings and lists of the trace. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_EMIT_H
#define CGTRACE_ANALYZER_EVIDENCE_EMIT_H

#include "analyzer/evidence/evidence.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static inline void emit_str(struct json_doc *doc, const struct cg_trace *trace, cg_str string)
{
    emit_text(doc, trace_text(trace, string));
}
static inline void member_str(struct json_doc *doc, const struct cg_trace *trace, const char *key,
                              cg_str string)
{
    doc_key(doc, key);
    emit_str(doc, trace, string);
}
/* Left out when absent. */
static inline void member_opt_str(struct json_doc *doc, const struct cg_trace *trace, const char *key,
                                  cg_str string)
{
    if (string != CG_ABSENT) member_str(doc, trace, key, string);
}
static inline void member_text(struct json_doc *doc, const char *key, struct cg_text text)
{
    doc_key(doc, key);
    emit_text(doc, text);
}
static inline void member_opt_text(struct json_doc *doc, const char *key, struct cg_text text)
{
    if (text.bytes) member_text(doc, key, text);
}
static inline void member_opt_u64(struct json_doc *doc, const char *key, bool known, uint64_t value)
{
    if (known) doc_member_u64(doc, key, value);
}
static inline void member_strs(struct json_doc *doc, const struct cg_trace *trace, const char *key,
                               const cg_str *strings, size_t count)
{
    doc_key(doc, key);
    doc_array(doc);
    for (size_t i = 0; i < count; i++)
        emit_str(doc, trace, strings[i]);
    doc_array_end(doc);
}
static inline void member_shape(struct json_doc *doc, const struct cg_trace *trace, struct cg_list shape)
{
    doc_key(doc, "shape");
    doc_array(doc);
    for (uint32_t i = 0; i < shape.count; i++)
        doc_u64(doc, trace->u64_pool[shape.first + i]);
    doc_array_end(doc);
}
static inline uint64_t clamp_u128(unsigned __int128 value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* Tensor statistics, in trace order. */
void emit_tensor_stats_list(struct json_doc *doc, const struct evidence *evidence);

#endif
