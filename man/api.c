/* Writes libcgtrace(3) (mdoc) from the table of functions of cgtrace.h to standard output. */
#include <stdio.h>
#include <string.h>

#include "man/mdoc.h"
#include "preload/cgtrace.h"

static const struct function {
    const char *name, *type, *parameters, *summary, *text;
} functions[] = {
#define FUNCTION(name, type, absent, parameters, table_parameters, arguments, summary, text)                 \
    {#name, #type, #parameters, summary, text},
    CGTRACE_FUNCTIONS(FUNCTION)};

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
    puts(".Sh RETURN VALUES\nFunctions that begin or complete a span return it, above 0; 0 when it is not "
         "recorded.\n"
         "All else is one of:\n.Bl -tag -width Ds");
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        printf(".It Dv %s\n", results[i].name);
        mdoc_sentence(stdout, results[i].meaning);
    }
    puts(".El");
}

int main(void)
{
    puts(".\\\" Made from cgtrace.h; see man/api.c.\n.Dd " MDOC_DATE
         "\n.Dt LIBCGTRACE 3\n.Os\n.Sh NAME\n.Nm libcgtrace\n.Nd tell the trace of a CUDA program what it "
         "does\n"
         ".Sh SYNOPSIS\n.In cgtrace.h");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        put_prototype(&functions[i]);
    puts(".Sh DESCRIPTION\nA program that is recorded by\n.Nm\ncan tell its trace what cannot be seen from "
         "outside: spans,\n"
         "operations, tensors, statistics, storages of a framework, gradients, and where a capture begins "
         "and ends.\n"
         "The header is all that is needed to build it; without the library each call does nothing.\n.Pp\n"
         "All functions may be called from any thread, none from a signal handler.\n"
         "They copy what they are given and leave\n.Va errno\nalone.\n"
         "The header says what texts, times, ids and structures have in common.\n.Pp\n"
         "In C,\n.Fn CGTRACE_SPAN \"name\"\nis a span from there to the end of the block; in C++, an object "
         "of class\n"
         ".Vt cgtrace::span\nto the end of the scope.");
    put_functions();
    put_results();
    puts(".Sh EXAMPLES\n.Bd -literal -offset indent\n#include <cgtrace.h>\n\n"
         "cgtrace_span step = cgtrace_span_begin(\"train_step\");\ncgtrace_scalar(\"loss\", loss);\n"
         "cgtrace_span_end(step);\n.Ed\n.Sh SEE ALSO\n.Xr cg-analyze 1");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
