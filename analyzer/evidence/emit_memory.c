/* The memory profile (doc/spec/planes.md 3 and 5); its lists are streamed. */
#include <errno.h>

#include "analyzer/evidence/emit.h"
#include "analyzer/evidence/evidence_private.h"

/* ---- logical ---- */

/* Known by then: tensor ids seen later than this are left out, and so is the end. */
static void emit_lifetime(struct json_doc *doc, const struct evidence *evidence,
                          const struct lifetime *lifetime, bool at_peak)
{
    const struct cg_trace *trace = evidence->trace;
    const struct cg_memory *memory = &trace->memory;
    uint32_t row = lifetime->row;
    doc_object(doc);
    member_str(doc, trace, "device", memory->device[row]);
    member_str(doc, trace, "storage_id", memory->storage_id[row]);
    doc_key(doc, "tensor_ids");
    doc_array(doc);
    for (uint32_t i = 0; i < lifetime->tensors.count; i++) {
        uint32_t seen = evidence->logical.tensor_rows[lifetime->tensors.first + i];
        if (!at_peak || memory->timestamp_ns[seen] <= evidence->logical.peak_timestamp_ns)
            emit_str(doc, trace, memory->tensor_id[seen]);
    }
    doc_array_end(doc);
    member_str(doc, trace, "allocation_span_id", memory->span_id[row]);
    member_str(doc, trace, "op_name", memory->op_name[row]);
    doc_member_u64(doc, "bytes", memory->bytes[row]);
    member_shape(doc, trace, memory->shape[row]);
    member_str(doc, trace, "dtype", memory->dtype[row]);
    doc_member_string(doc, "category", cg_name_CATEGORY[memory->category[row]]);
    doc_member_u64(doc, "start_timestamp_ns", memory->timestamp_ns[row]);
    if (!at_peak && lifetime->end_row != CG_NONE)
        doc_member_u64(doc, "end_timestamp_ns", memory->timestamp_ns[lifetime->end_row]);
    doc_object_end(doc);
}

struct point_writer {
    struct json_doc *doc;
    const struct evidence *evidence;
    const struct memory_point *point;
};

static void point_time(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct point_writer *)object)->point->timestamp_ns);
}
static void point_live(struct json_doc *doc, const void *object)
{
    doc_u64(doc, clamp_u128(((const struct point_writer *)object)->point->live_bytes));
}
static void point_devices(struct json_doc *doc, const void *object)
{
    const struct point_writer *writer = object;
    doc_object(doc);
    for (size_t i = 0; i < writer->point->device_count; i++) {
        const struct live_bytes *live = &writer->point->by_device[i];
        struct cg_text key = trace_text(writer->evidence->trace, live->key);
        doc_key_bytes(doc, key.bytes, key.length);
        doc_u64(doc, clamp_u128(live->bytes));
    }
    doc_object_end(doc);
}
static void point_categories(struct json_doc *doc, const void *object)
{
    const struct point_writer *writer = object;
    doc_object(doc);
    for (size_t i = 0; i < writer->point->category_count; i++) {
        const struct live_bytes *live = &writer->point->by_category[i];
        doc_member_u64(doc, cg_name_CATEGORY[live->key], clamp_u128(live->bytes));
    }
    doc_object_end(doc);
}
static void peak_live_allocations(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = ((const struct point_writer *)object)->evidence;
    const struct logical_memory *memory = &evidence->logical;
    doc_array(doc);
    for (size_t i = 0; i < memory->lifetime_count; i++)
        if (lifetime_live_at_peak(evidence->trace, memory, &memory->lifetimes[i]))
            emit_lifetime(doc, evidence, &memory->lifetimes[i], true);
    doc_array_end(doc);
}

/* A peak has one member more than a point. */
static const struct json_member point_members[] = {{"timestamp_ns", point_time, NULL},
                                                   {"live_bytes", point_live, NULL},
                                                   {"live_bytes_by_device", point_devices, NULL},
                                                   {"live_bytes_by_category", point_categories, NULL},
                                                   {"live_allocations", peak_live_allocations, NULL}};

static void visit_point(void *context, const struct memory_point *point)
{
    struct point_writer *writer = context;
    writer->point = point;
    doc_members(writer->doc, point_members, COUNT_OF(point_members) - 1, writer);
}
static void visit_peak(void *context, const struct memory_point *point)
{
    struct point_writer *writer = context;
    writer->point = point;
    doc_members(writer->doc, point_members, COUNT_OF(point_members), writer);
}

static void logical_allocations(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct evidence *)object)->logical.storage_allocation_count);
}
static void logical_frees(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct evidence *)object)->logical.matched_storage_free_count);
}
static void logical_bytes(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct evidence *)object)->logical.total_allocated_bytes);
}
static bool has_peak(const void *object)
{
    return ((const struct evidence *)object)->logical.peak_known;
}
static void logical_peak(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    struct point_writer writer = {doc, evidence, NULL};
    if (!logical_memory_peak_point(evidence->trace, &evidence->logical, visit_peak, &writer))
        doc_fail(doc, ENOMEM);
}
static void logical_timeline(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    struct point_writer writer = {doc, evidence, NULL};
    doc_array(doc);
    if (!logical_memory_points(evidence->trace, &evidence->logical, visit_point, &writer))
        doc_fail(doc, ENOMEM);
    doc_array_end(doc);
}
static void logical_lifetimes(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    doc_array(doc);
    for (size_t i = 0; i < evidence->logical.lifetime_count; i++)
        emit_lifetime(doc, evidence, &evidence->logical.lifetimes[i], false);
    doc_array_end(doc);
}
static void logical_devices(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    doc_array(doc);
    for (size_t i = 0; i < evidence->logical.device_count; i++) {
        const struct memory_device *device = &evidence->logical.devices[i];
        doc_object(doc);
        member_str(doc, evidence->trace, "device", device->device);
        doc_member_u64(doc, "storage_allocation_count", device->storage_allocation_count);
        doc_member_u64(doc, "matched_storage_free_count", device->matched_storage_free_count);
        doc_member_u64(doc, "total_allocated_bytes", device->total_allocated_bytes);
        member_opt_u64(doc, "peak_live_bytes", device->peak_known, device->peak_live_bytes);
        member_opt_u64(doc, "peak_timestamp_ns", device->peak_known, device->peak_timestamp_ns);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_logical(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {{"storage_allocation_count", logical_allocations, NULL},
                                                 {"matched_storage_free_count", logical_frees, NULL},
                                                 {"total_allocated_bytes", logical_bytes, NULL},
                                                 {"peak", logical_peak, has_peak},
                                                 {"timeline", logical_timeline, NULL},
                                                 {"lifetimes", logical_lifetimes, NULL},
                                                 {"by_device", logical_devices, NULL}};
    doc_members(doc, members, COUNT_OF(members), object);
}

/* ---- physical ---- */

static void physical_timeline(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    const struct cg_trace *trace = evidence->trace;
    const struct cg_device_memory *samples = &trace->device_memory;
    doc_array(doc);
    for (size_t i = 0; i < samples->rows; i++) {
        size_t row = evidence->physical.order ? evidence->physical.order[i] : i;
        doc_object(doc);
        doc_member_u64(doc, "timestamp_ns", samples->timestamp_ns[row]);
        member_str(doc, trace, "device", samples->device[row]);
        member_opt_u64(doc, "used_bytes", samples->used_bytes_set[row], samples->used_bytes[row]);
        member_opt_u64(doc, "free_bytes", samples->free_bytes_set[row], samples->free_bytes[row]);
        member_opt_u64(doc, "reserved_bytes", samples->reserved_bytes_set[row], samples->reserved_bytes[row]);
        member_opt_u64(doc, "capacity_bytes", samples->capacity_bytes_set[row], samples->capacity_bytes[row]);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void physical_devices(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    doc_array(doc);
    for (size_t i = 0; i < evidence->physical.device_count; i++) {
        const struct physical_device *device = &evidence->physical.devices[i];
        doc_object(doc);
        member_str(doc, evidence->trace, "device", device->device);
        doc_member_u64(doc, "sample_count", device->sample_count);
        doc_member_u64(doc, "used_sample_count", device->used_sample_count);
        doc_member_u64(doc, "free_sample_count", device->free_sample_count);
        doc_member_u64(doc, "reserved_sample_count", device->reserved_sample_count);
        doc_member_u64(doc, "capacity_sample_count", device->capacity_sample_count);
        member_opt_u64(doc, "peak_used_bytes", device->used_known, device->peak_used_bytes);
        member_opt_u64(doc, "peak_used_timestamp_ns", device->used_known, device->peak_used_ns);
        member_opt_u64(doc, "peak_reserved_bytes", device->reserved_known, device->peak_reserved_bytes);
        member_opt_u64(doc, "peak_reserved_timestamp_ns", device->reserved_known, device->peak_reserved_ns);
        member_opt_u64(doc, "minimum_free_bytes", device->free_known, device->minimum_free_bytes);
        member_opt_u64(doc, "minimum_free_timestamp_ns", device->free_known, device->minimum_free_ns);
        member_opt_u64(doc, "maximum_observed_capacity_bytes", device->capacity_known,
                       device->maximum_capacity_bytes);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_physical(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {{"timeline", physical_timeline, NULL},
                                                 {"by_device", physical_devices, NULL}};
    doc_members(doc, members, COUNT_OF(members), object);
}

static bool has_logical(const void *object)
{
    return ((const struct evidence *)object)->logical.present;
}
static bool has_physical(const void *object)
{
    return ((const struct evidence *)object)->physical.present;
}

void emit_memory(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_MEMORY);
        return;
    }
    static const struct json_member members[] = {{"logical", emit_logical, has_logical},
                                                 {"physical", emit_physical, has_physical}};
    doc_members(doc, members, COUNT_OF(members), evidence);
}
