#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/say.h"
#include "common/suggest.h"
#include "launcher/launcher.h"

int complain(int status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say_as("cgtrace", format, arguments);
    va_end(arguments);
    return status;
}

static int command_help(int argc, char **argv);

struct command {
    const char *name, *about;
    int (*run)(int argc, char **argv);
    void (*help)(void);
};
static void help_help(void);
static const struct command commands[] = {
#define COMMAND(name, about) {#name, about, command_##name, help_##name},
#include "launcher/commands.def"
#undef COMMAND
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void help_help(void)
{
    puts("usage: cgtrace COMMAND [options]\n\nRecords what a CUDA program does; cg-analyze reads the "
         "traces.\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].about);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static int unknown(const char *name, bool may_be_program)
{
    struct suggestion search = suggest_start(name, strlen(name));
    char program[PATH_MAX];

    if (*name == '-')
        return complain(EXIT_USAGE, "unknown option %s; options stand behind a command: cgtrace record %s",
                        name, name);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        suggest_offer(&search, commands[i].name);
    if (may_be_program && find_program(name, program, sizeof program))
        return complain(EXIT_USAGE, "unknown command %s; to run that program: cgtrace record -- %s", name,
                        name);
    return complain(
        EXIT_USAGE,
        "unknown command %s%s%s; `cgtrace help` lists them, and `cgtrace record -- program` runs a program",
        name, search.word ? ": did you mean " : "", search.word ? search.word : "");
}

static int command_help(int argc, char **argv)
{
    const struct command *command = find(argc > 1 ? argv[1] : "help");

    if (!command) return unknown(argv[1], false);
    command->help();
    return 0;
}

static int run(int argc, char **argv)
{
    if (argc < 2) return complain(EXIT_USAGE, "no command; `cgtrace help` lists them");
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        help_help();
        return 0;
    }
    if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
        puts("cgtrace " CGT_VERSION);
        return 0;
    }
    const struct command *command = find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : unknown(argv[1], true);
}

/* What a command says goes to standard output. `record` says nothing there once its program runs, and ends
 * with that one's status. */
int main(int argc, char **argv)
{
    int status = run(argc, argv);

    if (stdout_taken() || status != 0) return status;
    return complain(EXIT_CANNOT_WRITE, "standard output: cannot write: %s", strerror(errno));
}
