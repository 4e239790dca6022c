/* The parts of a page's data: each is deflated (zlib) and written in base64, so that no byte of a trace can
 * mean anything to the browser; the page unpacks a part when it is looked at. */
#ifndef CGTRACE_ANALYZER_VIEWER_PARTS_H
#define CGTRACE_ANALYZER_VIEWER_PARTS_H

#include "analyzer/viewer/buffer.h"
#include "common/json_doc.h"

struct part {
    char name[40];
    struct buffer raw; /* until it is packed */
    struct buffer packed;
};
/* Zeroed is empty. */
struct parts {
    struct part *list;
    size_t count, capacity;
};

/* Adds a part, to be packed later. raw is taken over (also on failure). False when memory is short. */
bool parts_add(struct parts *parts, const char *name, struct buffer *raw);
/* The same of columns: their number, the length of each, then their bytes; all are given back. */
bool parts_add_columns(struct parts *parts, const char *name, struct buffer *columns, size_t count);
/* The same, and the columns stay. */
bool parts_add_copies(struct parts *parts, const char *name, const struct buffer *columns, size_t count);
/* Packs a part, so that only what is packed stays; false when memory is short. */
bool part_pack(struct part *part);
/* Packs those that are not yet, on so many threads (analyzer/trace/jobs.h). */
bool parts_pack(struct parts *parts, unsigned threads);
/* The bytes that a packed part takes on the page, with what is around it. */
uint64_t part_size(const struct part *part);
uint64_t parts_size(const struct parts *parts);
/* Drops the parts from number `first` on. */
void parts_cut(struct parts *parts, size_t first);
void parts_free(struct parts *parts);
/* Moves the parts of `from` behind those of `to`; false when memory is short, and nothing has moved. */
bool parts_move(struct parts *to, struct parts *from);

/* Through the sink: every part as an inert script element; 0 or an errno value. */
int parts_write(const struct parts *parts, json_sink *sink, void *context);

#endif
