#include "analyzer/evidence/bounded.h"
#include "analyzer/evidence/structure.h"

static const struct {
    const char *member, *meaning;
    bool bytes;
} parts[STRUCTURE_PART_COUNT] = {
#define PART(suffix, member, bytes, coverage, meaning) {member, meaning, bytes},
    STRUCTURE_PARTS(PART)
#undef PART
};

static const char *const side_names[STRUCTURE_SIDES] = {"baseline", "candidate"};

struct list {
    const struct structure_part_comparison *part;
    bool bytes;
};

static void emit_difference(struct json_doc *doc, const void *object, uint64_t i)
{
    const struct list *list = object;
    const struct structure_difference *difference = &list->part->differences[i];
    doc_object(doc);
    doc_member_bytes(doc, "name", difference->name.bytes, difference->name.length);
    doc_member_string(doc, "change",
                      !difference->count[STRUCTURE_BASELINE]    ? "added"
                      : !difference->count[STRUCTURE_CANDIDATE] ? "removed"
                                                                : "changed");
    doc_member_u64(doc, "baseline_count", difference->count[STRUCTURE_BASELINE]);
    doc_member_u64(doc, "candidate_count", difference->count[STRUCTURE_CANDIDATE]);
    if (list->bytes) {
        doc_member_u64(doc, "baseline_bytes", difference->bytes[STRUCTURE_BASELINE]);
        doc_member_u64(doc, "candidate_bytes", difference->bytes[STRUCTURE_CANDIDATE]);
    }
    doc_object_end(doc);
}

static void emit_run(struct json_doc *doc, const struct structured_run *run)
{
    doc_object(doc);
    doc_member_bytes(doc, "run_id", run->run_id.bytes, run->run_id.length);
    doc_member_u64(doc, "position", run->position);
    doc_member_bool(doc, "complete", run->complete);
    doc_member_u64(doc, "runs", run->runs);
    doc_member_u64(doc, "runs_alike", run->runs_alike);
    doc_object_end(doc);
}

static void emit_part(struct json_doc *doc, const struct structure_comparison *comparison, int number,
                      uint64_t cap)
{
    const struct structure_part_comparison *part = &comparison->parts[number];
    struct list list = {part, parts[number].bytes};

    doc_object(doc);
    doc_member_string(doc, "definition", parts[number].meaning);
    doc_member_string(doc, "baseline_coverage",
                      cg_name_COVERAGE[comparison->sides[STRUCTURE_BASELINE].structure->coverage[number]]);
    doc_member_string(doc, "candidate_coverage",
                      cg_name_COVERAGE[comparison->sides[STRUCTURE_CANDIDATE].structure->coverage[number]]);
    doc_member_u64(doc, "added", part->added);
    doc_member_u64(doc, "removed", part->removed);
    doc_member_u64(doc, "changed", part->changed);
    doc_member_u64(doc, "unchanged", part->unchanged);
    doc_key(doc, "differences");
    emit_bounded(doc, part->difference_count, cap, emit_difference, &list);
    doc_object_end(doc);
}

void emit_structure_comparison(struct json_doc *doc, const struct structure_comparison *comparison,
                               uint64_t cap)
{
    doc_object(doc);
    for (int side = 0; side < STRUCTURE_SIDES; side++) {
        doc_key(doc, side_names[side]);
        emit_run(doc, &comparison->sides[side]);
    }
    for (int part = 0; part < STRUCTURE_PART_COUNT; part++) {
        doc_key(doc, parts[part].member);
        emit_part(doc, comparison, part, cap);
    }
    doc_object_end(doc);
}
