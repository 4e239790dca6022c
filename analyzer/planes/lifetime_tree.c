#include "analyzer/planes/lifetime_tree.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"

typedef __int128 i128;
typedef unsigned __int128 u128;

/* So many leaves are one node at the bottom of the tree and are walked over one by one: nodes are large,
 * leaves many, and a walk over neighbours is quicker than the levels it saves. */
#define BLOCK 32

/* Below every sum of bytes (at most 2^32 lifetimes of less than 2^64), and far enough from the limit that
 * adding such sums stays below. */
#define NONE (-((i128)1 << 120))

/* What passing over some leaves does to the live value x: it becomes max(x + sum, floor), and the greatest
 * value on the way is max(x + peak, floor_peak). */
struct lifetime_node {
    i128 sum, floor, peak, floor_peak;
};

static const struct lifetime_node nothing = {0, NONE, NONE, NONE};

static i128 greater(i128 a, i128 b)
{
    return a > b ? a : b;
}

/* First left, then right. */
static struct lifetime_node combine(const struct lifetime_node *left, const struct lifetime_node *right)
{
    return (struct lifetime_node){
        .sum = left->sum + right->sum,
        .floor = greater(left->floor + right->sum, right->floor),
        .peak = greater(left->peak, left->sum + right->peak),
        .floor_peak = greater(left->floor_peak, greater(left->floor + right->peak, right->floor_peak)),
    };
}

/* ---- leaves ---- */

static u128 leaf_sum(const struct leaf_sums *sums, size_t leaf)
{
    return (sums->high ? (u128)sums->high[leaf] << 64 : 0) | sums->low[leaf];
}

static void change_leaf(struct leaf_sums *sums, size_t leaf, uint64_t bytes, bool add)
{
    u128 sum = add ? leaf_sum(sums, leaf) + bytes : leaf_sum(sums, leaf) - bytes;
    sums->low[leaf] = (uint64_t)sum;
    if (sums->high) sums->high[leaf] = (uint32_t)(sum >> 64);
}

static bool make_sums(struct leaf_sums *sums, size_t leaves, bool wide)
{
    sums->low = array_zeroed(leaves, sizeof *sums->low);
    if (wide) sums->high = array_zeroed(leaves, sizeof *sums->high);
    return sums->low && (!wide || sums->high);
}

static uint64_t time_at(const struct lifetime_tree *tree, size_t leaf)
{
    size_t place = tree->place ? tree->place[leaf] : leaf;
    return tree->trace->memory.timestamp_ns[ordered_row(tree->memory->order, place)];
}

/* The first leaf in [low, high) whose time is not before this one (or, when past, that is after it); high
 * where there is none. */
static size_t find_leaf(const struct lifetime_tree *tree, size_t low, size_t high, uint64_t time, bool past)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t there = time_at(tree, middle);
        if (there < time || (past && there == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The leaf of a time that is likely near low: steps that double, then halves. */
static size_t find_leaf_near(const struct lifetime_tree *tree, size_t low, uint64_t time)
{
    size_t points = tree->memory->point_count, step = 1;
    for (; step < points - low && time_at(tree, low + step) < time; step *= 2)
        low += step;
    return find_leaf(tree, low, step < points - low ? low + step : points, time, false);
}

/* Appends the leaves from first up to, not with, last to what node stands for. At one time all that is freed
 * is subtracted, not below 0, before what is allocated there is added: x becomes max(x - freed, 0) + added.
 */
static void pass_leaves(const struct lifetime_tree *tree, struct lifetime_node *node, size_t first,
                        size_t last)
{
    for (size_t leaf = first; leaf < last; leaf++) {
        i128 added = (i128)leaf_sum(&tree->added, leaf), freed = (i128)leaf_sum(&tree->freed, leaf);
        if (!added && !freed) continue;
        struct lifetime_node step = {added - freed, added, added - freed, added};
        *node = combine(node, &step);
    }
}

/* ---- the tree ---- */

static void refresh_block(struct lifetime_tree *tree, size_t block)
{
    struct lifetime_node *node = &tree->nodes[tree->blocks + block];
    size_t leaves = tree->memory->point_count + 1, first = block * BLOCK;
    size_t last = leaves - first > BLOCK ? first + BLOCK : leaves;
    *node = nothing;
    pass_leaves(tree, node, first, last);
}

static void refresh_above(struct lifetime_tree *tree, size_t block)
{
    for (size_t node = (tree->blocks + block) / 2; node; node /= 2)
        tree->nodes[node] = combine(&tree->nodes[2 * node], &tree->nodes[2 * node + 1]);
}

static void change(struct lifetime_tree *tree, const uint32_t *lifetimes, size_t count, bool add)
{
    size_t used = tree->memory->point_count / BLOCK + 1;
    /* One pass over the whole tree is less work than many ways up. */
    bool rebuild = count > used / 8;
    for (size_t i = 0; i < count; i++) {
        uint32_t start = tree->start_leaf[lifetimes[i]], end = tree->end_leaf[lifetimes[i]];
        uint64_t bytes = tree->trace->memory.bytes[tree->memory->lifetimes[lifetimes[i]].row];
        change_leaf(&tree->added, start, bytes, add);
        change_leaf(&tree->freed, end, bytes, add);
        if (start == end) change_leaf(&tree->instant, start, bytes, add);
        if (rebuild) continue;
        refresh_block(tree, start / BLOCK);
        refresh_above(tree, start / BLOCK);
        if (end / BLOCK == start / BLOCK) continue;
        refresh_block(tree, end / BLOCK);
        refresh_above(tree, end / BLOCK);
    }
    if (!rebuild) return;
    for (size_t block = 0; block < used; block++)
        refresh_block(tree, block);
    for (size_t node = tree->blocks - 1; node; node--)
        tree->nodes[node] = combine(&tree->nodes[2 * node], &tree->nodes[2 * node + 1]);
}

void lifetime_tree_add(struct lifetime_tree *tree, const uint32_t *lifetimes, size_t count)
{
    change(tree, lifetimes, count, true);
}

void lifetime_tree_remove(struct lifetime_tree *tree, const uint32_t *lifetimes, size_t count)
{
    change(tree, lifetimes, count, false);
}

static bool find_places(struct lifetime_tree *tree)
{
    const struct cg_memory *records = &tree->trace->memory;
    size_t points = 0;
    if (tree->memory->point_count == records->rows) return true;
    tree->place = array_raw(tree->memory->point_count, sizeof *tree->place);
    for (size_t i = 0; tree->place && i < records->rows; i++)
        if (i == 0 || records->timestamp_ns[ordered_row(tree->memory->order, i)] !=
                          records->timestamp_ns[ordered_row(tree->memory->order, i - 1)])
            tree->place[points++] = (uint32_t)i;
    return tree->place != NULL;
}

/* Finds the leaves of all lifetimes; returns the sum of their bytes and says whether any ends when it starts.
 */
static u128 find_leaves(struct lifetime_tree *tree, bool *instant)
{
    u128 total = 0;
    size_t start = 0; /* lifetimes stand in the order of their starts */
    size_t end = 0;   /* of the one before: what begins one after the other often ends so */
    for (size_t i = 0; i < tree->memory->lifetime_count; i++) {
        const struct lifetime *lifetime = &tree->memory->lifetimes[i];
        start = find_leaf_near(tree, start, lifetime_start(tree->trace, lifetime));
        tree->start_leaf[i] = (uint32_t)start;
        if (lifetime->end_row == CG_NONE) {
            tree->end_leaf[i] =
                (uint32_t)find_leaf(tree, start, tree->memory->point_count, UINT64_MAX, false);
        } else {
            uint64_t time = lifetime_end(tree->trace, lifetime);
            end = find_leaf_near(tree, end < start || time_at(tree, end) > time ? start : end, time);
            tree->end_leaf[i] = (uint32_t)end;
        }
        *instant = *instant || tree->start_leaf[i] == tree->end_leaf[i];
        total += tree->trace->memory.bytes[lifetime->row];
    }
    return total;
}

bool lifetime_tree_make(struct lifetime_tree *tree, const struct cg_trace *trace,
                        const struct logical_memory *memory)
{
    size_t leaves = memory->point_count + 1;
    *tree = (struct lifetime_tree){.trace = trace, .memory = memory, .blocks = 1};
    while (tree->blocks * BLOCK < leaves)
        tree->blocks *= 2;
    tree->start_leaf = array_raw(memory->lifetime_count, sizeof *tree->start_leaf);
    tree->end_leaf = array_raw(memory->lifetime_count, sizeof *tree->end_leaf);
    tree->nodes = array_raw(tree->blocks * 2, sizeof *tree->nodes);
    bool made = tree->start_leaf && tree->end_leaf && tree->nodes && find_places(tree);
    if (made) {
        for (size_t i = 0; i < tree->blocks * 2; i++)
            tree->nodes[i] = nothing;
        bool instant = false, wide = find_leaves(tree, &instant) > UINT64_MAX;
        made = make_sums(&tree->added, leaves, wide) && make_sums(&tree->freed, leaves, wide) &&
               (!instant || make_sums(&tree->instant, leaves, wide));
    }
    if (!made) lifetime_tree_free(tree);
    return made;
}

void lifetime_tree_free(struct lifetime_tree *tree)
{
    struct leaf_sums *sums[] = {&tree->added, &tree->freed, &tree->instant};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        free(sums[i]->low);
        free(sums[i]->high);
    }
    free(tree->place);
    free(tree->start_leaf);
    free(tree->end_leaf);
    free(tree->nodes);
    *tree = (struct lifetime_tree){0};
}

/* ---- sweeps ---- */

static uint64_t clamp(i128 bytes)
{
    return bytes > (i128)UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* What is live before a leaf: the sum over all earlier ones. */
static i128 live_before(const struct lifetime_tree *tree, size_t leaf)
{
    struct lifetime_node rest = nothing;
    pass_leaves(tree, &rest, leaf / BLOCK * BLOCK, leaf);
    i128 live = rest.sum;
    for (size_t node = tree->blocks + leaf / BLOCK; node > 1; node /= 2)
        if (node & 1) live += tree->nodes[node - 1].sum;
    return live;
}

/* What passing over the leaves from first up to, not with, last does. */
static struct lifetime_node pass_range(const struct lifetime_tree *tree, size_t first, size_t last)
{
    struct lifetime_node left = nothing, right = nothing;
    size_t low = (first + BLOCK - 1) / BLOCK, high = last / BLOCK;
    if (low > high) { /* all within one block */
        pass_leaves(tree, &left, first, last);
        return left;
    }
    pass_leaves(tree, &left, first, low * BLOCK);
    size_t begin = tree->blocks + low, end = tree->blocks + high;
    for (; begin < end; begin /= 2, end /= 2) {
        if (begin & 1) left = combine(&left, &tree->nodes[begin++]);
        if (end & 1) right = combine(&tree->nodes[--end], &right);
    }
    left = combine(&left, &right);
    pass_leaves(tree, &left, high * BLOCK, last);
    return left;
}

struct lifetime_sweep lifetime_tree_sweep(const struct lifetime_tree *tree, uint64_t start, uint64_t end)
{
    size_t points = tree->memory->point_count;
    size_t first = find_leaf(tree, 0, points, start, true);
    size_t last = find_leaf(tree, first, points, end, false);
    i128 live = live_before(tree, first);
    struct lifetime_node node = pass_range(tree, first, last);
    i128 peak = greater(live, greater(live + node.peak, node.floor_peak));
    i128 residual = live + node.sum;
    /* What ends exactly at the end is not residual; what also begins there was never counted. */
    if (last < points ? time_at(tree, last) == end : end == UINT64_MAX) {
        residual -= (i128)leaf_sum(&tree->freed, last);
        if (tree->instant.low) residual += (i128)leaf_sum(&tree->instant, last);
    }
    return (struct lifetime_sweep){clamp(peak), clamp(residual)};
}

struct change {
    uint64_t time, freed, added;
};

/* Inserts a change in the order of times, those of one time as they come: few, and nearly in order. */
static void insert_change(struct change *changes, size_t *count, struct change change)
{
    size_t place = (*count)++;
    for (; place > 0 && changes[place - 1].time > change.time; place--)
        changes[place] = changes[place - 1];
    changes[place] = change;
}

struct lifetime_sweep lifetime_sweep_few(const struct cg_trace *trace, const struct logical_memory *memory,
                                         const uint32_t *lifetimes, size_t count, uint64_t start,
                                         uint64_t end)
{
    struct change changes[LIFETIME_FEW * 2];
    size_t change_count = 0;
    uint64_t live = 0, residual = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lifetime *lifetime = &memory->lifetimes[lifetimes[i]];
        uint64_t from = lifetime_start(trace, lifetime), to = lifetime_end(trace, lifetime);
        uint64_t bytes = trace->memory.bytes[lifetime->row];
        if (from >= end || to <= start) continue;
        if (from <= start)
            live = cg_sat_add(live, bytes);
        else
            insert_change(changes, &change_count, (struct change){from, 0, bytes});
        if (to < end) insert_change(changes, &change_count, (struct change){to, bytes, 0});
        if (to > end) residual = cg_sat_add(residual, bytes);
    }
    uint64_t peak = live;
    for (size_t i = 0, next; i < change_count; i = next) {
        uint64_t freed = 0, added = 0;
        for (next = i; next < change_count && changes[next].time == changes[i].time; next++) {
            freed = cg_sat_add(freed, changes[next].freed);
            added = cg_sat_add(added, changes[next].added);
        }
        live = cg_sat_add(cg_sat_sub(live, freed), added);
        if (live > peak) peak = live;
    }
    return (struct lifetime_sweep){peak, residual};
}
