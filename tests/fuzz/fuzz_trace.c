/* libFuzzer: any bytes are a trace or are refused with a message and status 3; what is taken is consistent in
 * itself. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/trace.h"
#include "tests/fuzz/files.h"

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

/* Mostly one thread and one block, which ends where the bytes do; sometimes several threads, and blocks that
 * lines cross. */
static struct cg_load_options options_for(const uint8_t *bytes, size_t length)
{
    size_t choice = fuzz_choice(bytes, length, 32);
    return (struct cg_load_options){.extras = choice % 2 == 1,
                                    .threads = choice / 2 == 1 ? 3 : 1,
                                    .block_bytes = choice / 2 < 4 ? 64 : length + 1};
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct cg_load_options options = options_for(bytes, length);
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
