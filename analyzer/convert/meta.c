/* The record meta of a converted trace: what the file says of the run, and where its one clock stands. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyzer/convert/writer.h"
#include "analyzer/planes/pair_map.h"

static void write_anchor(struct writer *writer, const char *key, uint64_t at)
{
    struct lines *lines = &writer->lines;
    uint64_t unix_ns = (uint64_t)(writer->model->epoch_ns + writer->zero) + at;
    line_open(lines, key, '{');
    line_u64(lines, "tick", at);
    line_u64(lines, "monotonic_ns", at);
    line_u64(lines, "realtime_ns", unix_ns);
    line_u64(lines, "spread_ticks", writer->model->resolution_ns);
    line_close(lines, '}');
}

static bool dated(const struct writer *writer)
{
    const struct model *model = writer->model;
    int64_t limit = INT64_C(1) << 61;
    return model->epoch_ns >= 0 && writer->zero >= -model->epoch_ns && model->epoch_ns < limit &&
           writer->zero < limit;
}

const char *clock_id(const struct model *model, cg_str device, char id[CLOCK_ID_SIZE])
{
    struct cg_text text = model_text(model, device);
    snprintf(id, CLOCK_ID_SIZE, "%.*s/file", (int)(text.length < 48 ? text.length : 48), text.bytes);
    return id;
}

/* The file has one clock for the host and the devices: how well its writer made them one it does not say. */
static void write_device_anchors(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    struct pair_map seen = {0};
    char id[CLOCK_ID_SIZE];
    line_open(lines, "devices", '{');
    for (size_t i = 0; i < model->interval_count; i++) {
        bool made;
        if (i > 0 && model->intervals[i].device == model->intervals[i - 1].device) continue;
        if (!pair_map_insert(&seen, model->intervals[i].device, 0, &made)) {
            lines->no_memory = true;
            break;
        }
        if (!made) continue;
        line_open(lines, clock_id(model, model->intervals[i].device, id), '[');
        for (int end = 0; end < (writer->total ? 2 : 1); end++) {
            line_open(lines, NULL, '{');
            line_u64(lines, "device_ns", end ? writer->total : 0);
            line_u64(lines, "host_ns", end ? writer->total : 0);
            line_u64(lines, "uncertainty_ns", model->resolution_ns);
            line_close(lines, '}');
        }
        line_close(lines, ']');
    }
    line_close(lines, '}');
    pair_map_free(&seen);
}

static void write_clock(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    line_open(lines, "clock", '{');
    line_word(lines, "source", "file");
    line_u64(lines, "mult", 1);
    line_u64(lines, "shift", 0);
    if (dated(writer)) {
        write_anchor(writer, "first", 0);
        write_anchor(writer, "last", writer->total);
    }
    write_device_anchors(writer);
    line_close(lines, '}');
}

static void write_device_names(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    char device[32];
    if (model->device_count == 0) return;
    line_open(lines, "cuda", '{');
    line_open(lines, "devices", '[');
    for (size_t i = 0; i < model->device_count; i++) {
        snprintf(device, sizeof device, "cuda:%" PRIu32, model->devices[i].number);
        line_open(lines, NULL, '{');
        line_word(lines, "device", device);
        line_text(lines, "name", model_text(model, model->devices[i].name));
        if (model->devices[i].bytes) line_u64(lines, "bytes", model->devices[i].bytes);
        line_close(lines, '}');
    }
    line_close(lines, ']');
    line_close(lines, '}');
}

static const char *level(size_t rows)
{
    return cg_name_COVERAGE[rows ? CG_COVERAGE_PARTIAL : CG_COVERAGE_NONE];
}

static void write_contract(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    size_t intervals = 0;
    for (size_t i = 0; i < model->interval_count; i++)
        intervals += model->intervals[i].end > model->intervals[i].start;
    line_open(lines, "capture_contract", '{');
    line_word(lines, "measurement_scope", cg_name_SCOPE[CG_SCOPE_UNKNOWN]);
    line_word(lines, "operations", level(model->call_count));
    line_word(lines, "logical_memory", level(model->storage_count));
    line_word(lines, "physical_memory", level(model->sample_count));
    line_word(lines, "device_timing", level(intervals));
    line_close(lines, '}');
}

/* "unknown" where the file has no dates. */
static void write_date(struct writer *writer, const char *key)
{
    char text[64] = "unknown";
    if (dated(writer)) {
        uint64_t ns = (uint64_t)(writer->model->epoch_ns + writer->zero);
        time_t seconds = (time_t)(ns / 1000000000);
        struct tm tm;
        size_t length = gmtime_r(&seconds, &tm) ? strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) : 0;
        snprintf(text + length, sizeof text - length, ".%03uZ", (unsigned)(ns / 1000000 % 1000));
    }
    line_word(&writer->lines, key, text);
}

void write_meta(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    const char *slash = strrchr(model->file, '/'), *name = slash && slash[1] ? slash + 1 : model->file;
    struct cg_text file = {name, strlen(name)};
    uint64_t step = model->step ? model->step : 1;
    line_begin(lines, "meta");
    line_word(lines, "schema", "candle-graph/trace/10");
    line_text(lines, "run_id", file);
    line_text(lines, "correlation_id", file);
    line_word(lines, "entrypoint", model->tool);
    line_word(lines, "phase", cg_name_PHASE[model->training ? CG_PHASE_TRAIN : CG_PHASE_INFER]);
    write_date(writer, "timestamp");
    line_u64(lines, "capture_step", step);
    line_u64(lines, "warmup_steps", step - 1);
    line_text(lines, "device", model_text(model, writer->device));
    line_word(lines, "timing_mode", cg_name_TIMING_MODE[CG_TIMING_MODE_HOST]);
    write_contract(writer);
    line_open(lines, "tags", '{');
    line_close(lines, '}');
    line_open(lines, "producer", '{');
    line_word(lines, "name", "cg-analyze convert");
    line_word(lines, "version", CGT_VERSION);
    line_close(lines, '}');
    line_open(lines, "converted", '{');
    line_text(lines, "file", file);
    line_word(lines, "form", convert_form_names[model->report->form]);
    line_close(lines, '}');
    if (model->rank_known) line_u64(lines, "rank", model->rank);
    write_clock(writer);
    write_device_names(writer);
    line_end(lines);
}
