/* libFuzzer: one way out for any trace that is taken: a format of export, the page, the report. The bytes of
 * the trace choose which. */
#include <stdlib.h>

#include "analyzer/cmd/page_documents.h"
#include "analyzer/export/export.h"
#include "tests/fuzz/files.h"

static void export(const struct cg_trace *trace, const struct export_format *format, size_t choice)
{
    struct export_job job = {.trace = trace, .weight = choice % EXPORT_WEIGHT_COUNT, .sink = fuzz_discard};
    if (format->tabular) job.table = &tables[choice % table_count];
    if (format->write(&job) != 0) abort();
}

static void write_page(struct command_input *input)
{
    struct cg_error error = {0};
    if (command_input_work(input, &error) != 0 ||
        page_documents_write(input, "fuzz", NULL, VIEWER_SIZE_MIN, fuzz_discard, NULL, &error) == CG_EXIT_IO)
        abort();
    command_input_work_free(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char name[] = "fuzz";
    enum { PAGE_SHARE = 16 };
    struct cg_load_options options = {.extras = true, .threads = 1};
    struct command_input input = {.requested_path = name, .trace_path = name};
    struct cg_error error = {0};
    size_t choice = fuzz_choice(bytes, length, export_format_count * PAGE_SHARE);
    if (trace_load_bytes(name, bytes, length, &options, &input.trace, &error) != 0) return 0;
    if (choice >= 2) {
        export(input.trace, export_formats[choice % export_format_count], fuzz_choice(bytes, length / 2, 64));
    } else if (evidence_make(input.trace, NULL, EVIDENCE_NODES | EVIDENCE_EDGES, &input.evidence, &error) ==
               0) {
        if (choice)
            write_page(&input);
        else if (write_report_markdown(&input.evidence, fuzz_discard, NULL) != 0)
            abort();
        evidence_free(&input.evidence);
    }
    trace_free(input.trace);
    return 0;
}
