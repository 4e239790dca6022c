/* Writes the manual pages of cg-analyze and its commands (mdoc) from the table of commands.
 * usage: pages DIR */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/commands.h"
#include "man/mdoc.h"

/* A command as it is typed: never broken. */
static void put_command_line(FILE *page, const char *text)
{
    fputs(".Dl ", page);
    for (size_t i = 0; text[i]; i++)
        mdoc_character(page, text, i);
    fputc('\n', page);
}

static void put_title(FILE *page, const char *name)
{
    fputs(".\\\" Made from the table of commands; see man/pages.c.\n.Dd " MDOC_DATE "\n.Dt ", page);
    for (const char *c = name; *c; c++)
        fputc(toupper(*c), page);
    fprintf(page, " 1\n.Os\n.Sh NAME\n.Nm %s\n", name);
}

static void put_option_name(FILE *page, const struct option_spec *option)
{
    fprintf(page, "Fl Fl %s", option->name);
    if (option->argument) fprintf(page, " Ar %s", option->argument);
    if (option->type == OPTION_PATHS) fputs(" Ns ...", page);
}

static void put_synopsis(FILE *page, const struct command *command)
{
    fprintf(page, ".Sh SYNOPSIS\n.Nm cg-analyze %s\n", command->name);
    if (command->positional)
        fprintf(page,
                command->positional_optional ? ".Op Ar %s\n"
                : command->positional_many   ? ".Ar %s ...\n"
                                             : ".Ar %s\n",
                command->positional);
    for (size_t i = 0; i < command->option_count; i++) {
        fputs(command->options[i].required ? "." : ".Op ", page);
        put_option_name(page, &command->options[i]);
        fputc('\n', page);
    }
}

static void put_options(FILE *page, const struct command *command)
{
    fputs(".Sh OPTIONS\n.Bl -tag -width Ds\n", page);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option_spec *option = &command->options[i];
        const char *word, *about;
        fputs(".It ", page);
        if (option->letter) fprintf(page, "Fl %c , ", option->letter);
        put_option_name(page, option);
        fputc('\n', page);
        mdoc_sentence(page, option->about);
        if (option->type != OPTION_WORD) continue;
        fputs(".Bl -tag -width Ds -compact\n", page);
        for (size_t k = 0; option->words(k, &word, &about); k++) {
            fprintf(page, ".It Cm %s\n", word);
            mdoc_sentence(page, about);
        }
        fputs(".El\n", page);
    }
    fputs(".It Fl h , Fl Fl help\nShow a short help text.\n.El\n", page);
}

static void put_exit_status(FILE *page, const char *condition, bool all)
{
    fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n", page);
    for (size_t i = 0; i < exit_status_count; i++) {
        bool condition_here = exit_statuses[i].status == CG_EXIT_CONDITION && !all;
        if (condition_here && !condition) continue;
        fprintf(page, ".It %d\n", exit_statuses[i].status);
        mdoc_sentence(page, condition_here ? condition : exit_statuses[i].about);
    }
    fputs(".El\n", page);
}

static void put_examples(FILE *page, const struct command *command)
{
    if (command->example_count == 0) return;
    fputs(".Sh EXAMPLES\n", page);
    for (size_t i = 0; i < command->example_count; i++) {
        if (i > 0) fputs(".Pp\n", page);
        char about[256];
        snprintf(about, sizeof about, "%s:", command->examples[i].about);
        about[0] = (char)toupper(about[0]);
        mdoc_text(page, about, strlen(about));
        put_command_line(page, command->examples[i].line);
    }
}

static void put_command(FILE *page, const struct command *command)
{
    char name[64];
    snprintf(name, sizeof name, "cg-analyze-%s", command->name);
    put_title(page, name);
    fprintf(page, ".Nd %s\n", command->about);
    put_synopsis(page, command);
    fputs(".Sh DESCRIPTION\n", page);
    mdoc_paragraphs(page, command->description);
    if (command->positional_optional)
        fprintf(page,
                ".Pp\n.Ar %s\nis a trace, which may be compressed with gzip or zstd, a directory with a\n"
                ".Pa trace.jsonl ,\na bundle, a file in a bundle, or\n.Sq -\nfor standard input.\n"
                "When it is left out and standard input or output is a terminal, the newest trace\n"
                "or bundle in the current directory is taken.\n",
                command->positional);
    put_options(page, command);
    put_exit_status(page, command->condition, false);
    put_examples(page, command);
    fputs(".Sh SEE ALSO\n.Xr cg-analyze 1\n", page);
}

static void put_program(FILE *page)
{
    put_title(page, "cg-analyze");
    fputs(".Nd read, check and query traces of CUDA programs\n"
          ".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op Ar ARGUMENT ...\n.Nm\n.Cm help\n.Op Ar COMMAND\n"
          ".Nm\n.Fl V | Fl Fl version\n"
          ".Sh DESCRIPTION\n.Nm\nreads traces of the format candle-graph/trace/10, from any producer, "
          "offline.\n"
          "Results are JSON, on a terminal tables.\n"
          "Messages go to standard error.\n.Pp\nThe commands are:\n.Bl -tag -width Ds\n",
          page);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(page, ".It Xr cg-analyze-%s 1\n", commands[i]->name);
        mdoc_sentence(page, commands[i]->about);
    }
    fputs(".El\n.Pp\n"
          "Options are written\n.Fl Fl output Ar FILE ,\n.Fl Fl output Ns = Ns Ar FILE ,\n.Fl o Ar FILE\nor\n"
          ".Fl o Ns Ar FILE ;\nlong ones are not abbreviated, and none is given twice.\n"
          "A value that begins with a dash is written behind an equals sign.\n"
          "A file given with\n.Fl Fl output\nis replaced in one step when the result is whole; devices, "
          "pipes and "
          "sockets\nare written as the result is made.\nIt is never in a bundle, nor one that is read; only\n"
          ".Xr cg-analyze-symbolize 1\nmay replace the trace that it reads.\n"
          ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
          ".It Ev NO_COLOR\nWhen set and not empty, tables have no colours.\n"
          ".It Ev COLUMNS\nWidth of the screen, when it should not be asked from the terminal.\n"
          ".It Ev CG_ANALYZE_VECTORS\nThe widest vectors that traces are read with, where the processor has "
          "them:\n.Ql portable\n(none that only some have),\n.Ql avx2\nor\n.Ql avx512 .\n"
          "Results are the same; it is there to see that they are.\n.El\n",
          page);
    put_exit_status(page, NULL, true);
    fputs(".Sh EXAMPLES\nLook at the newest trace in this directory, from a terminal:\n.Dl cg-analyze "
          "overview\n.Sh SEE ALSO\n",
          page);
    /* Ascending, as mdoc wants it. */
    const struct command *last = NULL;
    for (size_t i = 0; i < command_count; i++) {
        const struct command *next = NULL;
        for (size_t k = 0; k < command_count; k++)
            if ((!last || strcmp(commands[k]->name, last->name) > 0) &&
                (!next || strcmp(commands[k]->name, next->name) < 0))
                next = commands[k];
        fprintf(page, ".Xr cg-analyze-%s 1 ,\n", next->name);
        last = next;
    }
    fputs(".Xr cgtrace 1 ,\n.Xr libcgtrace 3 ,\n.Xr cgtrace-bundle 5 ,\n.Xr cgtrace-capture 5 ,\n"
          ".Xr cgtrace-evidence 5 ,\n.Xr cgtrace-nsight 5 ,\n.Xr cgtrace-trace 5 ,\n.Xr cgtrace 7 ,\n"
          ".Xr cgtrace-tutorial 7\n",
          page);
}

static FILE *open_page(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/cg-analyze%s%s.1", directory, *name ? "-" : "", name);
    FILE *page = fopen(path, "w");
    if (!page) {
        fprintf(stderr, "pages: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    return page;
}

static void close_page(FILE *page)
{
    if (fclose(page) == 0) return;
    fprintf(stderr, "pages: %s\n", strerror(errno));
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: pages DIR\n", stderr);
        return 2;
    }
    FILE *page = open_page(argv[1], "");
    put_program(page);
    close_page(page);
    for (size_t i = 0; i < command_count; i++) {
        page = open_page(argv[1], commands[i]->name);
        put_command(page, commands[i]);
        close_page(page);
    }
    return 0;
}
