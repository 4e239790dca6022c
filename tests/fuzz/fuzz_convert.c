/* libFuzzer: a file of another tool, Chrome's JSON or a pickle. Refused in one line, or a trace that is
 * accepted and has no error, whatever the file held. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/convert/convert.h"
#include "analyzer/planes/planes.h"

struct written {
    char *bytes;
    size_t length, room;
};

static int collect(void *context, const char *bytes, size_t length)
{
    struct written *written = context;
    if (written->length + length > written->room) {
        written->room = 2 * (written->length + length);
        written->bytes = realloc(written->bytes, written->room);
        if (!written->bytes) abort();
    }
    memcpy(written->bytes + written->length, bytes, length);
    written->length += length;
    return 0;
}

static void hold_to_the_format(const struct written *written)
{
    const struct cg_load_options options = {.extras = true};
    struct cg_trace *trace;
    struct cg_error error = {0};
    struct health health;
    if (trace_load_bytes("converted", written->bytes, written->length, &options, &trace, &error) != 0)
        abort();
    if (!health_make(trace, &health) || !health.structurally_valid) abort();
    health_free(&health);
    trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct written written = {0};
    struct convert_report report;
    struct cg_error error = {0};
    int status = convert_bytes("input", bytes, length, collect, &written, &report, &error);
    if (status == 0)
        hold_to_the_format(&written);
    else if (status != CG_EXIT_INPUT || !error.message[0] || strchr(error.message, '\n'))
        abort();
    free(written.bytes);
    return 0;
}
