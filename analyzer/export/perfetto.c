/* Perfetto's own trace: a stream of packets (perfetto.dev, "Trace packet format"; protos/perfetto/trace). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/counters.h"
#include "analyzer/export/export.h"
#include "analyzer/export/proto.h"
#include "analyzer/planes/array.h"

/* Numbers of fields and values in the .proto files. */
enum { TRACE_PACKET = 1 };
enum { PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10, PACKET_TRACK_EVENT = 11, PACKET_INTERNED_DATA = 12 };
enum { PACKET_SEQUENCE_FLAGS = 13, PACKET_TRACK_DESCRIPTOR = 60 };
enum { INCREMENTAL_STATE_CLEARED = 1, NEEDS_INCREMENTAL_STATE = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT_UUID = 5, TRACK_COUNTER = 8 };
enum { COUNTER_UNIT = 3, UNIT_SIZE_BYTES = 3 };
enum {
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK_UUID = 11,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOW_IDS = 47
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_COUNTER = 4 };
enum { INTERNED_EVENT_NAMES = 2, NAME_IID = 1, NAME_NAME = 2 };

/* Every track has a number of its own: the host, clocks, rows, counters. */
#define HOST_TRACK       UINT64_C(1)
#define CLOCK_TRACK(c)   (HOST_TRACK + 1 + (c))
#define ROW_TRACK(r)     (UINT64_C(1) << 32 | (r))
#define COUNTER_TRACK(c) (UINT64_C(2) << 32 | (c))

/* What the counters of a device show. */
enum counter { COUNTER_LIVE, COUNTER_USED, COUNTER_RESERVED, COUNTER_FREE, COUNTER_KINDS };
static const char *const counter_names[COUNTER_KINDS] = {
    [COUNTER_LIVE] = "live storages",
    [COUNTER_USED] = "device memory used",
    [COUNTER_RESERVED] = "device memory reserved",
    [COUNTER_FREE] = "device memory free",
};

struct perfetto {
    struct export_job *job;
    struct export_rows rows;
    struct buffer frame, packet, message, inner; /* a packet with its length, the packet, messages in it */
    uint8_t *interned;                           /* by string: its text was written */
    uint8_t *counted;                            /* by string: a bit for each counter of it as a device */
    uint8_t *issued;                             /* by op: it issued an interval */
    struct open_slices open;
    bool begun;
    int failure;
};

/* ---- packets ---- */

static void end_packet(struct perfetto *made)
{
    proto_number(&made->packet, PACKET_SEQUENCE_ID, 1);
    proto_number(&made->packet, PACKET_SEQUENCE_FLAGS,
                 made->begun ? NEEDS_INCREMENTAL_STATE : INCREMENTAL_STATE_CLEARED | NEEDS_INCREMENTAL_STATE);
    made->begun = true;
    made->frame.used = 0;
    proto_bytes(&made->frame, TRACE_PACKET, made->packet.bytes, made->packet.used);
    if (made->frame.failed || made->packet.failed || made->message.failed || made->inner.failed)
        made->failure = ENOMEM;
    if (!made->failure)
        made->failure =
            made->job->sink(made->job->context, (const char *)made->frame.bytes, made->frame.used);
    made->packet.used = made->message.used = made->inner.used = 0;
}

static void put_track(struct perfetto *made, uint64_t uuid, uint64_t parent, const char *name, bool counter)
{
    proto_number(&made->message, TRACK_UUID, uuid);
    proto_bytes(&made->message, TRACK_NAME, name, strlen(name));
    if (parent) proto_number(&made->message, TRACK_PARENT_UUID, parent);
    if (counter) {
        proto_number(&made->inner, COUNTER_UNIT, UNIT_SIZE_BYTES);
        proto_bytes(&made->message, TRACK_COUNTER, made->inner.bytes, made->inner.used);
    }
    proto_bytes(&made->packet, PACKET_TRACK_DESCRIPTOR, made->message.bytes, made->message.used);
    end_packet(made);
}

/* The text of a name goes with its first use. */
static void put_name(struct perfetto *made, cg_str name)
{
    if (made->interned[name]) return;
    made->interned[name] = 1;
    struct cg_text text = trace_text(made->job->trace, name);
    struct buffer *entry = &made->inner, *data = &made->frame;
    entry->used = data->used = 0;
    proto_number(entry, NAME_IID, name);
    proto_bytes(entry, NAME_NAME, text.bytes, text.length);
    proto_bytes(data, INTERNED_EVENT_NAMES, entry->bytes, entry->used);
    proto_bytes(&made->packet, PACKET_INTERNED_DATA, data->bytes, data->used);
}

/* Ends the event in made->message as a packet of this time. */
static void put_event(struct perfetto *made, uint64_t at)
{
    proto_number(&made->packet, PACKET_TIMESTAMP, at);
    proto_bytes(&made->packet, PACKET_TRACK_EVENT, made->message.bytes, made->message.used);
    end_packet(made);
}

static void begin_event(struct perfetto *made, uint64_t type, uint64_t track)
{
    proto_number(&made->message, EVENT_TYPE, type);
    proto_number(&made->message, EVENT_TRACK_UUID, track);
}

/* ---- slices ---- */

static void close_until(struct perfetto *made, uint64_t track, uint64_t at)
{
    for (const struct open_slice *ended; (ended = open_slices_pop(&made->open, at));) {
        if (!ended->mark) continue; /* a span that nobody ended */
        begin_event(made, TYPE_SLICE_END, track);
        put_event(made, ended->end);
    }
}

/* A call and the work that it issued share a flow: the call's number. */
static void add_flow(struct perfetto *made, const struct slice *slice)
{
    uint32_t op = CG_NONE;
    if (slice->kind == SLICE_OP && made->issued[slice->row]) op = slice->row;
    if (slice->kind == SLICE_INTERVAL) op = made->rows.slices.issuer[slice->row];
    if (op != CG_NONE) proto_fixed64(&made->message, EVENT_FLOW_IDS, (uint64_t)op + 1);
}

static void put_row(struct perfetto *made, size_t number)
{
    const struct cg_trace *trace = made->job->trace;
    const struct export_row *row = &made->rows.list[number];
    for (size_t i = row->first; i < row->first + row->count && !made->failure; i++) {
        const struct slice *slice = &made->rows.slices.list[i];
        bool ends = slice->kind != SLICE_SPAN || trace->span.closed[slice->row];
        cg_str name = slice_name(trace, &made->rows.slices, slice);
        close_until(made, ROW_TRACK(number), slice->start);
        begin_event(made, TYPE_SLICE_BEGIN, ROW_TRACK(number));
        proto_number(&made->message, EVENT_NAME_IID, name);
        add_flow(made, slice);
        put_name(made, name);
        put_event(made, slice->start);
        if (!open_slices_push(&made->open, slice_end(slice), ends)) made->failure = ENOMEM;
        made->job->records++;
    }
    close_until(made, ROW_TRACK(number), UINT64_MAX);
}

static void put_tracks(struct perfetto *made)
{
    const struct cg_trace *trace = made->job->trace;
    char name[512];
    put_track(made, HOST_TRACK, 0, "host", false);
    for (size_t c = 0; c < made->rows.slices.clock_count; c++) {
        export_clock_name(trace, &made->rows.slices.clocks[c], name, sizeof name);
        put_track(made, CLOCK_TRACK(c), 0, name, false);
    }
    for (size_t r = 0; r < made->rows.count; r++) {
        const struct export_row *row = &made->rows.list[r];
        bool host = export_row_is_host(&made->rows, row);
        export_row_name(trace, &made->rows, row, name, sizeof name);
        put_track(made, ROW_TRACK(r),
                  host ? HOST_TRACK : CLOCK_TRACK(made->rows.slices.tracks[row->track].clock), name, false);
    }
}

/* ---- memory ---- */

static void put_counter(struct perfetto *made, enum counter kind, cg_str device, uint64_t at, uint64_t value)
{
    uint64_t track = COUNTER_TRACK((uint64_t)device * COUNTER_KINDS + kind);
    if (!(made->counted[device] & 1u << kind)) {
        char name[512];
        struct cg_text text = trace_text(made->job->trace, device);
        snprintf(name, sizeof name, "%s %.*s", counter_names[kind], (int)text.length, text.bytes);
        export_cut(name);
        put_track(made, track, 0, name, true);
        made->counted[device] |= (uint8_t)(1u << kind);
    }
    begin_event(made, TYPE_COUNTER, track);
    proto_number(&made->message, EVENT_COUNTER_VALUE, value < INT64_MAX ? value : INT64_MAX);
    put_event(made, cg_sat_sub(at, made->rows.origin_ns));
}

static void on_live_bytes(void *context, cg_str device, uint64_t timestamp_ns, uint64_t bytes)
{
    put_counter(context, COUNTER_LIVE, device, timestamp_ns, bytes);
}

static void put_memory(struct perfetto *made)
{
    const struct cg_device_memory *samples = &made->job->trace->device_memory;
    for (size_t i = 0; i < samples->rows && !made->failure; i++) {
        cg_str device = samples->device[i];
        uint64_t at = samples->timestamp_ns[i];
        if (samples->used_bytes_set[i]) put_counter(made, COUNTER_USED, device, at, samples->used_bytes[i]);
        if (samples->reserved_bytes_set[i])
            put_counter(made, COUNTER_RESERVED, device, at, samples->reserved_bytes[i]);
        if (samples->free_bytes_set[i]) put_counter(made, COUNTER_FREE, device, at, samples->free_bytes[i]);
    }
    if (!live_bytes_each(made->job->trace, on_live_bytes, made)) made->failure = ENOMEM;
}

static bool make(struct perfetto *made)
{
    const struct cg_trace *trace = made->job->trace;
    size_t strings = (size_t)trace_string_count(trace) + 1;
    made->interned = array_zeroed(strings, 1);
    made->counted = array_zeroed(strings, 1);
    made->issued = array_zeroed(trace->op.rows, 1);
    if (!made->interned || !made->counted || !made->issued || !export_rows_make(trace, &made->rows))
        return false;
    for (size_t i = 0; i < trace->device_interval.rows; i++)
        if (made->rows.slices.issuer[i] != CG_NONE) made->issued[made->rows.slices.issuer[i]] = 1;
    return true;
}

static int write_perfetto(struct export_job *job)
{
    struct perfetto made = {.job = job};
    if (make(&made)) {
        put_tracks(&made);
        for (size_t r = 0; r < made.rows.count && !made.failure; r++)
            put_row(&made, r);
        put_memory(&made);
    } else {
        made.failure = ENOMEM;
    }
    job->left_out = made.rows.left_out + made.rows.slices.untimed;
    export_rows_free(&made.rows);
    buffer_free(&made.frame);
    buffer_free(&made.packet);
    buffer_free(&made.message);
    buffer_free(&made.inner);
    free(made.interned);
    free(made.counted);
    free(made.issued);
    free(made.open.list);
    return made.failure;
}

static const char *const losses[] = {
    "names, times, joins of calls with their work, and counters of memory alone: no ids, bytes, call stacks",
    "device clocks are put on the host's time axis: moved by the least that puts no work before its call nor "
    "before the first host record",
    "times count from the first host record; memory from before stands at 0",
    "what overlaps on a thread or a stream without nesting stands on a track of its own",
    "operations without a time are left out",
    NULL,
};
const struct export_format export_perfetto = {
    .name = "perfetto",
    .about = "Perfetto's packets, for the Perfetto UI and trace_processor",
    .losses = losses,
    .write = write_perfetto,
};
