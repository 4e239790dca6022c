#include "analyzer/evidence/bounded.h"

void emit_bounded_members(struct json_doc *doc, uint64_t total, uint64_t cap, bounded_row *row,
                          const void *list)
{
    uint64_t displayed = total < cap ? total : cap;
    doc_member_u64(doc, "displayed", displayed);
    doc_member_u64(doc, "total", total);
    doc_member_bool(doc, "truncated", displayed < total);
    doc_key(doc, "rows");
    doc_array(doc);
    for (uint64_t i = 0; i < displayed; i++)
        row(doc, list, i);
    doc_array_end(doc);
}

void emit_bounded(struct json_doc *doc, uint64_t total, uint64_t cap, bounded_row *row, const void *list)
{
    doc_object(doc);
    emit_bounded_members(doc, total, cap, row, list);
    doc_object_end(doc);
}
