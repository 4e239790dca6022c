/* The page around the parts: its own code, style and markup, packed into the program when it is built. */
#ifndef CGTRACE_ANALYZER_VIEWER_PAGE_H
#define CGTRACE_ANALYZER_VIEWER_PAGE_H

#include "analyzer/viewer/parts.h"

/* Bytes of the page without parts. */
uint64_t page_size(void);
/* Through the sink; 0 or an errno value. */
int page_write(const struct parts *parts, json_sink *sink, void *context);

#endif
