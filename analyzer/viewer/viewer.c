#include "analyzer/viewer/viewer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
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

/* ---- documents: made beside everything else, by a thread of their own ---- */

struct documents {
    const struct viewer_run *run;
    struct parts parts;
    bool good, threaded;
    pthread_t thread;
};

static bool pack_document(const struct viewer_document *document, struct parts *parts)
{
    char name[40];
    struct buffer raw = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, buffer_sink, &raw);
    if (doc) document->emit(doc, document->object);
    bool good = doc && doc_finish(doc) == 0;
    snprintf(name, sizeof name, "doc-%s", document->name);
    if (good) return parts_add(parts, name, &raw);
    buffer_free(&raw);
    return false;
}

static void *pack_documents(void *context)
{
    struct documents *documents = context;
    documents->good = true;
    for (size_t i = 0; i < documents->run->document_count && documents->good; i++)
        documents->good = pack_document(&documents->run->documents[i], &documents->parts);
    return NULL;
}

static void documents_start(struct documents *documents, const struct viewer_run *run)
{
    *documents = (struct documents){.run = run};
    documents->threaded =
        run->document_count > 0 && pthread_create(&documents->thread, NULL, pack_documents, documents) == 0;
    if (!documents->threaded) pack_documents(documents);
}

static bool documents_end(struct documents *documents)
{
    if (documents->threaded) pthread_join(documents->thread, NULL);
    documents->threaded = false;
    return documents->good;
}

/* A document that alone would take much of the page is left out; the page names the command that has it. */
static void leave_out_large(struct parts *parts, uint64_t max_size)
{
    enum { SHARE = 6 };
    size_t kept = 0;
    for (size_t i = 0; i < parts->count; i++) {
        if (part_size(&parts->list[i]) > max_size / SHARE)
            buffer_free(&parts->list[i].packed);
        else
            parts->list[kept++] = parts->list[i];
    }
    parts->count = kept;
}

/* ---- the rest ---- */

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

/* Everything but documents and the timeline. */
static bool pack_rest(struct packing *packing, size_t blocks)
{
    packing->head.blocks =
        (struct shown){packing->logical.lifetime_count < blocks ? packing->logical.lifetime_count : blocks,
                       packing->logical.lifetime_count};
    return pack_sums(packing) && memory_pack(packing->run->trace, &packing->logical, &packing->physical,
                                             blocks, &packing->names, &packing->parts);
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
static bool pack_other(const struct viewer_run *run, uint64_t max_size, struct parts *parts)
{
    struct documents documents;
    struct packing packing;
    documents_start(&documents, run);
    bool good = packing_start(&packing, run) && pack_sums(&packing) && pack_head(&packing);
    good = documents_end(&documents) && good;
    leave_out_large(&documents.parts, max_size);
    good = parts_move(parts, &packing.parts) && parts_move(parts, &documents.parts) && good;
    for (size_t i = 0; i < parts->count && good; i++) {
        struct part *part = &parts->list[i];
        char name[sizeof part->name];
        memcpy(name, part->name, sizeof name);
        snprintf(part->name, sizeof part->name, "b-%.36s", name);
    }
    parts_free(&documents.parts);
    packing_free(&packing);
    return good;
}

/* The blocks and the timeline as fine as max_size lets them be. */
static int pack_run(struct packing *packing, struct documents *documents, const struct parts *other,
                    uint64_t max_size, struct cg_error *error)
{
    enum { FEWER = 16 };
    bool fits = false;
    uint64_t fixed = 0;
    packing->head.compared = other->count > 0;
    for (size_t blocks = BLOCKS_MAX; !fits; blocks /= FEWER) {
        parts_cut(&packing->parts, 0);
        names_cut(&packing->names, 0);
        bool good = pack_rest(packing, blocks);
        if (!documents_end(documents) || !good) return cg_out_of_memory(error);
        leave_out_large(&documents->parts, max_size);
        fixed = page_size() + parts_size(&packing->parts) + parts_size(&documents->parts) + parts_size(other);
        if (!pack_timeline(packing, cg_sat_sub(max_size, fixed), &fits)) return cg_out_of_memory(error);
        if (blocks == 0) break;
    }
    if (fits) return 0;
    return cg_fail(error, CG_EXIT_USAGE,
                   "--max-size %" PRIu64 ": the page cannot be made so small: %" PRIu64
                   " bytes are its code, names and tables",
                   max_size, fixed);
}

/* The head comes first: it is what the page begins with. */
static void turn_round(struct parts *parts)
{
    for (size_t i = 0, k = parts->count; i + 1 < k; i++) {
        struct part part = parts->list[i];
        parts->list[i] = parts->list[--k];
        parts->list[k] = part;
    }
}

int viewer_write(const struct viewer_run *run, const struct viewer_run *against, uint64_t max_size,
                 json_sink *sink, void *context, struct cg_error *error)
{
    struct packing packing;
    struct documents documents;
    struct parts other = {0};
    if (against && !pack_other(against, max_size, &other)) {
        parts_free(&other);
        return cg_out_of_memory(error);
    }
    documents_start(&documents, run);
    int status = packing_start(&packing, run) ? pack_run(&packing, &documents, &other, max_size, error)
                                              : cg_out_of_memory(error);
    documents_end(&documents);
    turn_round(&packing.parts);
    if (status == 0 && (!parts_move(&packing.parts, &documents.parts) || !parts_move(&packing.parts, &other)))
        status = cg_out_of_memory(error);
    if (status == 0) {
        int failure = page_write(&packing.parts, sink, context);
        if (failure) status = cg_fail(error, CG_EXIT_IO, "cannot make the page: %s", strerror(failure));
    }
    packing_free(&packing);
    parts_free(&documents.parts);
    parts_free(&other);
    return status;
}
