/* Lines of JSON: one object each, members added one after the other. Errors are sticky. */
#ifndef CGTRACE_ANALYZER_CONVERT_LINES_H
#define CGTRACE_ANALYZER_CONVERT_LINES_H

#include "analyzer/trace/trace.h"
#include "common/json_doc.h"

/* Begins with its sink and context; everything else zeroed. */
struct lines {
    json_sink *sink;
    void *context;
    char *buffer;
    size_t used, room;
    bool no_memory;
    int failure; /* what the sink said */
};

/* A record of this kind begins. */
void line_begin(struct lines *lines, const char *kind);
void line_text(struct lines *lines, const char *key, struct cg_text text);
void line_word(struct lines *lines, const char *key, const char *word);
void line_u64(struct lines *lines, const char *key, uint64_t value);
/* JSON as it stands. */
void line_raw(struct lines *lines, const char *key, const char *json);
/* An object or array as a member (key) or as an element (NULL); bracket is { or [. */
void line_open(struct lines *lines, const char *key, char bracket);
void line_close(struct lines *lines, char bracket);
void line_end(struct lines *lines);
/* Gives the sink what is left and frees the buffer. False when memory was short or the sink refused. */
bool lines_finish(struct lines *lines);

#endif
