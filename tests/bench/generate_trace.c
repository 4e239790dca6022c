/* Writes a valid trace of any size to standard output, always the same one for the same arguments.
 *
 * usage: generate-trace mixed|noisy|deep|wide COUNT
 *   mixed  COUNT records of a training step: spans, allocations and frees with 5,000 storages alive,
 *          operations, device intervals and samples; about 205 bytes a record, 4.9 million are 1 GB
 *   noisy  the same with times and durations as uneven as those of a real run
 *   deep   COUNT spans in chains that are 1,000 deep
 *   wide   COUNT spans under one parent */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE = 5000, DEPTH = 1000, BUFFER = 2 << 20, RECORD_MOST = 4096 };

static uint64_t now, records;
static bool noisy;

/* The even time; when noisy one from least to 16 times that, by the generator of Marsaglia (Xorshift RNGs,
 * 2003). */
static uint64_t time_of(uint64_t even, uint64_t least)
{
    static uint64_t state = 88172645463325252;
    if (!noisy) return even;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return least + state % (15 * least);
}

/* Whole records, 2 MB of them at a time, as the recorder writes them: how large the pieces were tells how a
 * file lies in memory, and so how quickly it is read. */
static void end_record(void)
{
    records++;
    if (__fpending(stdout) > BUFFER - RECORD_MOST) fflush(stdout);
}

static void write_meta(const char *shape)
{
    printf("{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/"
           "10\",\"run_id\":\"generated-%s\",\"correlation_id\":"
           "\"generated/update-1\",\"entrypoint\":\"generated\",\"phase\":\"train\",\"timestamp\":"
           "\"2026-01-01T00:00:00.000Z\",\"capture_step\":1,\"warmup_steps\":0,\"device\":\"cuda:0\","
           "\"measured_region_device_synchronized\":true,\"timing_mode\":\"host\",\"capture_contract\":"
           "{\"measurement_scope\":\"profiled_work\",\"operations\":\"partial\",\"activations\":\"none\","
           "\"tensors\":"
           "\"none\",\"gradients\":\"none\",\"logical_memory\":\"partial\",\"physical_memory\":\"partial\","
           "\"device_timing\":\"partial\",\"required_semantic_labels\":[]},\"tags\":{}}\n",
           shape);
    end_record();
}

static void start_span(uint64_t id, int64_t parent, const char *name, const char *more)
{
    printf("{\"kind\":\"span_start\",\"id\":\"span:%" PRIu64 "\"", id);
    if (parent >= 0) printf(",\"parent_id\":\"span:%" PRId64 "\"", parent);
    printf(",\"name\":\"%s\",\"start_ns\":%" PRIu64 ",\"span_kind\":\"function\"%s}\n", name, now, more);
    end_record();
}

static void end_span(uint64_t id, uint64_t start)
{
    printf("{\"kind\":\"span_end\",\"id\":\"span:%" PRIu64 "\",\"duration_ns\":%" PRIu64 "}\n", id,
           now - start);
    end_record();
}

/* Storage n; its size follows from its number, so that the free has the same. */
static void write_memory(const char *action, uint64_t storage, uint64_t span)
{
    printf("{\"kind\":\"memory\",\"timestamp_ns\":%" PRIu64 ",\"storage_id\":\"%" PRIx64
           "\",\"tensor_id\":\"%" PRIx64 "\",\"span_id\":\"span:%" PRIu64
           "\",\"device\":\"cuda:0\",\"bytes\":%" PRIu64 ",\"action\":\"%s\",\"shape\":"
           "[%" PRIu64 ",256],\"dtype\":\"f32\",\"category\":\"activation\"}\n",
           now, 0x7f0000000000 + storage * 512, 0x7f0000000000 + storage * 512, span,
           (storage % 61 + 1) * 1024, action, storage % 61 + 1);
    end_record();
}

static void write_op(uint64_t number, uint64_t span)
{
    static const char *const names[] = {"cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemsetD8Async",
                                        "cuLaunchKernelEx"};
    printf("{\"kind\":\"op\",\"span_id\":\"span:%" PRIu64
           "\",\"op_name\":\"%s\",\"shape\":[],\"dtype\":\"unknown\","
           "\"device\":\"cuda:0\",\"duration_ns\":%" PRIu64 ",\"timestamp_ns\":%" PRIu64
           ",\"input_dense_bytes\":0,\"tid\":4242,"
           "\"correlation\":%" PRIu64 "}\n",
           span, names[number % 4], time_of(4, 4), now, number);
    end_record();
}

static void write_interval(uint64_t number, uint64_t span)
{
    printf("{\"kind\":\"device_interval\",\"span_id\":\"span:%" PRIu64
           "\",\"device\":\"cuda:0\",\"stream_id\":"
           "\"stream:%" PRIu64 "\",\"clock_id\":\"cuda:0\",\"backend\":\"cuda_events\",\"start_ns\":%" PRIu64
           ",\"duration_ns\":%" PRIu64 ",\"activity\":\"kernel\",\"correlation\":%" PRIu64 "}\n",
           span, number % 4, now, time_of(number % 97 + 5, 200), number);
    end_record();
}

static void write_sample(void)
{
    printf("{\"kind\":\"device_memory\",\"timestamp_ns\":%" PRIu64
           ",\"device\":\"cuda:0\",\"used_bytes\":%" PRIu64 ",\"capacity_bytes\":85899345920}\n",
           now, (now % 1009 + 1) << 20);
    end_record();
}

/* One span with the work of one layer. */
static void write_layer(uint64_t layer, uint64_t *allocated, uint64_t *ops)
{
    static const char *const steps[] = {",\"step\":\"forward\"", ",\"step\":\"backward\"",
                                        ",\"step\":\"optimizer\""};
    uint64_t span = layer + 2, start = ++now;
    char name[48];
    snprintf(name, sizeof name, "encoder.layer.%" PRIu64 ".attention", layer % 48);
    start_span(span, 1, name, steps[layer % 3]);
    for (int i = 0; i < 5; i++) {
        now += time_of(10, 300);
        write_memory("alloc", *allocated, span);
        if (*allocated >= LIVE) write_memory("free", *allocated - LIVE, span);
        ++*allocated;
        if (i % 2 == 1) {
            write_op(*ops, span);
            write_interval((*ops)++, span);
        }
    }
    if (layer % 16 == 0) write_sample();
    now += 10;
    end_span(span, start);
}

static void write_mixed(uint64_t count)
{
    uint64_t allocated = 0, ops = 0;
    for (uint64_t layer = 0; records + 24 < count; layer++)
        write_layer(layer, &allocated, &ops);
}

static void write_deep(uint64_t count)
{
    static uint64_t starts[DEPTH];
    for (uint64_t done = 0; done < count;) {
        uint64_t chain = count - done < DEPTH ? count - done : DEPTH, first = done + 2;
        for (uint64_t i = 0; i < chain; i++) {
            starts[i] = ++now;
            start_span(first + i, i == 0 ? 1 : (int64_t)(first + i - 1), "f", "");
        }
        for (uint64_t i = chain; i-- > 0;) {
            ++now;
            end_span(first + i, starts[i]);
        }
        done += chain;
    }
}

static void write_wide(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = ++now;
        start_span(i + 2, 1, "f", "");
        ++now;
        end_span(i + 2, start);
    }
}

int main(int argc, char **argv)
{
    char *end = NULL;
    errno = 0;
    uint64_t count = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
    noisy = argc == 3 && strcmp(argv[1], "noisy") == 0;
    void (*write)(uint64_t) = argc != 3                                ? NULL
                              : noisy || strcmp(argv[1], "mixed") == 0 ? write_mixed
                              : strcmp(argv[1], "deep") == 0           ? write_deep
                              : strcmp(argv[1], "wide") == 0           ? write_wide
                                                                       : NULL;
    if (write == NULL || errno != 0 || *argv[2] < '0' || *argv[2] > '9' || *end != '\0') {
        fprintf(stderr, "usage: generate-trace mixed|noisy|deep|wide COUNT\n");
        return 2;
    }
    static char buffer[BUFFER];
    setvbuf(stdout, buffer, _IOFBF, BUFFER);
    write_meta(argv[1]);
    start_span(0, -1, "session", "");
    start_span(1, 0, "train_step", ",\"measured\":true");
    write(count);
    ++now;
    end_span(1, 0);
    end_span(0, 0);
    printf("{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%" PRIu64 "}\n", now);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("generate-trace: writing failed");
        return 5;
    }
    return 0;
}
