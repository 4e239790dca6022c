#include "analyzer/recover/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/recover/frameworks.h"
#include "common/capture.h"
#include "common/json_scan.h"

enum { CHUNK = 4 << 20 }; /* no line of ours is longer */
/* No file goes on behind it: what a damaged publication says beyond it cannot be read from a file at all. */
#define REACH ((uint64_t)INT64_MAX - CHUNK)

/* The number behind prefix, when text begins with it. */
static bool number_behind(const char *text, size_t length, const char *prefix, uint64_t *number)
{
    size_t skip = strlen(prefix);
    uint64_t value = 0;

    if (length <= skip || memcmp(text, prefix, skip) != 0 || text[skip] < '0' || text[skip] > '9')
        return false;
    for (const char *at = text + skip; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    *number = value;
    return true;
}

/* A storage of a framework. Its device is as the line has it: no name of one needs an escape, or it is
 * another. */
static bool take_framework(struct part *part, const char *line, size_t length, uint64_t number,
                           bool *no_memory)
{
    static const char key[] = ",\"device\":\"";
    const char *device = memmem(line, length, key, sizeof key - 1);
    const char *end =
        device ? memchr(device + sizeof key - 1, '"', (size_t)(line + length - device) - sizeof key + 1)
               : NULL;

    if (!end) return true;
    device += sizeof key - 1;
    number = framework_key(number, device, (size_t)(end - device));
    if (memmem(line, length, "\"action\":\"alloc\"", 16))
        number_set_add(&part->live_frameworks, number, no_memory);
    else
        number_set_remove(&part->live_frameworks, number);
    return !*no_memory;
}

/* The library's own lines: order and spelling of their fields are those of common/jsonl.c. */
static bool take_line(struct part *part, const char *line, size_t length, bool *no_memory)
{
    static const char memory[] = "{\"kind\":\"memory\",\"timestamp_ns\":";
    uint64_t number;

    if (number_behind(line, length, "{\"kind\":\"span_start\",\"id\":\"span:", &number)) {
        if (number == CAP_SPAN_ROOT) part->has_spans = true;
        if (part->keep_spans) number_set_add(&part->spans, number, no_memory);
        return number_set_add(&part->open_spans, number, no_memory);
    }
    if (number_behind(line, length, "{\"kind\":\"span_end\",\"id\":\"span:", &number))
        return number_set_remove(&part->open_spans, number);
    if (number_behind(line, length, memory, &number)) {
        const char *id = memchr(line + sizeof memory, ',', length - sizeof memory);

        if (!id) return true;
        if (number_behind(id, length - (size_t)(id - line), ",\"storage_id\":\"framework:", &number))
            return take_framework(part, line, length, number, no_memory);
        if (!number_behind(id, length - (size_t)(id - line), ",\"storage_id\":\"storage:", &number))
            return true;
        if (memmem(line, length, "\"action\":\"alloc\"", 16))
            number_set_add(&part->live_storages, number, no_memory);
        else
            number_set_remove(&part->live_storages, number);
    }
    return !*no_memory;
}

/* One JSON object and nothing else; the line feed stands at line[length]. */
static bool whole(struct json_scan *scan, const char *line, size_t length)
{
    return length > 0 && line[0] == '{' && json_skip_value(scan, line, 0) == line + length;
}

/* Takes the whole lines of a buffer; how many bytes they are, and whether all were good. */
static size_t take_lines(struct part *part, const char *buffer, size_t used, bool *good, bool *no_memory)
{
    struct json_scan scan = {0};
    size_t done = 0;
    const char *feed;

    while (*good && (feed = memchr(buffer + done, '\n', used - done)) != NULL) {
        size_t length = (size_t)(feed - buffer) - done;

        *good = whole(&scan, buffer + done, length) && take_line(part, buffer + done, length, no_memory);
        if (*good) done += length + 1;
    }
    *no_memory |= scan.no_memory;
    json_scan_free(&scan);
    return done;
}

int part_scan(struct part *part, uint64_t begin, uint64_t limit, struct cg_error *error)
{
    char *buffer = calloc(1, CHUNK + JSON_PADDING);
    bool good = true, no_memory = buffer == NULL;
    uint64_t at = begin;
    size_t used = 0;

    if (limit > REACH) limit = REACH;
    part->begin = part->end = begin;
    while (!no_memory && good && at < limit) {
        size_t want = CHUNK - used, done;
        ssize_t got;

        if (want > limit - at) want = (size_t)(limit - at);
        got = want > 0 ? pread(part->fd, buffer + used, want, (off_t)at) : 0;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            free(buffer);
            return cg_fail(error, CG_EXIT_IO, "%s: %s", part->path, strerror(errno));
        }
        if (got == 0) break; /* shorter than published, or a line over CHUNK */
        used += (size_t)got;
        at += (uint64_t)got;
        done = take_lines(part, buffer, used, &good, &no_memory);
        memmove(buffer, buffer + done, used - done);
        used -= done;
        part->end += done;
    }
    free(buffer);
    return no_memory ? cg_fail(error, CG_EXIT_IO, "%s: memory is short", part->path) : 0;
}

int part_copy(const struct part *part, struct output *output, struct cg_error *error)
{
    char *buffer = malloc(CHUNK);
    uint64_t at = part->begin;
    int failure = buffer ? 0 : ENOMEM;

    while (!failure && at < part->end) {
        size_t want = part->end - at < CHUNK ? (size_t)(part->end - at) : CHUNK;
        ssize_t got = pread(part->fd, buffer, want, (off_t)at);

        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            failure = got < 0 ? errno : EIO;
            break;
        }
        failure = output_write(output, buffer, (size_t)got);
        at += (uint64_t)got;
    }
    free(buffer);
    return failure ? cg_fail(error, CG_EXIT_IO, "%s: %s", part->path, strerror(failure)) : 0;
}
