/* cg-analyze: reads, checks and queries traces of CUDA programs, offline. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/bus_error.h"
#include "analyzer/cmd/commands.h"
#include "analyzer/cmd/output.h"
#include "analyzer/trace/trace.h"
#include "common/suggest.h"

static void complain(const struct cg_error *error)
{
    fprintf(stderr, "cg-analyze: %s\n", error->message);
}

/* Help and version go to standard output; a reader that went away is no error. */
static int finish_stdout(void)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE) return CG_EXIT_DONE;
    fprintf(stderr, "cg-analyze: standard output: cannot write: %s\n", strerror(errno));
    return CG_EXIT_IO;
}

static int unknown_command(const char *name)
{
    struct suggestion best = suggest_start(name, strlen(name));
    for (size_t i = 0; i < command_count; i++)
        suggest_offer(&best, commands[i]->name);
    const char *what = name[0] == '-' ? "option" : "command";
    if (best.word)
        fprintf(stderr, "cg-analyze: unknown %s '%s': did you mean '%s'?\n\n", what, name, best.word);
    else
        fprintf(stderr, "cg-analyze: unknown %s '%s'\n\n", what, name);
    help_all(stderr);
    return CG_EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "cg-analyze: help: unexpected argument '%s': give one command\n", argv[1]);
        return CG_EXIT_USAGE;
    }
    if (argc == 0) {
        help_all(stdout);
        return finish_stdout();
    }
    const struct command *command = command_find(argv[0]);
    if (!command) return unknown_command(argv[0]);
    help_command(stdout, command);
    return finish_stdout();
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct arguments arguments;
    struct cg_error error = {0};
    bool help;
    int status = arguments_parse(command, argc, argv, &arguments, &help, &error);
    if (help) {
        help_command(stdout, command);
        status = finish_stdout();
    } else {
        if (status == CG_EXIT_DONE) status = command->run(&arguments, &error);
        if (status != CG_EXIT_DONE) complain(&error);
    }
    arguments_free(&arguments);
    return status;
}

/* What is freed stays with the process, for the next plane's arrays, whichever thread makes them: giving it
 * back and getting it anew, cleared, took 0.3 s of 2.6 s when the page of a trace of 10 million records was
 * made. */
static void keep_memory(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_ARENA_MAX, 1);
}

static bool limit_vectors(void)
{
    const char *widest = getenv("CG_ANALYZE_VECTORS");

    if (!widest || !*widest || trace_limit_vectors(widest)) return true;
    fprintf(stderr, "cg-analyze: CG_ANALYZE_VECTORS is '%s': expected portable, avx2 or avx512\n", widest);
    return false;
}

int main(int argc, char **argv)
{
    keep_memory();
    output_setup();
    bus_error_setup();
    if (!limit_vectors()) return CG_EXIT_USAGE;
    if (argc < 2) {
        help_all(stderr);
        return CG_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) return run_help(0, NULL);
    if (strcmp(word, "help") == 0) return run_help(argc - 2, argv + 2);
    if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
        puts("cg-analyze " CGT_VERSION);
        return finish_stdout();
    }
    const struct command *command = command_find(word);
    if (!command) return unknown_command(word);
    return run_command(command, argc - 2, argv + 2);
}
