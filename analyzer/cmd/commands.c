#include "analyzer/cmd/commands.h"

#include <string.h>

#define COMMAND(name) &command_##name,
const struct command *const commands[] = {
#include "analyzer/cmd/commands.def"
};
#undef COMMAND
const size_t command_count = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

const struct exit_status exit_statuses[] = {
    {CG_EXIT_DONE, "done: the result was written, whatever it says"},
    {CG_EXIT_CONDITION, "a stated condition is not met"},
    {CG_EXIT_USAGE, "the command line is not understood, or the output path is refused"},
    {CG_EXIT_INPUT, "the input is missing, of the wrong form, or cannot be understood"},
    {CG_EXIT_IO, "reading or writing failed"},
};
const size_t exit_status_count = sizeof exit_statuses / sizeof *exit_statuses;

bool format_words(size_t index, const char **word, const char **about)
{
    static const char *const formats[][2] = {
        {"json", "the document, for programs"},
        {"table", "for people: with units, and names cut in the middle where a screen has no room"},
        {"csv", "the rows alone, for spreadsheets"},
    };
    if (index >= sizeof formats / sizeof *formats) return false;
    *word = formats[index][0];
    *about = formats[index][1];
    return true;
}
