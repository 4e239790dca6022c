#include "analyzer/export/gzip.h"

#include <errno.h>
#include <limits.h>

enum { WINDOW_BITS = 15, GZIP_WRAPPER = 16, MEMORY_LEVEL = 8 };

int gzip_start(struct gzip *gzip, json_sink *sink, void *context)
{
    *gzip = (struct gzip){.sink = sink, .context = context};
    int status = deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP_WRAPPER,
                              MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    return status == Z_OK ? 0 : ENOMEM;
}

/* Compresses what the stream was given; with Z_FINISH to the end. */
static void drain(struct gzip *gzip, int flush)
{
    unsigned char out[16384];
    do {
        gzip->stream.next_out = out;
        gzip->stream.avail_out = sizeof out;
        deflate(&gzip->stream, flush);
        size_t made = sizeof out - gzip->stream.avail_out;
        if (made && !gzip->failure) gzip->failure = gzip->sink(gzip->context, (const char *)out, made);
    } while (gzip->stream.avail_out == 0);
}

int gzip_write(void *context, const char *bytes, size_t length)
{
    struct gzip *gzip = context;
    while (length && !gzip->failure) {
        unsigned part = length < UINT_MAX ? (unsigned)length : UINT_MAX;
        gzip->stream.next_in = (unsigned char *)(uintptr_t)bytes;
        gzip->stream.avail_in = part;
        drain(gzip, Z_NO_FLUSH);
        bytes += part;
        length -= part;
    }
    return gzip->failure;
}

int gzip_end(struct gzip *gzip)
{
    if (!gzip->failure) drain(gzip, Z_FINISH);
    deflateEnd(&gzip->stream);
    return gzip->failure;
}
