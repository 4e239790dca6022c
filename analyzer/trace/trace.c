#include "analyzer/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/columns.h"
#include "analyzer/trace/index.h"
#include "analyzer/trace/stacks.h"
#include "analyzer/trace/strings.h"
#include "common/utf8.h"

void trace_free(struct cg_trace *trace)
{
    if (trace == NULL) return;
    if (trace->index == NULL) {
        columns_free(trace);
        stacks_free(trace->stacks);
    } else {
        trace_index_free(trace);
    }
    free(trace->devices);
    free(trace->clocks);
    free(trace->origin);
    strings_free(trace->strings);
    free(trace);
}

struct cg_text trace_text(const struct cg_trace *trace, cg_str string)
{
    return strings_text(trace->strings, string);
}

cg_str trace_find(const struct cg_trace *trace, const char *bytes, size_t length)
{
    return strings_find(trace->strings, bytes, length);
}

int trace_compare(const struct cg_trace *trace, cg_str a, cg_str b)
{
    struct cg_text left = trace_text(trace, a), right = trace_text(trace, b);
    size_t shorter = left.length < right.length ? left.length : right.length;
    int order = shorter > 0 ? memcmp(left.bytes, right.bytes, shorter) : 0;
    return order != 0 ? order : left.length < right.length ? -1 : left.length > right.length;
}

uint32_t trace_string_count(const struct cg_trace *trace)
{
    return trace->strings->count;
}

bool cg_text_blank(struct cg_text text)
{
    return utf8_blank(text.bytes, text.length);
}

bool trace_blank(const struct cg_trace *trace, cg_str string)
{
    return cg_text_blank(trace_text(trace, string));
}
