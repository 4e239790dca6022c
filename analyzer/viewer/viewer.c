#include "analyzer/viewer/viewer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/viewer/costs.h"
#include "analyzer/viewer/head.h"
#include "analyzer/viewer/levels.h"
#include "analyzer/viewer/memory.h"
#include "analyzer/viewer/page.h"
#include "analyzer/viewer/tree.h"

enum {
    BLOCKS_MAX = 40000,
    ENTRY_BYTES = 11, /* of the page for one slice of the finest level, with its share of the coarser ones */
    TRIES = 8
};

/* A run being packed. */
struct packing {
    const struct viewer_run *run;
    struct slices slices;
    struct logical_memory logical;
    struct physical_memory physical;
    struct names names;
    struct levels levels;
    struct parts parts;
    struct head head;
};

static void packing_free(struct packing *packing)
{
    slices_free(&packing->slices);
    evidence_logical_free(packing->run->evidence, &packing->logical);
    physical_memory_free(&packing->physical);
    names_free(&packing->names);
    parts_free(&packing->parts);
}

static bool packing_start(struct packing *packing, const struct viewer_run *run)
{
    const struct evidence *evidence = run->evidence;
    *packing = (struct packing){.run = run};
    if (!names_start(&packing->names, run->trace)) return false;
    return evidence_logical(evidence, run->trace, &packing->logical) &&
           physical_memory_make(run->trace, &packing->physical) && slices_make(run->trace, &packing->slices);
}

static bool pack_documents(struct packing *packing)
{
    for (size_t i = 0; i < packing->run->document_count; i++) {
        const struct viewer_document *document = &packing->run->documents[i];
        char name[40];
        struct buffer raw = {0};
        struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, buffer_sink, &raw);
        if (doc) document->emit(doc, document->object);
        bool good = doc && doc_finish(doc) == 0;
        snprintf(name, sizeof name, "doc-%s", document->name);
        if (!good) buffer_free(&raw);
        if (!good || !parts_add(&packing->parts, name, &raw)) return false;
    }
    return true;
}

static bool pack_sums(struct packing *packing)
{
    const struct cg_trace *trace = packing->run->trace;
    struct tree tree;
    bool good = costs_pack(trace, &packing->slices, &packing->names, &packing->parts, &packing->head.costs) &&
                feeds_pack(trace, &packing->names, &packing->parts, &packing->head.feeds);
    if (!good) return false;
    good = tree_make(trace, &packing->slices, &packing->logical, &tree) &&
           tree_pack(&tree, &packing->names, &packing->parts);
    packing->head.merged_paths = tree.merged;
    tree_free(&tree);
    if (!good) return false;
    good = stack_tree_make(trace, &packing->logical, &tree) && stack_tree_pack(trace, &tree, &packing->parts);
    tree_free(&tree);
    return good;
}

/* Everything but the timeline. */
static bool pack_rest(struct packing *packing, size_t blocks)
{
    packing->head.blocks =
        (struct shown){packing->logical.lifetime_count < blocks ? packing->logical.lifetime_count : blocks,
                       packing->logical.lifetime_count};
    return pack_documents(packing) && pack_sums(packing) &&
           memory_pack(packing->run->trace, &packing->logical, &packing->physical, blocks, &packing->names,
                       &packing->parts);
}

static bool pack_head(struct packing *packing)
{
    struct buffer raw = {0};
    struct json_doc *doc = part_document(&raw);
    if (doc)
        head_emit(doc, &packing->head, packing->run, &packing->slices, &packing->levels, &packing->names);
    bool good = doc && doc_finish(doc) == 0 && names_pack(&packing->names, &packing->parts);
    if (good) return parts_add(&packing->parts, "head", &raw);
    buffer_free(&raw);
    return false;
}

/* The timeline as fine as fits into `room` bytes. False when memory is short; *fits tells. */
static bool pack_timeline(struct packing *packing, uint64_t room, bool *fits)
{
    size_t kept = packing->parts.count, names = packing->names.count;
    uint64_t most = room / ENTRY_BYTES + 1, used;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        parts_cut(&packing->parts, kept);
        names_cut(&packing->names, names);
        levels_choose(&packing->slices, most, &packing->levels);
        if (!levels_pack(packing->run->trace, &packing->slices, &packing->levels, &packing->names,
                         &packing->parts) ||
            !pack_head(packing))
            return false;
        used = 0;
        for (size_t i = kept; i < packing->parts.count; i++)
            used += part_size(&packing->parts.list[i]);
        *fits = used <= room;
        if (*fits) return true;
        /* In proportion, and a bit less; at least a quarter is given up, so that the end comes soon. */
        uint64_t entries = packing->levels.list[0].entries;
        most = (uint64_t)((double)entries * (double)room / (double)used * 0.95);
        if (most > entries - entries / 4) most = entries - entries / 4;
    }
    return true;
}

/* The run that this one is compared with: what tables need, its parts' names with a prefix. */
static bool pack_other(struct packing *other, struct parts *parts)
{
    bool good = pack_documents(other) && pack_sums(other) && pack_head(other);
    for (size_t i = 0; i < other->parts.count && good; i++) {
        struct part *part = &other->parts.list[i];
        char name[sizeof part->name];
        memcpy(name, part->name, sizeof name);
        snprintf(part->name, sizeof part->name, "b-%.36s", name);
    }
    *parts = other->parts;
    other->parts = (struct parts){0};
    return good;
}

static int write_page(struct packing *packing, const struct parts *other, json_sink *sink, void *context,
                      struct cg_error *error)
{
    struct parts all = {0};
    int failure = ENOMEM;
    all.list = reallocarray(NULL, packing->parts.count + other->count + 1, sizeof *all.list);
    if (all.list) {
        /* The head comes first: it is what the page begins with. */
        for (size_t i = packing->parts.count; i-- > 0;)
            all.list[all.count++] = packing->parts.list[i];
        for (size_t i = 0; i < other->count; i++)
            all.list[all.count++] = other->list[i];
        failure = page_write(&all, sink, context);
    }
    free(all.list);
    return failure ? cg_fail(error, CG_EXIT_IO, "cannot make the page: %s", strerror(failure)) : 0;
}

static int pack_and_write(struct packing *packing, const struct parts *other, uint64_t max_size,
                          json_sink *sink, void *context, struct cg_error *error)
{
    bool fits = false;
    uint64_t fixed = 0;
    packing->head.compared = other->count > 0;
    for (size_t blocks = BLOCKS_MAX; !fits; blocks /= 8) {
        parts_cut(&packing->parts, 0);
        names_cut(&packing->names, 0);
        if (!pack_rest(packing, blocks)) return cg_out_of_memory(error);
        fixed = page_size() + parts_size(&packing->parts) + parts_size(other);
        uint64_t room = cg_sat_sub(max_size, fixed);
        if (!pack_timeline(packing, room, &fits)) return cg_out_of_memory(error);
        if (blocks == 0) break;
    }
    if (!fits)
        return cg_fail(error, CG_EXIT_USAGE,
                       "--max-size %" PRIu64 ": the page cannot be made so small: %" PRIu64
                       " bytes are its code, names and tables",
                       max_size, fixed);
    return write_page(packing, other, sink, context, error);
}

int viewer_write(const struct viewer_run *run, const struct viewer_run *against, uint64_t max_size,
                 json_sink *sink, void *context, struct cg_error *error)
{
    struct packing packing, second;
    struct parts other = {0};
    bool good = true;
    if (against) {
        good = packing_start(&second, against) && pack_other(&second, &other);
        packing_free(&second);
    }
    int status = good && packing_start(&packing, run)
                     ? pack_and_write(&packing, &other, max_size, sink, context, error)
                     : cg_out_of_memory(error);
    if (good) packing_free(&packing);
    parts_free(&other);
    return status;
}
