/* From all rows to those that the evidence keeps: merged, sorted, cut (doc/spec/nsight.md 6, 7 and 16). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/nsight_private.h"

/* ---- merging kernels of one name ---- */

static int compare_kernels(const void *a, const void *b)
{
    const struct nsight_total *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->category != y->category) return x->category < y->category ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_orders(const void *a, const void *b)
{
    const struct nsight_total *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct gpu_u64 least(struct gpu_u64 a, struct gpu_u64 b)
{
    return (struct gpu_u64){a.known && b.known, a.value < b.value ? a.value : b.value};
}

static struct gpu_u64 greatest(struct gpu_u64 a, struct gpu_u64 b)
{
    return (struct gpu_u64){a.known && b.known, a.value > b.value ? a.value : b.value};
}

/* Adds row to into; false, and nothing is changed, when a sum does not fit. */
static bool add_total(struct nsight_total *into, const struct nsight_total *row)
{
    uint64_t total, count = 0;
    bool known = into->count.known && row->count.known;
    if (__builtin_add_overflow(into->total, row->total, &total) ||
        (known && __builtin_add_overflow(into->count.value, row->count.value, &count)))
        return false;
    into->total = total;
    into->count = (struct gpu_u64){known, count};
    into->minimum = least(into->minimum, row->minimum);
    into->maximum = greatest(into->maximum, row->maximum);
    into->average = (struct gpu_u64){count > 0, count > 0 ? total / count : 0};
    return true;
}

bool nsight_merge(struct nsight_totals *totals, size_t first, bool across_parts)
{
    size_t count = totals->count - first, kept = 0;

    if (count == 0) return true;
    struct nsight_total *rows = totals->at + first;
    qsort(rows, count, sizeof *rows, compare_kernels);
    for (size_t i = 0; i < count; i++) {
        bool same =
            kept > 0 && rows[kept - 1].name == rows[i].name && rows[kept - 1].category == rows[i].category;
        if (same && add_total(&rows[kept - 1], &rows[i])) continue;
        if (same && !across_parts) return false;
        rows[kept++] = rows[i];
    }
    qsort(rows, kept, sizeof *rows, compare_orders);
    totals->count = first + kept;
    return true;
}

/* ---- summaries ---- */

static int compare_totals(const void *a, const void *b)
{
    const struct nsight_total *x = a, *y = b;
    if (x->total != y->total) return x->total > y->total ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_parts(const void *a, const void *b)
{
    const struct nsight_total *x = a, *y = b;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    return compare_totals(a, b);
}

/* Runtime calls and memory operations: each file sorted and cut by itself, one after the other. */
static void cut_by_part(struct nsight_totals *totals)
{
    size_t kept = 0, of_part = 0;
    if (totals->count) qsort(totals->at, totals->count, sizeof *totals->at, compare_parts);
    for (size_t i = 0; i < totals->count; i++) {
        of_part = i > 0 && totals->at[i].part == totals->at[i - 1].part ? of_part + 1 : 0;
        if (of_part < NSIGHT_SUMMARY_LIMIT) totals->at[kept++] = totals->at[i];
    }
    totals->count = kept;
}

/* Kernels: one ranking over all files. */
static void cut_kernels(struct nsight_totals *totals)
{
    nsight_merge(totals, 0, true);
    if (totals->count) qsort(totals->at, totals->count, sizeof *totals->at, compare_totals);
    if (totals->count > NSIGHT_SUMMARY_LIMIT) totals->count = NSIGHT_SUMMARY_LIMIT;
}

static void write_totals(struct nsight *nsight, const struct nsight_totals *totals,
                         struct gpu_summary_rows *rows)
{
    rows->at = calloc(totals->count + 1, sizeof *rows->at);
    if (!rows->at) {
        nsight->no_memory = true;
        return;
    }
    for (size_t i = 0; i < totals->count; i++) {
        const struct nsight_total *row = &totals->at[i];
        rows->at[i] = (struct gpu_summary_row){.name = nsight_text(nsight, row->name),
                                               .total_ns = row->total,
                                               .count = row->count,
                                               .average_ns = row->average,
                                               .minimum_ns = row->minimum,
                                               .maximum_ns = row->maximum,
                                               .category = nsight_text(nsight, row->category)};
    }
    rows->count = totals->count;
}

/* ---- timelines ---- */

struct timeline_order {
    const struct nsight_interval *rows;
    const struct cg_strings *strings;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct timeline_order *order = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct nsight_interval *left = &order->rows[x], *right = &order->rows[y];
    if (left->start != right->start) return left->start < right->start ? -1 : 1;
    if (left->name != right->name)
        return text_compare(strings_text(order->strings, left->name),
                            strings_text(order->strings, right->name));
    return x < y ? -1 : x > y;
}

static void write_intervals(struct nsight *nsight, const struct nsight_intervals *from, const char *kind,
                            struct gpu_timeline_rows *rows)
{
    struct timeline_order context = {from->at, nsight->strings};
    uint32_t *order = malloc((from->count + 1) * sizeof *order);
    rows->count = from->count < NSIGHT_TIMELINE_LIMIT ? from->count : NSIGHT_TIMELINE_LIMIT;
    rows->at = calloc(rows->count + 1, sizeof *rows->at);
    if (!order || !rows->at) {
        rows->count = 0;
        nsight->no_memory = true;
        free(order);
        return;
    }
    for (size_t i = 0; i < from->count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, from->count, sizeof *order, compare_rows, &context);
    for (size_t i = 0; i < rows->count; i++) {
        const struct nsight_interval *row = &from->at[order[i]];
        rows->at[i] = (struct gpu_timeline_row){.name = nsight_text(nsight, row->name),
                                                .kind = arena_string(&nsight->gpu->arena, kind),
                                                .correlation_id = nsight_text(nsight, row->key[0]),
                                                .device = nsight_text(nsight, row->key[1]),
                                                .context = nsight_text(nsight, row->key[2]),
                                                .stream = nsight_text(nsight, row->key[3]),
                                                .semantic_key = nsight_text(nsight, row->label),
                                                .start_ns = row->start,
                                                .duration_ns = row->duration,
                                                .projected_start_ns = row->projected_start,
                                                .projected_duration_ns = row->projected_duration,
                                                .gpu_operations = row->operations};
    }
    free(order);
}

static int compare_limits(const void *a, const void *b)
{
    return text_compare(((const struct gpu_limit *)a)->file, ((const struct gpu_limit *)b)->file);
}

static void write_limits(struct nsight *nsight)
{
    struct gpu_evidence *gpu = nsight->gpu;
    gpu->limits = calloc(nsight->limit_count + 1, sizeof *gpu->limits);
    if (!gpu->limits) {
        nsight->no_memory = true;
        return;
    }
    for (size_t i = 0; i < nsight->limit_count; i++) {
        const struct nsight_limit *limit = &nsight->limits[i];
        bool truncated = limit->rows > limit->limit;
        gpu->limits[i] =
            (struct gpu_limit){limit->key, limit->rows, truncated ? limit->limit : limit->rows, truncated};
    }
    gpu->limit_count = nsight->limit_count;
    if (gpu->limit_count) qsort(gpu->limits, gpu->limit_count, sizeof *gpu->limits, compare_limits);
}

void nsight_finish_rows(struct nsight *nsight)
{
    struct gpu_evidence *gpu = nsight->gpu;
    cut_kernels(&nsight->totals[GPU_REPORT_KERNELS]);
    cut_by_part(&nsight->totals[GPU_REPORT_RUNTIME_CALLS]);
    cut_by_part(&nsight->totals[GPU_REPORT_MEMORY_OPERATIONS]);
    write_totals(nsight, &nsight->totals[GPU_REPORT_KERNELS], &gpu->kernels);
    write_totals(nsight, &nsight->totals[GPU_REPORT_RUNTIME_CALLS], &gpu->runtime_calls);
    write_totals(nsight, &nsight->totals[GPU_REPORT_MEMORY_OPERATIONS], &gpu->memory_operations);
    write_intervals(nsight, &nsight->ranges, "nvtx_range", &gpu->nvtx_ranges);
    write_intervals(nsight, &nsight->timeline, "gpu_operation", &gpu->gpu_timeline);
    write_limits(nsight);
}
