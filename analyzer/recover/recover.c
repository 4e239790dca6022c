#include "analyzer/recover/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/cmd/output.h"
#include "analyzer/recover/recovery.h"
#include "common/event_table.h"
#include "common/jsonl_end.h"

/* ---- input ---- */

/* A file and nothing else, so that no FIFO holds us up; -1 with errno, 0 when it is none. */
static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))) return fd;
    close(fd);
    errno = 0;
    return -1;
}

static int open_capture(struct recovery *r, struct cg_error *error)
{
    int fd = open_file(r->path);
    struct stat status;
    const char *fault;
    void *bytes;

    if (fd < 0)
        return cg_fail(error, errno == EACCES ? CG_EXIT_IO : CG_EXIT_INPUT, "%s: %s", r->path,
                       errno ? strerror(errno) : "not a capture file");
    if (fstat(fd, &status) || status.st_size == 0) {
        close(fd);
        return cg_fail(error, CG_EXIT_INPUT, "%s: not a capture file", r->path);
    }
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) return cg_fail(error, CG_EXIT_IO, "%s: %s", r->path, strerror(errno));
    fault = cap_file_check(&r->file, bytes, (size_t)status.st_size);
    if (fault) return cg_fail(error, CG_EXIT_INPUT, "%s: %s", r->path, fault);
    if (atomic_load(&r->file.header->closed))
        return cg_fail(error, CG_EXIT_INPUT, "%s: nothing to recover, the trace is complete: %s", r->path,
                       r->file.header->trace_path);
    return 0;
}

/* The process that made it is there: same number, same start. */
static bool is_running(const struct cap_header *header)
{
    char path[64], text[1024], *at;
    FILE *stat;
    size_t length;

    snprintf(path, sizeof path, "/proc/%d/stat", header->pid);
    stat = fopen(path, "re");
    if (!stat) return false;
    length = fread(text, 1, sizeof text - 1, stat);
    fclose(stat);
    text[length] = '\0';
    at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return false;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at && strtoull(at + 1, NULL, 10) == header->process_start_ticks;
}

/* FILE.cgt as FILE and another end. */
static void beside(char *out, size_t size, const char *capture, const char *end)
{
    size_t length = strlen(capture);

    if (length > 4 && strcmp(capture + length - 4, ".cgt") == 0) length -= 4;
    snprintf(out, size, "%.*s%s", (int)length, capture, end);
}

/* Beside the capture file, where both may have been moved together; else where it was made. */
static int open_part(struct recovery *r, struct cg_error *error)
{
    uint64_t begin = r->published.meta_room + 1;

    beside(r->part_path, sizeof r->part_path, r->path, ".part");
    r->part.fd = open_file(r->part_path);
    if (r->part.fd < 0) {
        snprintf(r->part_path, sizeof r->part_path, "%s", r->file.header->part_path);
        r->part.fd = open_file(r->part_path);
    }
    r->part.path = r->part_path;
    r->report->part_missing = r->part.fd < 0;
    if (r->part.fd < 0 || r->published.part_bytes <= begin) return 0;
    int status = part_scan(&r->part, begin, r->published.part_bytes, error);
    r->report->part_bytes = r->part.end - r->part.begin;
    r->report->part_dropped = r->published.part_bytes - r->part.end;
    return status;
}

/* ---- records ---- */

/* Formats what the rings hold; output NULL: only to learn what it says in sum. */
static int put_rings(struct recovery *r, struct output *output)
{
    size_t size = 0;
    char *line = NULL;
    int failure = 0;

    for (uint32_t i = 0; i < r->file.ring_count && !failure; i++)
        for (uint64_t n = 0; n < r->rests[i].count && !failure; n += r->rests[i].slots[n].slots) {
            const struct cap_record *record = &r->rests[i].slots[n];
            size_t bound = jsonl_bound(&r->state, record);

            if (bound > size) {
                free(line);
                line = malloc(bound);
                if (!line) return ENOMEM;
                size = bound;
            }
            char *end = jsonl_record(&r->state, line, record, i, r->rests[i].first + n, r->rests[i].tid);
            if (output && end > line) failure = output_write(output, line, (size_t)(end - line));
        }
    free(line);
    return failure;
}

static bool start_state(struct recovery *r)
{
    const struct cap_header *header = r->file.header;
    uint32_t count = header->api_count <= UINT16_MAX ? header->api_count : 0;
    struct jsonl_api *apis = calloc(count + 1u, sizeof *apis);
    uint64_t numbers = r->file.strings_bytes / 8 + 64;
    uint64_t *whole = calloc(numbers / 64 + 1, sizeof *whole);
    uint64_t stack_numbers = r->file.stacks_bytes / 8;
    uint64_t *stack_whole = calloc(stack_numbers / 64 + 1, sizeof *stack_whole);

    r->state = (struct jsonl_state){.clock = header->clock,
                                    .strings = r->file.strings,
                                    .strings_bytes = r->file.strings_bytes,
                                    .apis = apis,
                                    .whole = whole,
                                    .whole_limit = numbers,
                                    .stacks = r->file.stacks,
                                    .stacks_bytes = r->file.stacks_bytes,
                                    .stack_whole = stack_whole,
                                    .stack_limit = stack_numbers,
                                    .symbols = &r->symbols,
                                    .written = r->published.written};
    if (!apis || !whole || !stack_whole) return false;
    if (jsonl_apis(apis, count, header->api_first, r->file.strings, r->file.strings_bytes))
        r->state.api_count = count;
    return true;
}

/* ---- first and last line ---- */

static void set_level(json_t *contract, const char *key, uint64_t lines)
{
    json_object_set_new(contract, key,
                        json_string(cg_name_COVERAGE[lines ? CG_COVERAGE_PARTIAL : CG_COVERAGE_NONE]));
}

/* The rate by which the lines' times were made, and where the clocks stood in the writer's last round: the
 * first line had neither. Of a damaged header what no session has is left out. False: memory is short. */
static bool put_host_clock(const struct recovery *r, json_t *clock)
{
    const struct cap_header *header = r->file.header;
    const struct cap_anchor *first = &header->first, *last = &header->last;
    json_t *anchor;

    if (header->clock.mult > INT64_MAX ||
        json_object_set_new(clock, "mult", json_integer((json_int_t)header->clock.mult)) != 0)
        return header->clock.mult > INT64_MAX;
    if (last->tick < first->tick || last->tick > INT64_MAX || last->monotonic_ns < first->monotonic_ns ||
        last->realtime_ns < 0 || last->spread_ticks > INT64_MAX)
        return true;
    anchor = json_object();
    bool enough =
        json_object_set_new(anchor, "tick", json_integer((json_int_t)last->tick)) == 0 &&
        json_object_set_new(anchor, "monotonic_ns", json_integer(last->monotonic_ns)) == 0 &&
        json_object_set_new(anchor, "realtime_ns", json_integer(last->realtime_ns)) == 0 &&
        json_object_set_new(anchor, "spread_ticks", json_integer((json_int_t)last->spread_ticks)) == 0 &&
        json_object_set(clock, "last", anchor) == 0;
    json_decref(anchor);
    return enough;
}

/* Where the clocks of devices stand, which the first line could not know yet; anchors that no session takes,
 * of a damaged header, are left out. False: memory is short. */
static bool put_clocks(struct recovery *r)
{
    json_t *clock = json_object_get(r->meta, "clock"), *devices = NULL;
    char *text = malloc(jsonl_clocks_bound());
    json_error_t fault;

    if (!text) return false;
    devices = json_loadb(text, (size_t)(jsonl_clocks(text, r->file.header) - text), 0, &fault);
    free(text);
    if (!devices) return json_error_code(&fault) == json_error_numeric_overflow;
    if (clock) return json_object_set_new(clock, "devices", devices) == 0 && put_host_clock(r, clock);
    json_decref(devices);
    return true;
}

/* It was training after all; doc/spec/trace.md 13.7. A correlation that is not the default one stays. */
static void be_training(json_t *meta)
{
    const char *entrypoint = json_string_value(json_object_get(meta, "entrypoint"));
    const char *now = json_string_value(json_object_get(meta, "correlation_id"));
    json_int_t step = json_integer_value(json_object_get(meta, "capture_step"));
    json_t *inference = json_sprintf("%s/inference-%lld", entrypoint, (long long)step);

    json_object_set_new(meta, "phase", json_string(cg_name_PHASE[CG_PHASE_TRAIN]));
    if (now && inference && strcmp(now, json_string_value(inference)) == 0)
        json_object_set_new(meta, "correlation_id",
                            json_sprintf("%s/update-%lld", entrypoint, (long long)step));
    json_decref(inference);
}

/* Readers refuse the whole trace for its first line: tried with nothing behind it but an end. */
static int try_meta(struct recovery *r, struct cg_error *error)
{
    static const char end[] = "\n{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":0}\n";
    size_t length = json_dumpb(r->meta, NULL, 0, JSON_COMPACT);
    char *text = malloc(length + sizeof end);
    struct cg_error fault = {0};
    struct cg_trace *trace = NULL;
    int status;

    if (!text) return cg_out_of_memory(error);
    json_dumpb(r->meta, text, length, JSON_COMPACT);
    memcpy(text + length, end, sizeof end);
    status = trace_load_bytes(r->path, text, length + sizeof end - 1, NULL, &trace, &fault);
    trace_free(trace);
    free(text);
    if (status == CG_EXIT_INPUT)
        return cg_fail(error, CG_EXIT_INPUT, "%s: the run's description in its header is damaged", r->path);
    if (status != 0) *error = fault;
    return status;
}

/* The first line as the recorder left it, with what it would have settled at the end. */
static int settle_meta(struct recovery *r, struct cg_error *error)
{
    const struct cap_written *written = &r->state.written;
    json_error_t fault;
    json_t *contract, *entrypoint;

    r->meta = json_loads(r->file.meta, JSON_ALLOW_NUL, &fault);
    contract = json_object_get(r->meta, "capture_contract");
    entrypoint = json_object_get(r->meta, "entrypoint");
    if (!json_is_object(contract) || !json_is_string(entrypoint))
        return cg_fail(error, CG_EXIT_INPUT, "%s: the run's description in its header is damaged", r->path);
    set_level(contract, "operations", written->op_lines);
    set_level(contract, "logical_memory", written->memory_lines);
    set_level(contract, "physical_memory", written->records[CAP_SAMPLE]);
    set_level(contract, "device_timing", written->records[CAP_INTERVAL] + written->records[CAP_API_INTERVAL]);
    set_level(contract, "tensors", written->records[CAP_TENSOR]);
    set_level(contract, "gradients", written->records[CAP_GRADIENT]);
    if (written->records[CAP_API_OP])
        set_level(contract, "activations", written->records[CAP_TENSOR] + written->records[CAP_API_ALLOC]);
    if (!put_clocks(r)) return cg_fail(error, CG_EXIT_IO, "%s: memory is short", r->path);
    if (written->first_device)
        json_object_set_new(r->meta, "device", json_sprintf("cuda:%u", written->first_device - 1));
    if (written->steps & (1u << CG_STEP_BACKWARD | 1u << CG_STEP_OPTIMIZER)) be_training(r->meta);
    return try_meta(r, error);
}

static int put_json_line(const char *bytes, size_t length, void *output)
{
    return output_write(output, bytes, length) ? -1 : 0;
}

static int put_own_spans(struct recovery *r, struct output *output)
{
    const char *name = json_string_value(json_object_get(r->meta, "entrypoint"));
    size_t length = strlen(name);
    const struct cap_region *region = &r->file.header->region;
    char *text = malloc(6 * length + 1024 + jsonl_region_bound(&r->state, region)), *out = text;
    int failure;

    if (!text) return ENOMEM;
    out = jsonl_root(out, name, length);
    out = jsonl_region(&r->state, out, region);
    failure = output_write(output, text, (size_t)(out - text));
    free(text);
    return failure;
}

static int put_terminal(struct recovery *r, struct output *output)
{
    struct jsonl_lost threads[CAP_RINGS_MAX];
    uint64_t gaps[CAP_GAP_COUNT], untimed[CAP_UNTIMED_COUNT];
    struct jsonl_end end = {.reason = r->report->reason,
                            .ns = r->state.written.latest_ns,
                            .end = "recovered",
                            .recorded = r->state.written.records,
                            .gaps = gaps,
                            .untimed = untimed,
                            .unread = atomic_load(&r->file.header->pending),
                            .timing_ns = atomic_load(&r->file.header->timing_ns),
                            .threads = threads,
                            .without_ring = atomic_load(&r->file.header->lost_without_ring),
                            .not_written = r->published.not_written,
                            .overhead_ns = UINT64_MAX};
    int failure;
    char *line;

    for (int gap = 0; gap < CAP_GAP_COUNT; gap++)
        gaps[gap] = atomic_load(&r->file.header->gaps[gap]);
    for (int why = 0; why < CAP_UNTIMED_COUNT; why++)
        untimed[why] = atomic_load(&r->file.header->untimed[why]);
    untimed[CAP_UNTIMED_BUDGET] += r->state.written.skipped;
    end.lost = end.without_ring + end.not_written + atomic_load(&r->file.header->lost_retired);
    for (uint32_t i = 0; i < r->file.ring_count; i++) {
        if (!r->rests[i].lost) continue;
        threads[end.thread_count++] = (struct jsonl_lost){r->rests[i].tid, r->rests[i].lost};
        end.lost += r->rests[i].lost;
    }
    r->report->lost = end.lost;
    line = malloc(jsonl_end_bound(&end));
    if (!line) return ENOMEM;
    failure = output_write(output, line, (size_t)(jsonl_end_write(line, &end) - line));
    free(line);
    return failure;
}

/* Why it could not be completed: what a launcher wrote down, or that nobody did. */
static void find_reason(struct recovery *r)
{
    char path[4096], *end;
    FILE *file;

    snprintf(path, sizeof path, "%s" CAP_END_SUFFIX, r->path);
    snprintf(r->report->reason, sizeof r->report->reason, "%s",
             r->report->running ? "the program is still running"
                                : "the program ended before its trace was complete; how is unknown");
    int fd = r->report->running ? -1 : open_file(path);
    file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0) close(fd);
        return;
    }
    if (fgets(path, sizeof r->report->reason, file) != NULL) {
        for (end = path; *end && *end != '\n'; end++)
            ;
        *end = '\0';
        if (!cg_text_blank((struct cg_text){path, strlen(path)}))
            snprintf(r->report->reason, sizeof r->report->reason, "%s", path);
    }
    fclose(file);
}

/* ---- the whole ---- */

static int write_trace(struct recovery *r, const char *path, struct cg_error *error)
{
    struct output output;
    int status = output_open(&output, path, error), failure;

    if (status != 0) return status;
    failure = json_dump_callback(r->meta, put_json_line, &output, JSON_COMPACT) ? EIO : 0;
    if (!failure) failure = output_write(&output, "\n", 1);
    if (!failure && !r->part.has_spans) failure = put_own_spans(r, &output);
    if (!failure && r->part.fd >= 0) status = part_copy(&r->part, &output, error);
    if (!failure && status == 0) {
        r->state.written = r->published.written;
        memset(r->state.whole, 0, (r->state.whole_limit / 64 + 1) * sizeof *r->state.whole);
        memset(r->state.stack_whole, 0, (r->state.stack_limit / 64 + 1) * sizeof *r->state.stack_whole);
        failure = put_rings(r, &output);
    }
    if (!failure && status == 0) failure = put_terminal(r, &output);
    if (failure && status == 0) status = cg_fail(error, CG_EXIT_IO, "%s: %s", path, strerror(failure));
    if (status == 0) return output_close(&output, error);
    output_abandon(&output);
    return status;
}

static int choose_output(struct recovery *r, const char *output, struct cg_error *error)
{
    const char *const inputs[] = {r->path, r->part.fd >= 0 ? r->part_path : NULL};

    if (output) {
        snprintf(r->report->trace, sizeof r->report->trace, "%s", output);
        return output_check(output, NULL, inputs, 2, error);
    }
    beside(r->report->trace, sizeof r->report->trace, r->path, "");
    if (strcmp(r->report->trace, r->path) == 0 || access(r->report->trace, F_OK) == 0)
        return cg_fail(error, CG_EXIT_USAGE, "%s exists; name another with --output", r->report->trace);
    return 0;
}

static int recover(struct recovery *r, const char *output, bool live, struct cg_error *error)
{
    int status = open_capture(r, error);

    if (status != 0) return status;
    r->report->running = is_running(r->file.header);
    if (r->report->running && !live)
        return cg_fail(error, CG_EXIT_CONDITION,
                       "%s: process %d still records into it; --live makes a trace of what there is now",
                       r->path, r->file.header->pid);
    find_reason(r);
    if (!cap_file_rest(&r->file, r->rests, &r->published))
        return cg_fail(error, CG_EXIT_IO, "%s: memory is short", r->path);
    recovery_mend_slots(r);
    r->part.keep_spans = recovery_has_intervals(r);
    status = open_part(r, error);
    if (status == 0) status = choose_output(r, output, error);
    if (status != 0) return status;
    if (!start_state(r) || !recovery_mend(r) || put_rings(r, NULL) != 0)
        return cg_fail(error, CG_EXIT_IO, "%s: memory is short", r->path);
    for (uint32_t i = 0; i < r->file.ring_count; i++)
        for (uint64_t n = 0; n < r->rests[i].count; n += r->rests[i].slots[n].slots)
            r->report->ring_records += r->rests[i].slots[n].type != CAP_PAD;
    r->report->open_spans = r->part.open_spans.count;
    r->report->live_storages = r->part.live_storages.count + r->part.live_frameworks.count;
    status = settle_meta(r, error);
    return status == 0 ? write_trace(r, r->report->trace, error) : status;
}

int recover_trace(const char *capture, const char *output, bool live, struct recover_report *report,
                  struct cg_error *error)
{
    struct recovery *r = calloc(1, sizeof *r);
    int status;

    memset(report, 0, sizeof *report);
    if (!r) return cg_fail(error, CG_EXIT_IO, "memory is short");
    r->path = capture;
    r->part.fd = -1;
    r->report = report;
    status = recover(r, output, live, error);
    if (r->part.fd >= 0) close(r->part.fd);
    if (r->file.bytes) munmap((void *)r->file.bytes, r->file.size);
    cap_rest_free(r->rests);
    number_set_free(&r->part.open_spans);
    number_set_free(&r->part.live_storages);
    number_set_free(&r->part.live_frameworks);
    number_set_free(&r->part.spans);
    free((void *)r->state.apis);
    free(r->state.whole);
    free(r->state.stack_whole);
    symbols_free(&r->symbols);
    json_decref(r->meta);
    free(r);
    return status;
}
