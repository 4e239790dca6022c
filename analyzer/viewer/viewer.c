#include "analyzer/viewer/viewer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/trace/jobs.h"
#include "analyzer/viewer/costs.h"
#include "analyzer/viewer/head.h"
#include "analyzer/viewer/levels.h"
#include "analyzer/viewer/memory.h"
#include "analyzer/viewer/page.h"
#include "analyzer/viewer/tree.h"

enum {
    ENTRY_BYTES = 11, /* of the page for one slice of the finest level, with its share of the coarser ones */
    TRIES = 8
};

struct viewer_draft {
    struct slices slices;
    struct costs costs, feeds;
    struct level_base base;
    uint64_t entries; /* that the finest level may have, for which the base was made */
};

/* Of the page about a sixteenth is other things than the timeline. */
struct viewer_draft *viewer_draft_make(const struct cg_trace *trace, uint64_t max_size)
{
    struct viewer_draft *draft = array_zeroed(1, sizeof *draft);
    uint64_t room = cg_sat_sub(max_size - max_size / 16, page_size());
    if (draft) draft->entries = room / ENTRY_BYTES + 1;
    if (draft && slices_make(trace, &draft->slices) && costs_make(trace, &draft->slices, &draft->costs) &&
        feeds_make(trace, &draft->feeds) &&
        level_base_make(trace, &draft->slices, draft->entries, &draft->base))
        return draft;
    viewer_draft_free(draft);
    return NULL;
}

void viewer_draft_free(struct viewer_draft *draft)
{
    if (!draft) return;
    slices_free(&draft->slices);
    costs_free(&draft->costs);
    costs_free(&draft->feeds);
    level_base_free(&draft->base);
    free(draft);
}

/* A run being packed. */
struct packing {
    const struct viewer_run *run;
    unsigned threads;
    uint64_t max_size;
    bool summed; /* only what tables need */
    struct viewer_draft *draft;
    struct logical_memory logical;
    struct physical_memory physical;
    struct memory_curve *curve;
    struct tree tree, stacks;
    struct names names;
    struct levels levels;
    struct parts parts, documents;
    size_t names_before; /* in use before those of the timeline */
    bool early;          /* parts hold all but documents and the timeline already */
    struct parts early_levels;
    struct level early_finest;
    struct head head;
};

/* ---- what is made of the logical memory and the trace before anything is packed ---- */

static bool make_draft(void *context)
{
    struct packing *packing = context;
    const struct viewer_run *run = packing->run;
    packing->draft = run->draft ? run->draft : viewer_draft_make(run->trace, packing->max_size);
    return packing->draft &&
           tree_make(run->trace, &packing->draft->slices, &packing->logical, &packing->tree);
}

static bool make_storages(void *context)
{
    struct packing *packing = context;
    const struct viewer_run *run = packing->run;
    if (!stack_tree_make(run->trace, &packing->logical, &packing->stacks)) return false;
    if (packing->summed) return true;
    packing->curve = memory_curve_make(run->trace, &packing->logical);
    return packing->curve && physical_memory_make(run->trace, &packing->physical);
}

struct document_job {
    const struct viewer_document *document;
    struct part *part;
};

static bool make_document(void *context)
{
    const struct document_job *job = context;
    struct part *part = job->part;
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, buffer_sink, &part->raw);
    snprintf(part->name, sizeof part->name, "doc-%s", job->document->name);
    if (doc) job->document->emit(doc, job->document->object);
    return doc && doc_finish(doc) == 0 && part_pack(part);
}

static bool pack_early(void *context);

/* The last documents come first: they are those of all records and take longest, and what is short fills the
 * end on all threads. A stored packet has one reader, so that its documents come one after the other. */
static bool make_all(struct packing *packing)
{
    enum { OTHERS = 3 };
    const struct viewer_run *run = packing->run;
    size_t count = run->document_count;
    struct job *jobs = array_raw(count + OTHERS, sizeof *jobs);
    struct document_job *documents = array_raw(count, sizeof *documents);
    packing->documents.list = array_zeroed(count, sizeof *packing->documents.list);
    bool good = jobs && documents && packing->documents.list;
    if (good) {
        packing->documents.count = packing->documents.capacity = count;
        jobs[0] = (struct job){.run = make_draft, .context = packing};
        jobs[1] = (struct job){.run = make_storages, .context = packing};
        jobs[2] = (struct job){.run = pack_early, .context = packing, .after = {&jobs[0], &jobs[1]}};
        for (size_t i = 0; i < count; i++) {
            size_t number = count - 1 - i;
            documents[i] = (struct document_job){&run->documents[number], &packing->documents.list[number]};
            jobs[OTHERS + i] = (struct job){.run = make_document, .context = &documents[i]};
            if (run->evidence->stored && i > 0) jobs[OTHERS + i].after[0] = &jobs[OTHERS + i - 1];
        }
        good = jobs_run(jobs, count + OTHERS, packing->threads);
    }
    free(jobs);
    free(documents);
    return good;
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

static bool packing_start(struct packing *packing, const struct viewer_run *run, bool summed,
                          uint64_t max_size)
{
    *packing = (struct packing){.run = run,
                                .summed = summed,
                                .max_size = max_size,
                                .threads = jobs_threads(run->trace->file_bytes, run->trace->threads)};
    if (!names_start(&packing->names, run->trace) ||
        !evidence_logical(run->evidence, run->trace, &packing->logical) || !make_all(packing))
        return false;
    packing->head.merged_paths = packing->tree.merged;
    leave_out_large(&packing->documents, max_size);
    return true;
}

static void packing_free(struct packing *packing)
{
    if (packing->draft != packing->run->draft) viewer_draft_free(packing->draft);
    evidence_logical_free(packing->run->evidence, &packing->logical);
    physical_memory_free(&packing->physical);
    memory_curve_free(packing->curve);
    tree_free(&packing->tree);
    tree_free(&packing->stacks);
    names_free(&packing->names);
    parts_free(&packing->parts);
    parts_free(&packing->documents);
    parts_free(&packing->early_levels);
}

/* ---- packing: names get their numbers in the order of their use ---- */

static bool pack_sums(struct packing *packing)
{
    const struct cg_trace *trace = packing->run->trace;
    struct head *head = &packing->head;
    return costs_pack(&packing->draft->costs, &packing->names, &packing->parts, &head->costs) &&
           feeds_pack(&packing->draft->feeds, &packing->names, &packing->parts, &head->feeds) &&
           tree_pack(&packing->tree, &packing->names, &packing->parts) &&
           stack_tree_pack(trace, &packing->stacks, &packing->parts);
}

/* Everything but documents and the timeline. */
static bool pack_rest(struct packing *packing, size_t blocks, unsigned threads)
{
    packing->head.blocks =
        (struct shown){packing->logical.lifetime_count < blocks ? packing->logical.lifetime_count : blocks,
                       packing->logical.lifetime_count};
    bool good = pack_sums(packing) &&
                memory_pack(packing->run->trace, &packing->logical, &packing->physical, packing->curve,
                            blocks, &packing->names, &packing->parts) &&
                parts_pack(&packing->parts, threads);
    packing->names_before = packing->names.count;
    return good;
}

/* All this, and the levels that the draft has, while documents are still being made: mostly there will be
 * room for just those levels. Deflating the finest takes a tenth of the time of making the page. */
static bool pack_early(void *context)
{
    struct packing *packing = context;
    struct viewer_draft *draft = packing->draft;
    struct levels levels;
    if (packing->summed) return true;
    levels_choose(&draft->slices, &draft->base, draft->entries, &levels);
    packing->early_finest = levels.list[0];
    packing->early = pack_rest(packing, MEMORY_BLOCKS_MAX, 1) &&
                     levels_pack(packing->run->trace, &draft->slices, &levels, &draft->base, &packing->names,
                                 &packing->early_levels, 1);
    return packing->early;
}

/* The levels, which are made already where they are those of the draft. */
static bool pack_levels(struct packing *packing)
{
    struct viewer_draft *draft = packing->draft;
    if (packing->early_levels.count > 0 && level_same(&packing->levels.list[0], &packing->early_finest))
        return parts_move(&packing->parts, &packing->early_levels);
    parts_cut(&packing->early_levels, 0);
    names_cut(&packing->names, packing->names_before);
    return levels_pack(packing->run->trace, &draft->slices, &packing->levels, &draft->base, &packing->names,
                       &packing->parts, packing->threads);
}

static bool pack_head(struct packing *packing)
{
    struct buffer raw = {0};
    struct json_doc *doc = part_document(&raw);
    if (doc)
        head_emit(doc, &packing->head, packing->run, &packing->draft->slices, &packing->levels,
                  &packing->names);
    bool good = doc && doc_finish(doc) == 0 && names_pack(&packing->names, &packing->parts);
    if (good) return parts_add(&packing->parts, "head", &raw);
    buffer_free(&raw);
    return false;
}

/* The timeline as fine as fits into `room` bytes. False when memory is short; *fits tells. */
static bool pack_timeline(struct packing *packing, uint64_t room, bool *fits)
{
    struct viewer_draft *draft = packing->draft;
    size_t kept = packing->parts.count;
    uint64_t most = room / ENTRY_BYTES + 1, used;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        parts_cut(&packing->parts, kept);
        levels_choose(&draft->slices, &draft->base, most, &packing->levels);
        if (!pack_levels(packing) || !pack_head(packing) || !parts_pack(&packing->parts, packing->threads))
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
    struct packing packing;
    bool good = packing_start(&packing, run, true, max_size) && pack_sums(&packing) && pack_head(&packing) &&
                parts_pack(&packing.parts, packing.threads) && parts_move(parts, &packing.parts) &&
                parts_move(parts, &packing.documents);
    for (size_t i = 0; i < parts->count && good; i++) {
        struct part *part = &parts->list[i];
        char name[sizeof part->name];
        memcpy(name, part->name, sizeof name);
        snprintf(part->name, sizeof part->name, "b-%.36s", name);
    }
    packing_free(&packing);
    return good;
}

/* The blocks and the timeline as fine as max_size lets them be. */
static int pack_run(struct packing *packing, const struct parts *other, uint64_t max_size,
                    struct cg_error *error)
{
    enum { FEWER = 16 };
    bool fits = false;
    uint64_t fixed = 0;
    packing->head.compared = other->count > 0;
    for (size_t blocks = MEMORY_BLOCKS_MAX; !fits; blocks /= FEWER) {
        if (!packing->early) {
            parts_cut(&packing->parts, 0);
            parts_cut(&packing->early_levels, 0);
            names_cut(&packing->names, 0);
            if (!pack_rest(packing, blocks, packing->threads)) return cg_out_of_memory(error);
        }
        packing->early = false;
        fixed =
            page_size() + parts_size(&packing->parts) + parts_size(&packing->documents) + parts_size(other);
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
    struct parts other = {0};
    if (against && !pack_other(against, max_size, &other)) {
        parts_free(&other);
        return cg_out_of_memory(error);
    }
    int status = packing_start(&packing, run, false, max_size) ? pack_run(&packing, &other, max_size, error)
                                                               : cg_out_of_memory(error);
    turn_round(&packing.parts);
    if (status == 0 &&
        (!parts_move(&packing.parts, &packing.documents) || !parts_move(&packing.parts, &other)))
        status = cg_out_of_memory(error);
    if (status == 0) {
        int failure = page_write(&packing.parts, sink, context);
        if (failure) status = cg_fail(error, CG_EXIT_IO, "cannot make the page: %s", strerror(failure));
    }
    packing_free(&packing);
    parts_free(&other);
    return status;
}
