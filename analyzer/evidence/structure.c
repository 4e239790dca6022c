#include "analyzer/evidence/structure.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/run_facts.h"
#include "analyzer/planes/planes.h"

/* ---- what there is, by string ---- */

struct sum {
    uint64_t count, bytes;
};

struct maker {
    const struct cg_trace *trace;
    struct structure *structure;
    struct logical_memory memory;
    struct sum *sums; /* by string number; 0: no string */
    size_t strings;
};

static void add(struct maker *maker, cg_str name, uint64_t bytes)
{
    struct sum *sum = &maker->sums[name];
    sum->count++;
    sum->bytes = cg_sat_add(sum->bytes, bytes);
}

static int compare_rows(const void *a, const void *b)
{
    return text_compare(((const struct structure_row *)a)->name, ((const struct structure_row *)b)->name);
}

static bool add_row(struct maker *maker, struct structure_rows *rows, struct cg_text name,
                    const struct sum *sum)
{
    name = arena_text(&maker->structure->arena, name.bytes, name.length);
    if (!name.bytes) return false;
    rows->rows[rows->count++] = (struct structure_row){name, sum->count, sum->bytes};
    return true;
}

/* Rows for the sums of strings, which are 0 again then; room for more rows behind them. */
static bool take_sums(struct maker *maker, struct structure_rows *rows, size_t more)
{
    size_t count = 0;

    for (size_t i = 0; i < maker->strings; i++)
        count += maker->sums[i].count > 0;
    rows->rows = calloc(count + more + 1, sizeof *rows->rows);
    if (!rows->rows) return false;
    for (size_t i = 0; i < maker->strings; i++) {
        struct cg_text name = trace_text(maker->trace, (cg_str)i);
        if (i == CG_ABSENT) name = (struct cg_text){"(not known)", strlen("(not known)")};
        if (maker->sums[i].count > 0 && !add_row(maker, rows, name, &maker->sums[i])) return false;
        maker->sums[i] = (struct sum){0};
    }
    return true;
}

/* Byte order of names, each once. */
static void finish_rows(struct structure_rows *rows)
{
    size_t kept = 0;

    qsort(rows->rows, rows->count, sizeof *rows->rows, compare_rows);
    for (size_t i = 0; i < rows->count; i++) {
        struct structure_row *last = kept > 0 ? &rows->rows[kept - 1] : NULL;
        if (last && text_equal(last->name, rows->rows[i].name)) {
            last->count += rows->rows[i].count;
            last->bytes = cg_sat_add(last->bytes, rows->rows[i].bytes);
        } else {
            rows->rows[kept++] = rows->rows[i];
        }
    }
    rows->count = kept;
}

static bool take_part(struct maker *maker, enum structure_part part)
{
    struct structure_rows *rows = &maker->structure->parts[part];
    bool ok = take_sums(maker, rows, 0);
    if (ok) finish_rows(rows);
    return ok;
}

static bool is_launch(const struct cg_trace *trace, size_t op)
{
    return trace->op.grid[op].count > 0;
}

static uint64_t op_bytes(const struct cg_trace *trace, size_t op)
{
    if (trace->op.bytes_set[op]) return trace->op.bytes[op];
    return trace->op.output_dense_bytes_set[op] ? trace->op.output_dense_bytes[op] : 0;
}

static bool take_spans(struct maker *maker)
{
    for (size_t i = 0; i < maker->trace->span.rows; i++)
        add(maker, maker->trace->span.name[i], 0);
    return take_part(maker, STRUCTURE_LABELS);
}

static bool take_ops(struct maker *maker, bool launches)
{
    const struct cg_trace *trace = maker->trace;
    for (size_t i = 0; i < trace->op.rows; i++)
        if (is_launch(trace, i) == launches)
            add(maker, trace->op.op_name[i], launches ? 0 : op_bytes(trace, i));
    return take_part(maker, launches ? STRUCTURE_KERNELS : STRUCTURE_OPS);
}

/* ---- storages ---- */

static cg_str label_of(const struct cg_trace *trace, uint32_t row)
{
    uint32_t span = trace_span(trace, trace->memory.span_id[row]);
    return span == CG_NONE ? CG_ABSENT : trace->span.name[span];
}

static bool take_labels(struct maker *maker)
{
    for (size_t i = 0; i < maker->memory.lifetime_count; i++) {
        uint32_t row = maker->memory.lifetimes[i].row;
        add(maker, label_of(maker->trace, row), maker->trace->memory.bytes[row]);
    }
    return take_part(maker, STRUCTURE_STORAGES_BY_LABEL);
}

/* The frame that allocated; CG_NONE when no stack is known. */
static uint32_t frame_of(const struct cg_trace *trace, uint32_t row)
{
    uint32_t stack = trace->memory.stack[row], count = 0;
    const uint32_t *frames = stack == CG_NONE ? NULL : trace_stack_frames(trace, stack, &count);
    return count > 0 ? frames[0] : CG_NONE;
}

/* Sums of frames, by their number; the storages without one are added by operation or entry point. */
static void sum_frames(struct maker *maker, struct sum *frames)
{
    const struct cg_memory *memory = &maker->trace->memory;

    for (size_t i = 0; i < maker->memory.lifetime_count; i++) {
        uint32_t row = maker->memory.lifetimes[i].row, frame = frame_of(maker->trace, row);
        if (frame == CG_NONE) {
            add(maker, memory->op_name[row] != CG_ABSENT ? memory->op_name[row] : memory->api[row],
                memory->bytes[row]);
            continue;
        }
        frames[frame].count++;
        frames[frame].bytes = cg_sat_add(frames[frame].bytes, memory->bytes[row]);
    }
}

static bool take_call_sites(struct maker *maker)
{
    struct structure_rows *rows = &maker->structure->parts[STRUCTURE_STORAGES_BY_CALL_SITE];
    uint32_t count = trace_frame_count(maker->trace);
    struct sum *frames = calloc(count + 1u, sizeof *frames);
    char name[1024];

    if (!frames) return false;
    sum_frames(maker, frames);
    bool ok = take_sums(maker, rows, count);
    for (uint32_t i = 0; ok && i < count; i++) {
        if (frames[i].count == 0) continue;
        size_t length = trace_frame_name(maker->trace, i, name, sizeof name);
        ok = add_row(maker, rows, (struct cg_text){name, length}, &frames[i]);
    }
    free(frames);
    if (ok) finish_rows(rows);
    return ok;
}

/* The names of categories are the format's, not the trace's. */
static bool take_categories(struct maker *maker)
{
    struct structure_rows *rows = &maker->structure->parts[STRUCTURE_STORAGES_BY_CATEGORY];
    struct sum sums[CG_CATEGORY_COUNT] = {0};

    rows->rows = calloc(CG_CATEGORY_COUNT, sizeof *rows->rows);
    if (!rows->rows) return false;
    for (size_t i = 0; i < maker->memory.lifetime_count; i++) {
        uint32_t row = maker->memory.lifetimes[i].row;
        struct sum *sum = &sums[maker->trace->memory.category[row]];
        sum->count++;
        sum->bytes = cg_sat_add(sum->bytes, maker->trace->memory.bytes[row]);
    }
    for (int i = 0; i < CG_CATEGORY_COUNT; i++) {
        if (sums[i].count == 0) continue;
        struct cg_text name = {cg_name_CATEGORY[i], strlen(cg_name_CATEGORY[i])};
        rows->rows[rows->count++] = (struct structure_row){name, sums[i].count, sums[i].bytes};
    }
    qsort(rows->rows, rows->count, sizeof *rows->rows, compare_rows);
    return true;
}

/* ---- the whole ---- */

static void take_coverage(struct maker *maker)
{
    const struct CG_OBJECT_CONTRACT *contract = &maker->trace->run.capture_contract;
#define COVERED_none           CG_COVERAGE_COMPLETE
#define COVERED_operations     contract->operations
#define COVERED_logical_memory contract->logical_memory
#define TAKE_COVERAGE(suffix, member, bytes, covered, meaning)                                               \
    maker->structure->coverage[STRUCTURE_##suffix] = COVERED_##covered;
    STRUCTURE_PARTS(TAKE_COVERAGE)
#undef TAKE_COVERAGE
}

/* Names may hold any byte, so each is preceded by its length. */
static bool take_digest(struct structure *structure)
{
    struct sha256 *digest = sha256_start();
    if (!digest) return false;
    for (int part = 0; part < STRUCTURE_PART_COUNT; part++) {
        const struct structure_rows *rows = &structure->parts[part];
        sha256_add(digest, &rows->count, sizeof rows->count);
        for (size_t i = 0; i < rows->count; i++) {
            const struct structure_row *row = &rows->rows[i];
            const uint64_t numbers[] = {row->name.length, row->count, row->bytes};
            sha256_add(digest, numbers, sizeof numbers);
            sha256_add(digest, row->name.bytes, row->name.length);
        }
    }
    return sha256_finish(digest, structure->digest);
}

bool structure_make(const struct cg_trace *trace, struct structure *structure)
{
    *structure = (struct structure){0};
    struct maker maker = {.trace = trace, .structure = structure, .strings = trace_string_count(trace) + 1u};
    maker.sums = calloc(maker.strings, sizeof *maker.sums);
    bool ok = maker.sums && logical_memory_make(trace, &maker.memory) && take_spans(&maker) &&
              take_ops(&maker, false) && take_ops(&maker, true) && take_labels(&maker) &&
              take_categories(&maker) && take_call_sites(&maker) && take_digest(structure);
    take_coverage(&maker);
    logical_memory_free(&maker.memory);
    free(maker.sums);
    if (!ok) structure_free(structure);
    return ok;
}

void structure_free(struct structure *structure)
{
    for (int part = 0; part < STRUCTURE_PART_COUNT; part++)
        free(structure->parts[part].rows);
    arena_free(&structure->arena);
    *structure = (struct structure){0};
}

/* ---- two of them ---- */

static uint64_t distance(const uint64_t values[STRUCTURE_SIDES])
{
    return values[0] > values[1] ? values[0] - values[1] : values[1] - values[0];
}

static int compare_differences(const void *left, const void *right)
{
    const struct structure_difference *a = left, *b = right;
    uint64_t x = distance(a->bytes), y = distance(b->bytes);
    if (x != y) return x > y ? -1 : 1;
    x = distance(a->count), y = distance(b->count);
    if (x != y) return x > y ? -1 : 1;
    return text_compare(a->name, b->name);
}

static void note(struct structure_part_comparison *part, const struct structure_row *before,
                 const struct structure_row *after)
{
    struct structure_difference difference = {.name = before ? before->name : after->name};
    const struct structure_row *const rows[STRUCTURE_SIDES] = {before, after};

    for (int side = 0; side < STRUCTURE_SIDES; side++) {
        difference.count[side] = rows[side] ? rows[side]->count : 0;
        difference.bytes[side] = rows[side] ? rows[side]->bytes : 0;
    }
    if (!before)
        part->added++;
    else if (!after)
        part->removed++;
    else if (distance(difference.count) || distance(difference.bytes))
        part->changed++;
    else
        part->unchanged++;
    if (!before || !after || distance(difference.count) || distance(difference.bytes))
        part->differences[part->difference_count++] = difference;
}

/* Both lists are in the order of names: one walk along both. */
static bool compare_part(const struct structure_rows *before, const struct structure_rows *after,
                         struct structure_part_comparison *part)
{
    size_t i = 0, k = 0;

    part->differences = calloc(before->count + after->count + 1, sizeof *part->differences);
    if (!part->differences) return false;
    while (i < before->count || k < after->count) {
        int order = i == before->count  ? 1
                    : k == after->count ? -1
                                        : text_compare(before->rows[i].name, after->rows[k].name);
        note(part, order <= 0 ? &before->rows[i] : NULL, order >= 0 ? &after->rows[k] : NULL);
        i += order <= 0;
        k += order >= 0;
    }
    qsort(part->differences, part->difference_count, sizeof *part->differences, compare_differences);
    return true;
}

bool structure_compare(const struct structured_run *baseline, const struct structured_run *candidate,
                       struct structure_comparison *comparison)
{
    *comparison = (struct structure_comparison){.sides = {*baseline, *candidate}};
    bool ok = true;
    for (int part = 0; ok && part < STRUCTURE_PART_COUNT; part++)
        ok = compare_part(&baseline->structure->parts[part], &candidate->structure->parts[part],
                          &comparison->parts[part]);
    if (!ok) structure_comparison_free(comparison);
    return ok;
}

void structure_comparison_free(struct structure_comparison *comparison)
{
    for (int part = 0; part < STRUCTURE_PART_COUNT; part++)
        free(comparison->parts[part].differences);
    *comparison = (struct structure_comparison){0};
}
