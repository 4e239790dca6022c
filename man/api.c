/* Writes libcgtrace(3) (mdoc) from cgtrace.h, its table of functions and its structures, to standard output.
 * usage: api CGTRACE.H */
#include <stdio.h>
#include <string.h>

#include "man/mdoc.h"
#include "preload/cgtrace.h"

static const struct function {
    const char *name, *type, *parameters, *summary, *text;
} functions[] = {
#define FUNCTION(name, type, absent, parameters, table_parameters, arguments, summary, text)                 \
    {#name, #type, #parameters, summary, text},
    CGTRACE_FUNCTIONS(FUNCTION)
    /* Those that are whole in the header. */
    {"cgtrace_result_text", "const char *", "(int result)", "a result in words", "Static text."},
    {"cgtrace_parse_phase", "int", "(const char *text, enum cgtrace_phase *phase)",
     "reads a phase that a user typed",
     "train or training; infer, inference, eval or evaluate; without regard to case. *phase is left alone "
     "when it is "
     "none of them.\nCGTRACE_E_NULL: a pointer. CGTRACE_E_VALUE: none of them."},
    {"cgtrace_parse_step", "int", "(const char *text, enum cgtrace_step *step)",
     "reads a step that a user typed",
     "forward or fwd; backward, backward_pass, bwd or backprop; optimizer, optim or step. As "
     "cgtrace_parse_phase()."},
    {"cgtrace_select", "int", "(struct cgtrace_selector *selector, uint64_t invocation)",
     "selects the one invocation that is to be captured",
     "Counted from 1.\nCGTRACE_E_NULL: selector. CGTRACE_E_VALUE: 0."},
    {"cgtrace_selected", "int", "(const struct cgtrace_selector *selector, uint64_t invocation)",
     "whether this invocation is the selected one", "1 or 0."},
};

static const struct result {
    const char *name, *meaning;
} results[] = {
#define RESULT(constant, value, meaning) {#constant, meaning},
    CGTRACE_RESULTS(RESULT)};

/* The prototype: "(const char *name, int kind)" as two quoted parameters. */
static void put_prototype(const struct function *function)
{
    const char *at = function->parameters + 1;

    printf(".Ft %s\n.Fn %s", function->type, function->name);
    while (*at != ')') {
        size_t length = strcspn(at, ",)");

        fputs(" \"", stdout);
        for (size_t i = 0; i < length; i++)
            if (at[i] != ' ' || i == 0 || at[i - 1] != '*') putchar(at[i]);
        putchar('"');
        at += length;
        at += strspn(at, ", ");
    }
    putchar('\n');
}

static void put_functions(void)
{
    puts(".Sh FUNCTIONS\n.Bl -tag -width Ds");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        printf(".It Fn %s\n", functions[i].name);
        mdoc_sentence(stdout, functions[i].summary);
        mdoc_paragraphs(stdout, functions[i].text);
    }
    puts(".El");
}

static void put_results(void)
{
    mdoc_page(
        stdout,
        ".Sh RETURN VALUES\nFunctions that begin or complete a span return it, above 0; 0 when it is not "
        "recorded.\n"
        "All else is one of:\n.Bl -tag -width Ds");
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        printf(".It Dv %s\n", results[i].name);
        mdoc_sentence(stdout, results[i].meaning);
    }
    puts(".El");
}

static void put_limits(void)
{
    static const struct {
        const char *name, *meaning;
        unsigned long value;
    } limits[] = {
        {"CGTRACE_NAME_MAX", "bytes of the name of a span or an operation", CGTRACE_NAME_MAX},
        {"CGTRACE_TEXT_MAX", "bytes of any other text", CGTRACE_TEXT_MAX},
        {"CGTRACE_RANK_MAX", "dimensions of a shape", CGTRACE_RANK_MAX},
        {"CGTRACE_INPUTS_MAX", "inputs of an operation", CGTRACE_INPUTS_MAX},
    };
    puts(".Sh LIMITS\n.Bl -tag -width Ds");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        printf(".It Dv %s Pq %lu\n", limits[i].name, limits[i].value);
        mdoc_sentence(stdout, limits[i].meaning);
    }
    puts(".It Dv CGTRACE_UNKNOWN\nStands for a number that is not known.\n.El");
}

static void put_description(void)
{
    mdoc_page(
        stdout,
        ".Sh DESCRIPTION\nA program that is recorded by\n.Nm\ncan tell its trace what cannot be seen from "
        "outside: spans,\n"
        "operations, tensors, statistics, storages of a framework, gradients, and where a capture begins "
        "and ends.\n"
        "The header is all that is needed to build it; without the library each call does nothing.\n.Pp\n"
        "All functions may be called from any thread.\n"
        "They copy what they are given and leave\n.Va errno\nalone.\n"
        "Texts end with NUL and are UTF-8; where one may be left out,\n.Dv NULL\nis none.\n"
        "Times are nanoseconds of the capture's clock, which begins at 0 with the capture.\n"
        "Structures are filled with zeros first: zero means not given.\n"
        "Ids of tensors and storages are the framework's numbers, from 1 on.\n.Pp\n"
        "Signal handlers may call them too.\n"
        "Where one has interrupted another call that is being recorded on its thread, of this library, NVTX "
        "or CUDA,\n"
        "what it calls is not recorded, and counted in the trace\n.Pq Li nested_calls :\n.Dv CGTRACE_OFF ,\n"
        "or the span 0.\n"
        "What opens a capture starts a thread, for which the C library allocates, and the first call in a "
        "source file looks for the library with\n.Fn dlsym :\n"
        "a handler that may have interrupted\n.Fn malloc\nleaves to others the first call of the process "
        "and of its source file,\n.Fn cgtrace_session_begin ,\n"
        "and the begin of a region that\n.Ev CGTRACE_RANGE\nselects.\n.Pp\n"
        "In C,\n.Fn CGTRACE_SPAN \"name\"\nis a span from there to the end of the block; in C++, an object "
        "of class\n"
        ".Vt cgtrace::span\nto the end of the scope.");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: api CGTRACE.H\n", stderr);
        return 2;
    }
    puts(".\\\" Made from cgtrace.h; see man/api.c.\n.Dd " MDOC_DATE
         "\n.Dt LIBCGTRACE 3\n.Os\n.Sh NAME\n.Nm libcgtrace\n.Nd tell the trace of a CUDA program what it "
         "does\n"
         ".Sh SYNOPSIS\n.In cgtrace.h");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        put_prototype(&functions[i]);
    put_description();
    put_functions();
    put_results();
    put_limits();
    puts(".Sh STRUCTURES");
    if (!mdoc_declarations(stdout, argv[1])) {
        fprintf(stderr, "api: %s cannot be read\n", argv[1]);
        return 1;
    }
    puts(".Sh EXAMPLES\nThree steps with a loss,\n.Pa steps.c :\n.Bd -literal -offset indent\n#include "
         "<cgtrace.h>\n\n"
         "int main(void)\n{\n    for (int i = 1; i <= 3; i++) {\n"
         "        cgtrace_span step = cgtrace_span_begin(\"train_step\");\n"
         "        cgtrace_scalar(\"loss\", 1.0 / i);\n        cgtrace_span_end(step);\n    }\n    return "
         "0;\n}\n.Ed\n.Pp\n"
         "Built, recorded and looked at:\n.Bd -literal -offset indent\n"
         "$ cc -o steps steps.c -ldl\n$ cgtrace record --output steps.jsonl -- ./steps\ncgtrace: ...\n"
         "$ cg-analyze query steps.jsonl --kind tensor-stats\n\\&...\n"
         "  span id  label  shape  dtype  elements  non finite  ...\n"
         "  span:3   loss          f64           1           0  ...\n"
         "  span:4   loss          f64           1           0  ...\n"
         "  span:5   loss          f64           1           0  ...\n.Ed\n.Sh SEE ALSO\n.Xr cg-analyze 1 "
         ",\n.Xr cgtrace 1 ,\n.Xr cgtrace-trace "
         "5");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
