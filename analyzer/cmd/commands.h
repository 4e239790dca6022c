/* Commands of cg-analyze and their options: the one description that parsing, --help, the manual pages, the
 * completions and the catalogue of `protocol` are made from. */
#ifndef CGTRACE_ANALYZER_CMD_COMMANDS_H
#define CGTRACE_ANALYZER_CMD_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/trace/trace.h"

enum option_type {
    OPTION_FLAG,   /* takes no value */
    OPTION_FILE,   /* a path; not empty */
    OPTION_DIR,    /* a path of a directory; not empty */
    OPTION_TEXT,   /* any text, also empty */
    OPTION_WORD,   /* one of the words that `words` gives */
    OPTION_NUMBER, /* decimal, minimum to maximum */
    OPTION_PATHS,  /* every following word up to the next option; at least one; may be repeated */
};

/* Gives the word number index and what it means; false past the last. */
typedef bool option_words(size_t index, const char **word, const char **about);

struct option_spec {
    const char *name; /* long name, without dashes */
    char letter;      /* short name; 0: none */
    enum option_type type;
    const char *argument; /* how help calls its value; NULL for a flag */
    const char *about;    /* one sentence without a final stop */
    option_words *words;  /* OPTION_WORD */
    uint64_t minimum, maximum;
    bool required;
    const char *conflicts[3]; /* names of options that exclude this one */
    const char *needs;        /* name of an option that must be given too; NULL: none */
};

/* What was given for one option. */
struct option_value {
    bool given;
    const char *text;
    uint64_t number;
    const char **list; /* OPTION_PATHS: count values, in the order given */
    size_t count;
};

enum { COMMAND_OPTIONS_MAX = 24 };

struct command;
struct arguments {
    const struct command *command;
    const char *input;   /* the positional argument; NULL when there is none or it was left out */
    const char **inputs; /* all of them, of a command that takes several */
    size_t input_count;
    struct option_value values[COMMAND_OPTIONS_MAX];
};

struct command_example {
    const char *line, *about;
};

struct command {
    const char *name;
    const char *positional; /* how help calls the positional argument; NULL: takes none */
    bool positional_optional;
    bool positional_many;    /* one or more of them */
    const char *about;       /* one sentence without a final stop */
    const char *description; /* paragraphs, separated by newlines */
    const char *condition;   /* when the exit status is 1; NULL: never */
    const struct option_spec *options;
    size_t option_count;
    const struct command_example *examples;
    size_t example_count;
    /* Fills *error and returns its status, or returns CG_EXIT_DONE. */
    int (*run)(const struct arguments *arguments, struct cg_error *error);
};

#define COMMAND(name) extern const struct command command_##name;
#include "analyzer/cmd/commands.def"
#undef COMMAND

/* All of them, in catalogue order, and their number. */
extern const struct command *const commands[];
extern const size_t command_count;

const struct command *command_find(const char *name);

#define OPTION_LIST(options) .options = options, .option_count = sizeof(options) / sizeof *(options)
#define EXAMPLE_LIST(list)   .examples = list, .example_count = sizeof(list) / sizeof *(list)

/* Options that many commands share. */
#define OPTION_OUTPUT                                                                                        \
    {                                                                                                        \
        .name = "output", .letter = 'o', .type = OPTION_FILE, .argument = "FILE",                            \
        .about = "write to FILE, replacing it in one step; - is standard output"                             \
    }
#define OPTION_FORMAT                                                                                        \
    {                                                                                                        \
        .name = "format", .type = OPTION_WORD, .argument = "FORMAT", .words = format_words,                  \
        .about = "how to write the result; without it a table on a terminal, JSON elsewhere"                 \
    }
option_words format_words;
#define OPTION_INDEX                                                                                         \
    {.name = "no-index",                                                                                     \
     .type = OPTION_FLAG,                                                                                    \
     .about = "read the trace even where it has an index (TRACE.cgx)",                                       \
     .conflicts = {"verify-index"}},                                                                         \
    {                                                                                                        \
        .name = "verify-index", .type = OPTION_FLAG,                                                         \
        .about = "use an index only after the whole content of the trace was hashed"                         \
    }
#define OPTION_THREADS                                                                                       \
    {                                                                                                        \
        .name = "threads", .type = OPTION_NUMBER, .argument = "N",                                           \
        .about = "read the trace and work on it with N threads; without it with one for each processor, as " \
                 "far as they help",                                                                         \
        .minimum = 1, .maximum = 64                                                                          \
    }

/* Reads argv[0 .. argc-1], the words after the command's name. Returns CG_EXIT_DONE, or CG_EXIT_USAGE with a
 * message of one line; *help is set when --help was met, and nothing after it is looked at. Texts stay those
 * of argv; arguments_free() gives back the lists. */
int arguments_parse(const struct command *command, int argc, char **argv, struct arguments *arguments,
                    bool *help, struct cg_error *error);
void arguments_free(struct arguments *arguments);

/* The value of one of the command's options; the name must be one of its table. */
const struct option_value *argument(const struct arguments *arguments, const char *name);

/* Of OPTION_THREADS; 0 when it was not given. */
static inline unsigned argument_threads(const struct arguments *arguments)
{
    return (unsigned)argument(arguments, "threads")->number;
}

/* Exit statuses and what they stand for, in ascending order (doc/spec/cli.md 1.6). */
struct exit_status {
    int status;
    const char *about;
};
extern const struct exit_status exit_statuses[];
extern const size_t exit_status_count;

/* Texts on a stream: all commands, or one. */
#include <stdio.h>
void help_all(FILE *stream);
void help_command(FILE *stream, const struct command *command);

#endif
