/* Texts of --help, from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "analyzer/cmd/commands.h"

enum { WIDTH = 80 };

/* Writes text from column on, broken at blanks so that no line passes WIDTH; further lines and the lines
 * after a newline begin at indent. Ends with a newline. */
static void wrap(FILE *stream, const char *text, int column, int indent)
{
    bool begins = true;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (!begins && column + 1 + (int)length > WIDTH) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
            begins = true;
        }
        if (!begins) fputc(' ', stream);
        fwrite(text, 1, length, stream);
        column += (int)length + !begins;
        begins = false;
        text += length;
        if (*text == '\n') {
            fprintf(stream, "\n\n%*s", indent, "");
            column = indent;
            begins = true;
        }
        if (*text) text++;
    }
    fputc('\n', stream);
}

/* Writes a term of a list padded to the texts' column; on a line of its own when it is too long. */
static void term(FILE *stream, const char *name, const char *about, int column)
{
    int used = fprintf(stream, "  %s", name);
    if (used > column - 2) {
        fputc('\n', stream);
        used = 0;
    }
    fprintf(stream, "%*s", column - used, "");
    wrap(stream, about, column, column);
}

void help_all(FILE *stream)
{
    fputs("usage: cg-analyze COMMAND [ARGUMENT...]\n\n"
          "Reads, checks and queries traces of CUDA programs (candle-graph/trace/10), offline.\n\n"
          "commands:\n",
          stream);
    for (size_t i = 0; i < command_count; i++)
        term(stream, commands[i]->name, commands[i]->about, 20);
    term(stream, "help [COMMAND]", "show this text, or all about one command", 20);
    fputs("\noptions:\n", stream);
    term(stream, "-h, --help", "show this text", 20);
    term(stream, "-V, --version", "show the version", 20);
    fputs("\nexit status:\n", stream);
    for (size_t i = 0; i < exit_status_count; i++)
        fprintf(stream, "  %d  %s\n", exit_statuses[i].status, exit_statuses[i].about);
}

static void help_usage(FILE *stream, const struct command *command)
{
    fprintf(stream, "usage: cg-analyze %s", command->name);
    if (command->positional)
        fprintf(stream,
                command->positional_optional ? " [%s]"
                : command->positional_many   ? " %s..."
                                             : " %s",
                command->positional);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option_spec *option = &command->options[i];
        const char *more = option->type == OPTION_PATHS ? "..." : "";
        if (option->required) fprintf(stream, " --%s %s%s", option->name, option->argument, more);
    }
    fputs(" [OPTION...]\n\n", stream);
}

static void help_option(FILE *stream, const struct option_spec *option)
{
    char name[64];
    int used = option->letter ? snprintf(name, sizeof name, "-%c, --%s", option->letter, option->name)
                              : snprintf(name, sizeof name, "    --%s", option->name);
    if (option->argument)
        snprintf(name + used, sizeof name - (size_t)used, " %s%s", option->argument,
                 option->type == OPTION_PATHS ? "..." : "");
    term(stream, name, option->about, 28);
    const char *word, *about;
    for (size_t i = 0; option->type == OPTION_WORD && option->words(i, &word, &about); i++) {
        int column = fprintf(stream, "%*s%s ", 8, "", word);
        fprintf(stream, "%*s", column < 30 ? 30 - column : 0, "");
        wrap(stream, about, column < 30 ? 30 : column, 30);
    }
}

void help_command(FILE *stream, const struct command *command)
{
    help_usage(stream, command);
    wrap(stream, command->description, 0, 0);
    fputs("\noptions:\n", stream);
    for (size_t i = 0; i < command->option_count; i++)
        help_option(stream, &command->options[i]);
    term(stream, "-h, --help", "show this text", 28);
    fputs("\nexit status:\n", stream);
    for (size_t i = 0; i < exit_status_count; i++) {
        int status = exit_statuses[i].status;
        if (status == CG_EXIT_CONDITION && !command->condition) continue;
        fprintf(stream, "  %d  ", status);
        wrap(stream, status == CG_EXIT_CONDITION ? command->condition : exit_statuses[i].about, 5, 5);
    }
    if (command->example_count == 0) return;
    fputs("\nexamples:\n", stream);
    for (size_t i = 0; i < command->example_count; i++)
        fprintf(stream, "  %s\n      %s\n", command->examples[i].line, command->examples[i].about);
}
