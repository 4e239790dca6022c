/* libFuzzer: a small capture file with its `.part`, both changed at the places that the input names:
 * recovered into a trace that readers take, or refused in one line with status 3.
 *
 * The input is a list of changes: which part of them (1 byte), where in it (2), how many bytes (1), those
 * bytes. The checksums of both publications are made right again when its length is even. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/recover/recover.h"
#include "common/capture_read.h"
#include "tests/fuzz/files.h"

enum { RINGS = 3, SLOTS = 64, STRINGS = 1024, META = 1024 };

static const char strings[] = "\0\0\0\0\0\0\0\0"                      /* number 0: the empty one */
                              "\x0d\0\0\0cuMemAlloc_v2\0\0\0\0\0\0\0" /* 1 */
                              "\x0c\0\0\0cuMemFree_v2"                /* 4 */
                              "\x07\0\0\0process\0\0\0\0"             /* 6 */
                              "\x03\0\0\5fwd\0";                      /* 8 */
static const char meta[] = "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/"
                           "10\",\"run_id\":\"r\",\"correlation_id\":\"e/inference-1\",\"entrypoint\":\"e\","
                           "\"phase\":\"infer\",\"timestamp\":\"2026-11-29T22:29:43.227Z\",\"capture_step\":"
                           "1,\"warmup_steps\":0,\"device\":\"cpu\","
                           "\"measured_region_device_synchronized\":false,\"timing_mode\":\"host\",\"capture_"
                           "contract\":{\"measurement_scope\":\"unknown\","
                           "\"operations\":\"partial\",\"activations\":\"none\",\"tensors\":\"none\","
                           "\"gradients\":\"none\",\"logical_memory\":\"partial\","
                           "\"physical_memory\":\"partial\",\"device_timing\":\"none\",\"required_semantic_"
                           "labels\":[]},\"tags\":{},\"clock\":{}}";
static const char part_text[] = " \n{\"kind\":\"span_start\",\"id\":\"span:1\",\"name\":\"e\",\"start_ns\":0,"
                                "\"span_kind\":\"function\",\"measured\":false}\n"
                                "{\"kind\":\"span_start\",\"id\":\"span:2\",\"parent_id\":\"span:1\","
                                "\"name\":\"process\",\"start_ns\":0,\"span_kind\":\"function\","
                                "\"measured\":true}\n";

struct image {
    char front[sizeof(struct cap_header) + META] __attribute__((aligned(64))); /* the header and its text */
    struct cap_publication publication[2];
    struct cap_ring rings[CAP_RINGS_MAX] __attribute__((aligned(64)));
    char strings[STRINGS];
    struct cap_record slots[RINGS][SLOTS];
};
static struct image base, image;
static char part[sizeof part_text]; /* as changed */
#define HEADER(of) ((struct cap_header *)(void *)(of).front)

static void make_ring(uint32_t index)
{
    struct cap_ring *ring = &base.rings[index];
    uint64_t address = 0x1000 * (index + 1);

    ring->slots_offset = offsetof(struct image, slots) + index * sizeof base.slots[0];
    ring->slots = SLOTS;
    ring->state = CAP_RING_OWNED;
    ring->tid = (int32_t)(10 + index);
    for (uint32_t i = 0; i < 24; i++) {
        struct cap_record *record = &base.slots[index][i];
        *record = (struct cap_record){.begin = 100 * (i + 1), .span = 2, .slots = 1, .ticks = 5};
        record->type = (uint8_t)(i % CAP_TYPE_COUNT);
        if (i % 4 == 1) record->slots = 2;
        if (record->type == CAP_ALLOC || record->type == CAP_FREE) {
            record->memory.address = address;
            record->memory.bytes = 64;
            record->memory.storage = index + 1;
        }
    }
    ring->head = 24;
}

static void make_base(void)
{
    struct cap_header *header = HEADER(base);

    memcpy(header->magic, CAP_MAGIC, sizeof header->magic);
    header->version = CAP_VERSION;
    header->endian = CAP_ENDIAN;
    header->file_bytes = sizeof base;
    header->publication_offset = offsetof(struct image, publication);
    header->rings_offset = offsetof(struct image, rings);
    header->strings_offset = offsetof(struct image, strings);
    header->strings_bytes = STRINGS;
    header->strings_used = sizeof strings - 1;
    header->api_count = 2;
    header->api_first = 1;
    header->pid = 1 << 30;
    header->clock = (struct cap_clock){.shift = 1, .mult = 2, .tick0 = 1};
    header->rings_used = RINGS;
    header->region = (struct cap_region){.name = 6, .outside = CAP_SPAN_REGION, .source = CAP_SOURCE_REGION};
    memcpy(header->meta, meta, sizeof meta);
    memcpy(base.strings, strings, sizeof strings);
    for (uint32_t i = 0; i < RINGS; i++)
        make_ring(i);
    for (int i = 0; i < 2; i++) {
        base.publication[i].sequence = (uint64_t)i + 1;
        base.publication[i].part_bytes = sizeof part_text - 1;
        base.publication[i].meta_room = 1;
        base.publication[i].rings = RINGS;
    }
}

static void change(const uint8_t *bytes, size_t length)
{
    const struct {
        void *at;
        size_t size;
    } parts[] = {{image.front, offsetof(struct cap_header, part_path)},
                 {HEADER(image)->meta, META},
                 {image.publication, sizeof image.publication},
                 {image.rings, RINGS * sizeof image.rings[0]},
                 {image.strings, STRINGS},
                 {part, sizeof part_text - 1},
                 {image.slots, sizeof image.slots},
                 {image.slots, sizeof image.slots}};

    while (length >= 5) {
        size_t which = bytes[0] % (sizeof parts / sizeof *parts), count = bytes[3] % 64u + 1u;
        size_t at = (size_t)(bytes[1] | bytes[2] << 8) % parts[which].size;

        if (count > length - 4) count = length - 4;
        if (count > parts[which].size - at) count = parts[which].size - at;
        memcpy((char *)parts[which].at + at, bytes + 4, count);
        bytes += 4 + count;
        length -= 4 + count;
    }
}

static void check(const char *path)
{
    struct cg_trace *trace;
    struct cg_error error = {0};

    int status = trace_load(path, NULL, &trace, &error);
    /* What was written before is taken over as it is. */
    if (status == CG_EXIT_INPUT && memcmp(part, part_text, sizeof part) != 0) return;
    if (status != CG_EXIT_DONE) {
        write(STDERR_FILENO, error.message, strlen(error.message));
        abort();
    }
    trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct recover_report report;
    struct cg_error error = {0};

    if (!HEADER(base)->version) make_base();
    image = base;
    memcpy(part, part_text, sizeof part);
    change(bytes, length);
    HEADER(image)->part_path[0] = '\0'; /* not other files of this machine */
    if (length % 2 == 0)
        for (int i = 0; i < 2; i++)
            if (image.publication[i].rings <= CAP_RINGS_MAX)
                image.publication[i].checksum = cap_publication_checksum(&image.publication[i]);
    fuzz_put("t.jsonl.cgt", &image, sizeof image);
    fuzz_put("t.jsonl.part", part, sizeof part - 1);
    int status = recover_trace(fuzz_path("t.jsonl.cgt"), fuzz_path("t.jsonl"), true, &report, &error);
    if (status == CG_EXIT_DONE)
        check(fuzz_path("t.jsonl"));
    else if (status != CG_EXIT_INPUT || !error.message[0] || strchr(error.message, '\n'))
        abort();
    return 0;
}
