/* libFuzzer: any bytes are a trace or are refused with a message and status 3; what is taken is consistent in
 * itself. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check(const struct cg_trace *trace)
{
    uint32_t strings = trace_string_count(trace);
    for (uint32_t row = 0; row < trace->span.rows; row++) {
        cg_str id = trace->span.id[row];
        if (id == CG_ABSENT || id > strings || trace_span(trace, id) != row) abort();
        if (row > 0 && trace_compare(trace, trace->span.id[row - 1], id) >= 0) abort();
        if (trace_span_end(trace, row) > trace->terminal.timestamp_ns) abort();
    }
    for (cg_str string = 1; string <= strings; string++) {
        struct cg_text text = trace_text(trace, string);
        if (trace_find(trace, text.bytes, text.length) != string) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct cg_load_options options = {.extras = length % 2 == 1};
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    int status = trace_load_bytes("fuzz", bytes, length, &options, &trace, &error);
    if (status == CG_EXIT_DONE)
        check(trace);
    else if (status != CG_EXIT_INPUT || strncmp(error.message, "fuzz:", 5) != 0 || trace != NULL)
        abort();
    trace_free(trace);
    return 0;
}
