/* libFuzzer: one kind of query on any trace that is taken: answered as a document and as what people see, or
 * refused in one line. The bytes of the trace choose the kind and its options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/query.h"
#include "tests/fuzz/files.h"

static void emit(const struct query *query, document_emitter *emitter, enum json_order order)
{
    struct json_doc *doc = doc_start(DOC_COMPACT, order, fuzz_discard, NULL);
    if (!doc) abort();
    emitter(doc, query);
    if (doc_finish(doc) != 0) abort();
}

static void answer(struct query *query)
{
    const struct query_kind *kind = query->kind;
    struct cg_error error = {0};
    if (kind->graph && !query->input->evidence.has_graph) return;
    int status = kind->prepare ? kind->prepare(query, &error) : 0;
    if (status != 0) {
        if (status != CG_EXIT_INPUT || !error.message[0] || strchr(error.message, '\n')) abort();
        return;
    }
    emit(query, kind->emit, DOC_SORTED);
    if (kind->people) emit(query, kind->people, DOC_DECLARED);
    if (kind->release) kind->release(query);
}

/* What a command line would say: this kind, and those of its options that the choice has a bit for. */
static void ask(struct command_input *input, const struct query_kind *kind, size_t choice)
{
    const char *by, *about;
    if (!storage_grouping_words(choice % 4, &by, &about)) storage_grouping_words(0, &by, &about);
    const struct {
        const char *option, *value;
    } options[] = {{"--by", by},           {"--after-steps", "1"},  {"--within-events", "3"},
                   {"--min-bytes", "100"}, {"--label-prefix", "l"}, {"--offset", "1"}};
    const char *argv[2 * (sizeof options / sizeof *options) + 3] = {"fuzz", "--kind", kind->name};
    int argc = 3;
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
        if (choice >> i & 1 && query_kind_has(kind, options[i].option + 2)) {
            argv[argc++] = options[i].option;
            argv[argc++] = options[i].value;
        }
    struct arguments arguments;
    struct cg_error error = {0};
    bool help;
    if (arguments_parse(&command_query, argc, (char **)argv, &arguments, &help, &error) != 0) abort();
    struct query query = {.kind = kind,
                          .input = input,
                          .arguments = &arguments,
                          .label_prefix = argument(&arguments, "label-prefix")->text,
                          .offset = argument(&arguments, "offset")->number,
                          .limit = QUERY_PAGE};
    answer(&query);
    arguments_free(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char name[] = "fuzz";
    const struct query_kind *kind = query_kinds[fuzz_choice(bytes, length, query_kind_count)];
    struct cg_load_options options = {.extras = kind->needs.extras, .threads = 1};
    struct command_input input = {.requested_path = name, .trace_path = name};
    struct cg_error error = {0};
    if (trace_load_bytes(name, bytes, length, &options, &input.trace, &error) != 0) return 0;
    input.out_of_memory_count = input.trace->out_of_memory_count;
    if (evidence_make(input.trace, NULL, kind->needs.parts, &input.evidence, &error) == 0) {
        if (kind->needs.work && command_input_work(&input, &error) != 0) abort();
        ask(&input, kind, fuzz_choice(bytes, length / 2, 64));
        command_input_work_free(&input);
        evidence_free(&input.evidence);
    }
    trace_free(input.trace);
    return 0;
}
