#include "analyzer/convert/nest.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"

enum { ROUNDING_NS = 1000 };

enum item_type { ITEM_SPAN, ITEM_CALL, ITEM_STORAGE };
struct item {
    int64_t start, end;
    uint32_t thread, row;
    uint8_t type; /* enum item_type */
};

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Everything that belongs to a span, in the order in which a thread did it. */
static struct item *list_items(const struct model *model, size_t *count)
{
    size_t all = model->span_count + model->call_count + model->storage_count, next = 0;
    struct item *items = array_raw(all, sizeof *items);
    if (!items) return NULL;
    for (size_t i = 0; i < model->span_count; i++) {
        const struct model_span *span = &model->spans[i];
        items[next++] = (struct item){span->start, span->end, span->thread, (uint32_t)i, ITEM_SPAN};
    }
    for (size_t i = 0; i < model->call_count; i++) {
        const struct model_call *call = &model->calls[i];
        items[next++] = (struct item){call->start, call->end, call->thread, (uint32_t)i, ITEM_CALL};
    }
    for (size_t i = 0; i < model->storage_count; i++) {
        const struct model_storage *storage = &model->storages[i];
        items[next++] =
            (struct item){storage->time, storage->time, storage->thread, (uint32_t)i, ITEM_STORAGE};
    }
    qsort(items, next, sizeof *items, compare_items);
    *count = next;
    return items;
}

/* The spans of a thread that are open where the walk is, outermost first: each holds the next. */
struct walk {
    struct model *model;
    struct nesting *nesting;
    uint32_t *open; /* rows */
    size_t depth;
    uint32_t thread;
    uint32_t next_number;
};

static const struct model_span *open_span(const struct walk *walk, size_t depth)
{
    return &walk->model->spans[walk->open[depth]];
}

/* Closes what has ended. A moment at the end of a span is in it, as the format has it, but a span that begins
 * there follows it. */
static void move_to(struct walk *walk, const struct item *item)
{
    if (walk->depth > 0 && item->thread != walk->thread) walk->depth = 0;
    walk->thread = item->thread;
    while (walk->depth > 0) {
        int64_t end = open_span(walk, walk->depth - 1)->end;
        if (end > item->start || (end == item->start && end == item->end)) break;
        walk->depth--;
    }
}

/* Each open span ends no later than the one around it: halved until the innermost is found that ends no
 * earlier than the item. */
static uint32_t innermost(const struct walk *walk, const struct item *item)
{
    size_t low = 0, high = walk->depth; /* those before low hold it, those from high on do not */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (open_span(walk, middle)->end >= item->end)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? walk->nesting->number[walk->open[low - 1]] : CG_NONE;
}

static void take_span(struct walk *walk, const struct item *item)
{
    struct nesting *nesting = walk->nesting;
    struct model_span *span = &walk->model->spans[item->row];
    nesting->number[item->row] = walk->next_number;
    nesting->order[walk->next_number++] = item->row;
    nesting->parent[item->row] = CG_NONE;
    if (walk->depth > 0) {
        uint32_t around = walk->open[walk->depth - 1];
        int64_t end = walk->model->spans[around].end;
        if (span->end > end && span->end - end <= ROUNDING_NS) {
            span->end = end;
            walk->model->report->losses.clipped++;
        }
        if (span->end > end) {
            walk->model->report->losses.not_nested++;
            return;
        }
        nesting->parent[item->row] = nesting->number[around];
    }
    walk->open[walk->depth++] = item->row;
}

bool nesting_make(struct model *model, struct nesting *nesting)
{
    size_t count = 0;
    struct walk walk = {
        .model = model, .nesting = nesting, .open = array_raw(model->span_count, sizeof *walk.open)};
    struct item *items = list_items(model, &count);
    *nesting = (struct nesting){.order = array_raw(model->span_count, sizeof *nesting->order),
                                .number = array_raw(model->span_count, sizeof *nesting->number),
                                .parent = array_raw(model->span_count, sizeof *nesting->parent),
                                .of_call = array_raw(model->call_count, sizeof *nesting->of_call),
                                .of_storage = array_raw(model->storage_count, sizeof *nesting->of_storage)};
    bool ok = walk.open && items && nesting->order && nesting->number && nesting->parent &&
              nesting->of_call && nesting->of_storage;
    for (size_t i = 0; ok && i < count; i++) {
        move_to(&walk, &items[i]);
        if (items[i].type == ITEM_SPAN)
            take_span(&walk, &items[i]);
        else if (items[i].type == ITEM_CALL)
            nesting->of_call[items[i].row] = innermost(&walk, &items[i]);
        else
            nesting->of_storage[items[i].row] = innermost(&walk, &items[i]);
    }
    free(items);
    free(walk.open);
    if (!ok) nesting_free(nesting);
    return ok;
}

void nesting_free(struct nesting *nesting)
{
    free(nesting->order);
    free(nesting->number);
    free(nesting->parent);
    free(nesting->of_call);
    free(nesting->of_storage);
    *nesting = (struct nesting){0};
}
