#include "analyzer/viewer/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libdeflate.h>

#include "analyzer/planes/array.h"
#include "analyzer/trace/jobs.h"

/* On columns of a noisy trace of 10 million records level 5 takes half the time of zlib's and makes 1 % less
 * of them; level 1 takes half of that again and makes 1 % more. */
enum { LEVEL = 5, LEVEL_LARGE = 1, LARGE = 1 << 20 };

static const char part_begin[] = "<script type=\"application/octet-stream\" id=\"part-",
                  part_middle[] = "\">", part_end[] = "</script>\n";

bool parts_add(struct parts *parts, const char *name, struct buffer *raw)
{
    struct part part = {.raw = *raw};
    *raw = (struct buffer){0};
    if (part.raw.failed || !array_room(&parts->list, parts->count, &parts->capacity, sizeof *parts->list)) {
        buffer_free(&part.raw);
        return false;
    }
    snprintf(part.name, sizeof part.name, "%s", name);
    parts->list[parts->count++] = part;
    return true;
}

bool part_pack(struct part *part)
{
    struct libdeflate_compressor *compressor =
        libdeflate_alloc_compressor(part->raw.used < LARGE ? LEVEL : LEVEL_LARGE);
    size_t bound = compressor ? libdeflate_zlib_compress_bound(compressor, part->raw.used) : 0;
    bool good = compressor && buffer_reserve(&part->packed, bound);
    if (good) {
        static const uint8_t nothing[1];
        part->packed.used = libdeflate_zlib_compress(compressor, part->raw.bytes ? part->raw.bytes : nothing,
                                                     part->raw.used, part->packed.bytes, bound);
        array_trim(&part->packed.bytes, part->packed.used, 1);
        part->packed.room = part->packed.used;
    }
    libdeflate_free_compressor(compressor);
    buffer_free(&part->raw);
    return good;
}

static bool pack(void *part)
{
    return part_pack(part);
}

static int compare_raw(const void *left, const void *right)
{
    const struct part *a = ((const struct job *)left)->context, *b = ((const struct job *)right)->context;
    return (a->raw.used < b->raw.used) - (a->raw.used > b->raw.used);
}

bool parts_pack(struct parts *parts, unsigned threads)
{
    struct job *jobs = array_raw(parts->count, sizeof *jobs);
    size_t count = 0;
    if (!jobs) return false;
    for (size_t i = 0; i < parts->count; i++)
        if (!parts->list[i].packed.bytes)
            jobs[count++] = (struct job){.run = pack, .context = &parts->list[i]};
    qsort(jobs, count, sizeof *jobs, compare_raw);
    bool good = jobs_run(jobs, count, threads);
    free(jobs);
    return good;
}

bool parts_add_copies(struct parts *parts, const char *name, const struct buffer *columns, size_t count)
{
    struct buffer raw = {0};
    size_t sum = 0;
    buffer_number(&raw, count);
    for (size_t i = 0; i < count; i++) {
        buffer_number(&raw, columns[i].used);
        sum += columns[i].used;
    }
    buffer_reserve(&raw, sum);
    for (size_t i = 0; i < count; i++) {
        raw.failed |= columns[i].failed;
        buffer_add(&raw, columns[i].bytes, columns[i].used);
    }
    return parts_add(parts, name, &raw);
}

bool parts_add_columns(struct parts *parts, const char *name, struct buffer *columns, size_t count)
{
    bool good = parts_add_copies(parts, name, columns, count);
    for (size_t i = 0; i < count; i++)
        buffer_free(&columns[i]);
    return good;
}

uint64_t part_size(const struct part *part)
{
    return (part->packed.used + 2) / 3 * 4 + strlen(part->name) + sizeof part_begin + sizeof part_middle +
           sizeof part_end - 3;
}

uint64_t parts_size(const struct parts *parts)
{
    uint64_t size = 0;
    for (size_t i = 0; i < parts->count; i++)
        size += part_size(&parts->list[i]);
    return size;
}

void parts_cut(struct parts *parts, size_t first)
{
    while (parts->count > first) {
        struct part *part = &parts->list[--parts->count];
        buffer_free(&part->raw);
        buffer_free(&part->packed);
    }
}

void parts_free(struct parts *parts)
{
    parts_cut(parts, 0);
    free(parts->list);
    *parts = (struct parts){0};
}

bool parts_move(struct parts *to, struct parts *from)
{
    if (from->count > to->capacity - to->count) {
        size_t capacity = to->count + from->count;
        struct part *moved = reallocarray(to->list, capacity, sizeof *moved);
        if (!moved) return false;
        to->list = moved;
        to->capacity = capacity;
    }
    for (size_t i = 0; i < from->count; i++)
        to->list[to->count++] = from->list[i];
    from->count = 0;
    return true;
}

static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Two digits of base64 at a time, by their twelve bits: nothing else is done while the page is written, and
 * of 12 MB that takes half as long as digit by digit. */
struct digits {
    char pair[4096][2];
};

static void digits_make(struct digits *digits)
{
    for (unsigned i = 0; i < 4096; i++) {
        digits->pair[i][0] = digit[i >> 6];
        digits->pair[i][1] = digit[i & 63];
    }
}

static size_t encode(const struct digits *digits, const uint8_t *bytes, size_t length, char *out)
{
    char *at = out;
    for (; length >= 3; length -= 3, bytes += 3, at += 4) {
        uint32_t group = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        memcpy(at, digits->pair[group >> 12], 2);
        memcpy(at + 2, digits->pair[group & 4095], 2);
    }
    if (length) {
        uint32_t group = (uint32_t)bytes[0] << 16 | (length == 2 ? (uint32_t)bytes[1] << 8 : 0);
        *at++ = digit[group >> 18];
        *at++ = digit[group >> 12 & 63];
        *at++ = length == 2 ? digit[group >> 6 & 63] : '=';
        *at++ = '=';
    }
    return (size_t)(at - out);
}

static int write_base64(const struct digits *digits, const struct buffer *packed, json_sink *sink,
                        void *context)
{
    enum { PIECE = 3 * 4096 };
    char text[PIECE / 3 * 4];
    for (size_t at = 0; at < packed->used; at += PIECE) {
        size_t length = packed->used - at < PIECE ? packed->used - at : PIECE;
        int failure = sink(context, text, encode(digits, packed->bytes + at, length, text));
        if (failure) return failure;
    }
    return 0;
}

int parts_write(const struct parts *parts, json_sink *sink, void *context)
{
    int failure = 0;
    struct digits digits;
    digits_make(&digits);
    for (size_t i = 0; i < parts->count && !failure; i++) {
        const struct part *part = &parts->list[i];
        failure = sink(context, part_begin, sizeof part_begin - 1);
        if (!failure) failure = sink(context, part->name, strlen(part->name));
        if (!failure) failure = sink(context, part_middle, sizeof part_middle - 1);
        if (!failure) failure = write_base64(&digits, &part->packed, sink, context);
        if (!failure) failure = sink(context, part_end, sizeof part_end - 1);
    }
    return failure;
}
