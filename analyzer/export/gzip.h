/* A sink that compresses what it gets on its way to another. */
#ifndef CGTRACE_ANALYZER_EXPORT_GZIP_H
#define CGTRACE_ANALYZER_EXPORT_GZIP_H

#include <zlib.h>

#include "common/json_doc.h"

struct gzip {
    z_stream stream;
    json_sink *sink;
    void *context;
    int failure; /* errno value; sticky */
};

/* The same bytes give the same file: the header has no time and no name. 0 or ENOMEM; after 0 gzip_end()
 * must follow. */
int gzip_start(struct gzip *gzip, json_sink *sink, void *context);
/* A json_sink: context is the struct gzip. */
int gzip_write(void *context, const char *bytes, size_t length);
/* Writes the rest; 0 or the errno value of the first failure. */
int gzip_end(struct gzip *gzip);

#endif
