#include "analyzer/cmd/suspect_view.h"

#define PLANE_KEYS(suffix, kind, sum, share) {sum, share},
static const struct {
    const char *sum, *share;
} keys[SUSPECT_PLANE_COUNT] = {SUSPECT_PLANES(PLANE_KEYS)};

static void emit_share(struct json_doc *doc, const char *key, uint64_t part, uint64_t whole)
{
    doc_member_double_or_null(doc, key, whole > 0, whole > 0 ? (double)part / (double)whole : 0);
}

void emit_suspect_tally(struct json_doc *doc, enum suspect_plane plane, const struct suspect_tally *tally)
{
    doc_object(doc);
    doc_member_u64(doc, "count", tally->suspects);
    doc_member_u64(doc, "records", tally->records);
    emit_share(doc, "share", tally->suspects, tally->records);
    if (keys[plane].sum) {
        doc_member_u64(doc, keys[plane].sum, tally->suspect_amount);
        emit_share(doc, keys[plane].share, tally->suspect_amount, tally->amount);
    }
    doc_key(doc, "rules");
    doc_array(doc);
    for (unsigned i = 0; i < SUSPECT_RULE_COUNT; i++) {
        if (suspect_rules[i].plane != plane || tally->by_rule[i] == 0) continue;
        doc_object(doc);
        doc_member_string(doc, "rule", suspect_rules[i].rule);
        doc_member_u64(doc, "count", tally->by_rule[i]);
        doc_member_string(doc, "meaning", suspect_rules[i].meaning);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    doc_object_end(doc);
}
