/* Logical and physical memory, and the summary (doc/spec/planes.md 3, 5 and 8): the vectors, and random
 * traces against a direct reading that sums over all live storages at every point. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/planes.h"

struct made {
    struct cg_trace *trace;
    struct logical_memory memory;
};

static struct made make(struct text *text)
{
    struct made made = {.trace = load(text)};
    assert_true(logical_memory_make(made.trace, &made.memory));
    return made;
}

static void release(struct made *made)
{
    logical_memory_free(&made->memory);
    trace_free(made->trace);
}

/* ---- what is made, as text: the expected values are texts too ---- */

struct description {
    const struct cg_trace *trace;
    struct text text;
};

static void put_string(struct text *text, const struct cg_trace *trace, cg_str string)
{
    struct cg_text bytes = trace_text(trace, string);
    put(text, "%.*s", (int)bytes.length, bytes.bytes);
}

static uint64_t clamp(unsigned __int128 bytes)
{
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* "10: 96; cpu 64, cuda:0 32; other 96\n" */
static void describe_point(void *context, const struct memory_point *point)
{
    struct description *description = context;
    struct text *text = &description->text;
    put(text, "%llu: %llu;", (unsigned long long)point->timestamp_ns,
        (unsigned long long)clamp(point->live_bytes));
    for (size_t i = 0; i < point->device_count; i++) {
        put(text, " ");
        put_string(text, description->trace, point->by_device[i].key);
        put(text, " %llu", (unsigned long long)clamp(point->by_device[i].bytes));
    }
    put(text, ";");
    for (size_t i = 0; i < point->category_count; i++)
        put(text, " %s %llu", cg_name_CATEGORY[point->by_category[i].key],
            (unsigned long long)clamp(point->by_category[i].bytes));
    put(text, "\n");
}

/* "cpu/a 64 10-40 [t1 t3 t9]\n" */
static void describe_lifetime(struct text *text, const struct made *made, const struct lifetime *lifetime,
                              uint64_t known_by)
{
    const struct cg_memory *records = &made->trace->memory;
    put_string(text, made->trace, records->device[lifetime->row]);
    put(text, "/");
    put_string(text, made->trace, records->storage_id[lifetime->row]);
    put(text, " %llu %llu-", (unsigned long long)records->bytes[lifetime->row],
        (unsigned long long)lifetime_start(made->trace, lifetime));
    if (lifetime->end_row != CG_NONE && known_by == UINT64_MAX)
        put(text, "%llu", (unsigned long long)lifetime_end(made->trace, lifetime));
    put(text, " [");
    const char *separator = "";
    for (uint32_t i = 0; i < lifetime->tensors.count; i++) {
        uint32_t row = made->memory.tensor_rows[lifetime->tensors.first + i];
        if (records->timestamp_ns[row] > known_by) continue;
        put(text, "%s", separator);
        put_string(text, made->trace, records->tensor_id[row]);
        separator = " ";
    }
    put(text, "]\n");
}

static void expect_description(struct text *text, const char *expected)
{
    assert_string_equal(text->bytes ? text->bytes : "", expected);
    free(text->bytes);
    *text = (struct text){0};
}

static void expect_points(const struct made *made, const char *expected)
{
    struct description description = {made->trace, {0}};
    assert_true(logical_memory_points(made->trace, &made->memory, describe_point, &description));
    expect_description(&description.text, expected);
}

static void expect_peak_point(const struct made *made, const char *expected)
{
    struct description description = {made->trace, {0}};
    assert_true(logical_memory_peak_point(made->trace, &made->memory, describe_point, &description));
    expect_description(&description.text, expected);
}

static void expect_lifetimes(const struct made *made, const char *expected)
{
    struct text text = {0};
    for (size_t i = 0; i < made->memory.lifetime_count; i++)
        describe_lifetime(&text, made, &made->memory.lifetimes[i], UINT64_MAX);
    expect_description(&text, expected);
}

static void expect_live_at_peak(const struct made *made, const char *expected)
{
    struct text text = {0};
    for (size_t i = 0; i < made->memory.lifetime_count; i++)
        if (lifetime_live_at_peak(made->trace, &made->memory, &made->memory.lifetimes[i]))
            describe_lifetime(&text, made, &made->memory.lifetimes[i], made->memory.peak_timestamp_ns);
    expect_description(&text, expected);
}

static void expect_totals(const struct made *made, uint64_t allocations, uint64_t frees, uint64_t bytes)
{
    assert_int_equal(made->memory.storage_allocation_count, allocations);
    assert_int_equal(made->memory.matched_storage_free_count, frees);
    assert_int_equal(made->memory.total_allocated_bytes, bytes);
}

/* "cpu 1 1 64 peak 64 at 10\n" */
static void expect_devices(const struct made *made, const char *expected)
{
    struct text text = {0};
    for (size_t i = 0; i < made->memory.device_count; i++) {
        const struct memory_device *device = &made->memory.devices[i];
        put_string(&text, made->trace, device->device);
        put(&text, " %llu %llu %llu", (unsigned long long)device->storage_allocation_count,
            (unsigned long long)device->matched_storage_free_count,
            (unsigned long long)device->total_allocated_bytes);
        if (device->peak_known)
            put(&text, " peak %llu at %llu", (unsigned long long)device->peak_live_bytes,
                (unsigned long long)device->peak_timestamp_ns);
        put(&text, "\n");
    }
    expect_description(&text, expected);
}

static struct trace_summary summarize(const struct made *made)
{
    struct trace_summary summary;
    assert_true(trace_summary_make(made->trace, &made->memory, &summary));
    return summary;
}

/* ---- vectors ---- */

static void test_aliases(void **state)
{
    (void)state;
    struct text text = {0};
    put_aliases(&text);
    struct made made = make(&text);
    assert_true(made.memory.present);
    expect_totals(&made, 3, 2, 112);
    assert_int_equal(made.memory.point_count, 5);
    expect_points(&made, "10: 96; cpu 64 cuda:0 32; other 96\n"
                         "20: 96; cpu 64 cuda:0 32; other 96\n"
                         "30: 80; cpu 64 cuda:0 16; other 80\n"
                         "40: 16; cuda:0 16; other 16\n"
                         "50: 16; cuda:0 16; other 16\n");
    assert_true(made.memory.peak_known);
    assert_int_equal(made.memory.peak_live_bytes, 96);
    assert_int_equal(made.memory.peak_timestamp_ns, 10);
    expect_peak_point(&made, "10: 96; cpu 64 cuda:0 32; other 96\n");
    expect_live_at_peak(&made, "cpu/a 64 10- [t1]\ncuda:0/a 32 10- [t2]\n");
    expect_lifetimes(&made, "cpu/a 64 10-40 [t1 t3 t9]\ncuda:0/a 32 10-30 [t2]\ncuda:0/b 16 30- [t4]\n");
    expect_devices(&made, "cpu 1 1 64 peak 64 at 10\ncuda:0 2 1 48 peak 32 at 10\n");
    struct trace_summary summary = summarize(&made);
    assert_int_equal(summary.alloc_count, 4); /* records, aliases included */
    assert_int_equal(summary.free_count, 3);
    assert_true(summary.logical_peak_known);
    assert_int_equal(summary.logical_peak_bytes, 96);
    release(&made);
}

static void put_one_timestamp(struct text *text) /* 8.4 */
{
    put_memory(text, 5, "d0", "a", "a", "s", 64, "alloc", "");
    put_memory(text, 5, "d0", "a", "a", "s", 64, "free", "");
    put_memory(text, 6, "d1", "z", "z", "s", 0, "alloc", ",\"category\":\"parameter\"");
    put_memory(text, 6, "d0", "a", "a", "s", 1, "alloc", "");
    put_memory(text, 6, "d0", "a", "b", "s", 9, "alloc", "");
    put_memory(text, 7, "d0", "a", "a", "s", 5, "free", "");
    put_memory(text, 8, "d0", "b", "b", "s", 2, "alloc", ",\"op_name\":\"mm\"");
    put_memory(text, 8, "d0", "b", "b", "s", 2, "free", "");
    put_memory(text, 8, "d0", "b", "b", "s", 3, "alloc", "");
}

static void expect_one_timestamp(const struct made *made)
{
    expect_totals(made, 5, 3, 70);
    expect_points(made, "5: 0;;\n"
                        "6: 1; d0 1 d1 0; other 1 parameter 0\n"
                        "7: 0; d1 0; parameter 0\n"
                        "8: 3; d0 3 d1 0; other 3 parameter 0\n");
    expect_live_at_peak(made, "d1/z 0 6- [z]\nd0/b 3 8- [b]\n");
    expect_lifetimes(made,
                     "d0/a 64 5-5 [a]\nd0/a 1 6-7 [a b]\nd1/z 0 6- [z]\nd0/b 2 8-8 [b]\nd0/b 3 8- [b]\n");
    expect_devices(made, "d0 4 3 70 peak 3 at 8\nd1 1 0 0 peak 0 at 6\n");
}

static void test_one_timestamp(void **state) /* 8.4 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 50, true);
    put_one_timestamp(&text);
    put_end(&text, 50);
    struct made made = make(&text);
    assert_null(made.memory.order);
    expect_one_timestamp(&made);
    assert_int_equal(made.memory.peak_live_bytes, 3);
    assert_int_equal(made.memory.peak_timestamp_ns, 8);
    expect_text(made.trace, made.trace->memory.op_name[made.memory.lifetimes[3].row], "mm");
    struct trace_summary summary = summarize(&made);
    assert_int_equal(summary.alloc_count, 6);
    assert_int_equal(summary.free_count, 3);
    release(&made);
}

static void
test_out_of_order(void **state) /* 3.1: a late record with an early time; equal times keep their order */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 500, true);
    put_memory(&text, 300, "d0", "c", "c", "s", 5, "free", "");
    put_one_timestamp(&text);
    put_memory(&text, 300, "d0", "c", "c", "s", 7, "alloc", "");
    put_end(&text, 500);
    struct made made = make(&text);
    assert_non_null(made.memory.order);
    expect_lifetimes(&made,
                     "d0/a 64 5-5 [a]\nd0/a 1 6-7 [a b]\nd1/z 0 6- [z]\nd0/b 2 8-8 [b]\nd0/b 3 8- [b]\n"
                     "d0/c 7 300- [c]\n");
    expect_peak_point(&made, "300: 10; d0 10 d1 0; other 10 parameter 0\n");
    release(&made);
}

static void test_unmatched_free(void **state) /* 8.5 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 50, true);
    put_memory(&text, 5, "cpu", "zz", "t", "s", 1, "free", "");
    put_end(&text, 50);
    struct made made = make(&text);
    assert_true(made.memory.present);
    expect_totals(&made, 0, 0, 0);
    assert_false(made.memory.peak_known);
    expect_points(&made, "5: 0;;\n");
    expect_peak_point(&made, "");
    expect_lifetimes(&made, "");
    expect_live_at_peak(&made, "");
    expect_devices(&made, "cpu 0 0 0\n");
    assert_false(summarize(&made).logical_peak_known);
    release(&made);
}

static void test_absent(void **state)
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 3, 50, true);
    put_span(&text, "t", "s", 3, UINT64_MAX, true);
    put_end(&text, UINT64_MAX);
    struct made made = make(&text);
    assert_false(made.memory.present);
    expect_points(&made, "");
    struct trace_summary summary = summarize(&made);
    assert_false(summary.logical_peak_known);
    assert_true(summary.total_ns == UINT64_MAX); /* 50 + MAX, saturated */
    assert_int_equal(summary.span_count, 2);
    assert_int_equal(summary.root_span_count, 1);
    assert_int_equal(summary.max_depth, 1);
    release(&made);
    struct physical_memory physical;
    put(&text, META);
    put_end(&text, 0);
    made = make(&text);
    assert_true(physical_memory_make(made.trace, &physical));
    assert_false(physical.present);
    physical_memory_free(&physical);
    release(&made);
}

static void
test_late_peak(void **state) /* 3.3: points before the first allocation never count; a peak of 0 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 50, true);
    put_memory(&text, 1, "cpu", "a", "a", "s", 4, "free", "");
    put_memory(&text, 7, "cpu", "a", "a", "s", 4, "alloc", "");
    put_memory(&text, 7, "cpu", "a", "a", "s", 4, "free", "");
    put_memory(&text, 9, "gpu", "a", "a", "s", 4, "free", "");
    put_end(&text, 50);
    struct made made = make(&text);
    assert_true(made.memory.peak_known);
    assert_int_equal(made.memory.peak_live_bytes, 0);
    assert_int_equal(made.memory.peak_timestamp_ns, 7);
    expect_peak_point(&made, "7: 0;;\n");
    expect_live_at_peak(&made, "");
    expect_devices(&made, "cpu 1 1 4 peak 0 at 7\ngpu 0 0 0\n");
    release(&made);
}

static void
test_saturation(void **state) /* sums beyond 64 bits are clamped, not wrapped, and come back exactly */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 50, true);
    put_memory(&text, 1, "cpu", "a", "a", "s", UINT64_MAX, "alloc", "");
    put_memory(&text, 2, "cpu", "b", "b", "s", UINT64_MAX, "alloc", "");
    put_memory(&text, 3, "cpu", "a", "a", "s", UINT64_MAX, "free", "");
    put_memory(&text, 4, "cpu", "b", "b", "s", UINT64_MAX, "free", "");
    put_end(&text, 50);
    struct made made = make(&text);
    expect_totals(&made, 2, 2, UINT64_MAX);
    expect_points(&made, "1: 18446744073709551615; cpu 18446744073709551615; other 18446744073709551615\n"
                         "2: 18446744073709551615; cpu 18446744073709551615; other 18446744073709551615\n"
                         "3: 18446744073709551615; cpu 18446744073709551615; other 18446744073709551615\n"
                         "4: 0;;\n");
    /* The clamped value of the second point is not greater than that of the first. */
    assert_int_equal(made.memory.peak_timestamp_ns, 1);
    expect_devices(&made, "cpu 2 2 18446744073709551615 peak 18446744073709551615 at 1\n");
    release(&made);
}

static void test_physical(void **state) /* 8.8 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 50, true);
    static const char *const samples[] = {
        "20,\"device\":\"cuda:0\",\"used_bytes\":300,\"free_bytes\":700",
        "10,\"device\":\"cuda:0\",\"used_bytes\":300,\"free_bytes\":700,\"capacity_bytes\":1000",
        "10,\"device\":\"cpu\",\"reserved_bytes\":5",
        "30,\"device\":\"cuda:0\",\"used_bytes\":100,\"free_bytes\":650"};
    for (size_t i = 0; i < 4; i++)
        put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":%s}\n", samples[i]);
    put_end(&text, 50);
    struct made made = make(&text);
    struct physical_memory memory;
    assert_true(physical_memory_make(made.trace, &memory));
    assert_true(memory.present);
    static const uint32_t order[] = {2, 1, 0, 3};
    assert_memory_equal(memory.order, order, sizeof order);
    assert_int_equal(memory.device_count, 2);
    const struct physical_device *cpu = &memory.devices[0], *cuda = &memory.devices[1];
    expect_text(made.trace, cpu->device, "cpu");
    assert_int_equal(cpu->sample_count, 1);
    assert_int_equal(cpu->reserved_sample_count, 1);
    assert_true(cpu->reserved_known && !cpu->used_known && !cpu->free_known && !cpu->capacity_known);
    assert_int_equal(cpu->peak_reserved_bytes, 5);
    assert_int_equal(cpu->peak_reserved_ns, 10);
    expect_text(made.trace, cuda->device, "cuda:0");
    assert_int_equal(cuda->sample_count, 3);
    assert_int_equal(cuda->used_sample_count, 3);
    assert_int_equal(cuda->free_sample_count, 3);
    assert_int_equal(cuda->reserved_sample_count, 0);
    assert_int_equal(cuda->capacity_sample_count, 1);
    assert_true(!cuda->reserved_known && cuda->used_known && cuda->free_known && cuda->capacity_known);
    assert_int_equal(cuda->peak_used_bytes, 300);
    assert_int_equal(cuda->peak_used_ns, 10);
    assert_int_equal(cuda->minimum_free_bytes, 650);
    assert_int_equal(cuda->minimum_free_ns, 30);
    assert_int_equal(cuda->maximum_capacity_bytes, 1000);
    physical_memory_free(&memory);
    release(&made);
}

/* ---- random traces against a direct reading of section 3 ---- */

#define RECORDS 60

struct naive_record {
    uint64_t time, bytes;
    unsigned device, storage, tensor, category;
    bool alloc;
};

struct naive_storage {
    unsigned device, storage, category;
    uint64_t bytes, start, end;
    bool ended;
    unsigned freed_as; /* the order of frees */
    bool tensors[4];
    uint64_t known[4]; /* when each tensor id was first seen */
};

static const enum cg_value_CATEGORY categories[] = {CG_CATEGORY_ACTIVATION, CG_CATEGORY_GRADIENT,
                                                    CG_CATEGORY_OPTIMIZER, CG_CATEGORY_OTHER,
                                                    CG_CATEGORY_PARAMETER};

static void naive_point(struct text *text, uint64_t time, const struct naive_storage *storages, size_t count,
                        uint64_t *live)
{
    *live = 0;
    for (size_t i = 0; i < count; i++)
        if (!storages[i].ended) *live = cg_sat_add(*live, storages[i].bytes);
    put(text, "%llu: %llu;", (unsigned long long)time, (unsigned long long)*live);
    for (unsigned pass = 0; pass < 8; pass++) { /* three devices, then five categories */
        uint64_t sum = 0;
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            bool of_it = pass < 3 ? storages[i].device == pass : storages[i].category == categories[pass - 3];
            if (storages[i].ended || !of_it) continue;
            any = true;
            sum = cg_sat_add(sum, storages[i].bytes);
        }
        if (pass == 3) put(text, ";");
        if (any && pass < 3) put(text, " d%u %llu", pass, (unsigned long long)sum);
        if (any && pass >= 3)
            put(text, " %s %llu", cg_name_CATEGORY[categories[pass - 3]], (unsigned long long)sum);
    }
    put(text, "\n");
}

static void naive_lifetime(struct text *text, const struct naive_storage *storage, uint64_t known_by)
{
    put(text, "d%u/m%u %llu %llu-", storage->device, storage->storage, (unsigned long long)storage->bytes,
        (unsigned long long)storage->start);
    if (storage->ended && known_by == UINT64_MAX) put(text, "%llu", (unsigned long long)storage->end);
    put(text, " [");
    const char *separator = "";
    for (unsigned i = 0; i < 4; i++) {
        if (!storage->tensors[i] || storage->known[i] > known_by) continue;
        put(text, "%st%u", separator, i);
        separator = " ";
    }
    put(text, "]\n");
}

/* Does a stand before b in the order of 3.4? */
static bool before(const struct naive_storage *a, const struct naive_storage *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->device != b->device) return a->device < b->device;
    if (a->storage != b->storage) return a->storage < b->storage;
    if (a->ended != b->ended) return a->ended;
    return a->ended && a->freed_as < b->freed_as;
}

static void naive_apply(const struct naive_record *record, struct naive_storage *storages, size_t *count,
                        unsigned *frees)
{
    struct naive_storage *live = NULL;
    for (size_t i = 0; i < *count; i++)
        if (!storages[i].ended && storages[i].device == record->device &&
            storages[i].storage == record->storage)
            live = &storages[i];
    if (!live && !record->alloc) return;
    if (!live) {
        live = &storages[(*count)++];
        *live = (struct naive_storage){.device = record->device,
                                       .storage = record->storage,
                                       .category = record->category,
                                       .bytes = record->bytes,
                                       .start = record->time};
    }
    if (!live->tensors[record->tensor]) live->known[record->tensor] = record->time;
    live->tensors[record->tensor] = true;
    if (record->alloc) return;
    live->ended = true;
    live->end = record->time;
    live->freed_as = (*frees)++;
}

static void naive_sort(struct naive_storage *storages, size_t storage_count)
{
    for (size_t i = 1; i < storage_count; i++) /* insertion sort */
        for (size_t j = i; j > 0 && before(&storages[j], &storages[j - 1]); j--) {
            struct naive_storage swap = storages[j];
            storages[j] = storages[j - 1];
            storages[j - 1] = swap;
        }
}

static void put_random(struct naive_record *records, size_t count, uint64_t horizon, struct text *text,
                       uint64_t *random)
{
    bool huge = draw(random, 6) == 0;
    for (size_t i = 0; i < count; i++) {
        records[i] = (struct naive_record){.time = draw(random, horizon),
                                           .bytes = huge ? UINT64_MAX - draw(random, 2) : draw(random, 9),
                                           .device = (unsigned)draw(random, 3),
                                           .storage = (unsigned)draw(random, 4),
                                           .tensor = (unsigned)draw(random, 4),
                                           .category = (unsigned)draw(random, 5),
                                           .alloc = draw(random, 5) < 3};
        char device[4], storage[4], tensor[4], more[40];
        snprintf(device, sizeof device, "d%u", records[i].device & 7);
        snprintf(storage, sizeof storage, "m%u", records[i].storage & 7);
        snprintf(tensor, sizeof tensor, "t%u", records[i].tensor & 7);
        snprintf(more, sizeof more, ",\"category\":\"%s\"", cg_name_CATEGORY[records[i].category]);
        put_memory(text, records[i].time, device, storage, tensor, "s", records[i].bytes,
                   records[i].alloc ? "alloc" : "free", more);
    }
}

static void compare_random(uint64_t seed)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15ull + 1, horizon = 1 + draw(&random, 40);
    size_t count = 1 + draw(&random, RECORDS);
    struct naive_record records[RECORDS];
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 100, true);
    put_random(records, count, horizon, &text, &random);
    put_end(&text, 100);

    struct naive_storage storages[RECORDS];
    size_t storage_count = 0;
    unsigned frees = 0;
    bool peak_known = false;
    uint64_t peak = 0, peak_time = 0;
    struct text points = {0}, peak_point = {0};
    for (uint64_t time = 0; time < horizon; time++) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            if (records[i].time != time) continue;
            naive_apply(&records[i], storages, &storage_count, &frees);
            any = true;
        }
        uint64_t live;
        if (!any) continue;
        size_t point_at = points.length;
        naive_point(&points, time, storages, storage_count, &live);
        if (storage_count && (!peak_known || live > peak)) {
            peak_known = true;
            peak = live;
            peak_time = time;
            peak_point.length = 0;
            put(&peak_point, "%s", points.bytes + point_at);
        }
    }
    naive_sort(storages, storage_count);
    struct text lifetimes = {0}, at_peak = {0};
    for (size_t i = 0; i < storage_count; i++) {
        naive_lifetime(&lifetimes, &storages[i], UINT64_MAX);
        if (peak_known && storages[i].start <= peak_time &&
            (!storages[i].ended || storages[i].end > peak_time))
            naive_lifetime(&at_peak, &storages[i], peak_time);
    }

    struct made made = make(&text);
    assert_int_equal(made.memory.peak_known, peak_known);
    if (peak_known) assert_int_equal(made.memory.peak_live_bytes, peak);
    if (peak_known) assert_int_equal(made.memory.peak_timestamp_ns, peak_time);
    assert_int_equal(made.memory.matched_storage_free_count, frees);
    expect_points(&made, points.bytes);
    expect_peak_point(&made, peak_point.bytes ? peak_point.bytes : "");
    expect_lifetimes(&made, lifetimes.bytes ? lifetimes.bytes : "");
    expect_live_at_peak(&made, at_peak.bytes ? at_peak.bytes : "");
    release(&made);
    free(points.bytes);
    free(peak_point.bytes);
    free(lifetimes.bytes);
    free(at_peak.bytes);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++)
        compare_random(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliases),      cmocka_unit_test(test_one_timestamp),
        cmocka_unit_test(test_out_of_order), cmocka_unit_test(test_unmatched_free),
        cmocka_unit_test(test_absent),       cmocka_unit_test(test_late_peak),
        cmocka_unit_test(test_saturation),   cmocka_unit_test(test_physical),
        cmocka_unit_test(test_random),
    };
    return run_tap(tests);
}
