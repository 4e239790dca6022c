/* Markdown for people, with texts from traces in it: whatever bytes they hold, they stay texts. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_MARKDOWN_H
#define CGTRACE_ANALYZER_EVIDENCE_MARKDOWN_H

#include "analyzer/trace/trace.h"
#include "common/json_doc.h"

struct markdown {
    json_sink *sink;
    void *context;
    int error;
    size_t length;
    char buffer[8192];
};

void md_start(struct markdown *md, json_sink *sink, void *context);
/* Writes what is held back; 0, or the sink's first errno value. */
int md_finish(struct markdown *md);

/* Markup of ours, at most 511 bytes. */
void md_line(struct markdown *md, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text on one line: a run of line breaks and controls becomes a space; in a table pipes are escaped. */
void md_text(struct markdown *md, struct cg_text text, bool table);
/* A code span: its fence is longer than any run of backticks in it; blanks keep a backtick at an end apart
 * from the fence, and an empty text visible. */
void md_code(struct markdown *md, struct cg_text text, bool table);
struct cg_text md_string(const char *text);

#endif
