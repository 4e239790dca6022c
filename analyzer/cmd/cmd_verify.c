/* verify: does a bundle still hold what its manifest vouches for (doc/spec/bundle.md 7 to 10)? */
#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/bundle_semantic.h"

struct verification {
    const struct bundle *bundle;
    bool quick, semantic, except_text;
};

static void emit(struct json_doc *doc, const void *object)
{
    const struct verification *verification = object;

    doc_object(doc);
    doc_member_string(doc, "schema", "candle-graph/verify/1");
    doc_key(doc, "tool");
    emit_tool(doc);
    doc_key(doc, "receipt");
    if (verification->quick)
        doc_null(doc); /* its members claim that everything was hashed */
    else
        emit_bundle_receipt(doc, verification->bundle);
    doc_key(doc, "semantic");
    if (verification->semantic) {
        doc_object(doc);
        doc_member_string(doc, "status",
                          verification->except_text ? "rederived_match_except_text" : "rederived_match");
        doc_object_end(doc);
    } else {
        doc_null(doc);
    }
    doc_object_end(doc);
}

static int answer(const struct arguments *arguments, const struct bundle *bundle, struct cg_error *error)
{
    struct verification verification = {.bundle = bundle,
                                        .quick = argument(arguments, "quick")->given,
                                        .semantic = argument(arguments, "semantic")->given};
    int status = output_check(argument(arguments, "output")->text, bundle->root, NULL, 0, error);
    if (status == 0 && verification.semantic)
        status = bundle_semantic(bundle, &verification.except_text, error);
    if (status != 0) return status;
    struct document document = {.order = DOC_SORTED, .emit = emit, .people = emit, .object = &verification};
    return document_write(arguments, NULL, &document, error);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct bundle bundle;
    int status = document_check_format(arguments, "a verification", false, error);

    if (status == 0)
        status = bundle_verify(arguments->input, argument(arguments, "quick")->given, &bundle, error);
    if (status != 0) return status;
    status = answer(arguments, &bundle, error);
    bundle_close(&bundle);
    return status;
}

static const struct option_spec options[] = {
    {.name = "semantic",
     .type = OPTION_FLAG,
     .about = "derive the evidence anew from the trace in the bundle, and compare"},
    {.name = "quick",
     .type = OPTION_FLAG,
     .about = "look at the set of files and their sizes only; hash nothing",
     .conflicts = {"semantic"}},
    OPTION_OUTPUT,
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze verify runs/step10", "has any byte changed since it was published?"},
    {"cg-analyze verify runs/step10 --semantic", "and does its evidence follow from its trace?"},
};

const struct command command_verify = {
    .name = "verify",
    .positional = "BUNDLE",
    .about = "check every byte of a bundle against its manifest",
    .description =
        "Looks at every file below BUNDLE, hashes them all, and writes a receipt when they are exactly those "
        "that the manifest declares (candle-graph/verify/1). Otherwise every file that does not match is "
        "named "
        "on standard error, and the status is 1.\n"
        "A verified bundle can hold wrong evidence: --semantic derives it anew. Evidence that differs in "
        "texts for people alone, as that of another version may, is said to match except text.",
    .condition = "the bundle does not verify, or its evidence does not follow from its trace",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
