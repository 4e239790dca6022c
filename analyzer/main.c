/* cg-analyze: reads, checks and queries traces of CUDA programs, offline. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/commands.h"
#include "analyzer/cmd/fault_signals.h"
#include "analyzer/cmd/output.h"
#include "analyzer/planes/array.h"
#include "analyzer/trace/index_watch.h"
#include "analyzer/trace/trace.h"
#include "common/say.h"
#include "common/suggest.h"

/* Help and version go to standard output. */
static int finish_stdout(void)
{
    if (stdout_taken()) return CG_EXIT_DONE;
    cg_say("standard output: cannot write: %s", strerror(errno));
    return CG_EXIT_IO;
}

static int unknown_command(const char *name)
{
    struct suggestion best = suggest_start(name, strlen(name));
    for (size_t i = 0; i < command_count; i++)
        suggest_offer(&best, commands[i]->name);
    const char *what = name[0] == '-' ? "option" : "command";
    if (best.word)
        cg_say("unknown %s '%s': did you mean '%s'?", what, name, best.word);
    else
        cg_say("unknown %s '%s'", what, name);
    fputc('\n', stderr);
    help_all(stderr);
    return CG_EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
    if (argc > 1) {
        cg_say("help: unexpected argument '%s': give one command", argv[1]);
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

static int limit_vectors(struct cg_error *error)
{
    const char *widest = getenv("CG_ANALYZE_VECTORS");
    if (!widest || !*widest || trace_limit_vectors(widest)) return CG_EXIT_DONE;
    return cg_fail(error, CG_EXIT_USAGE, "CG_ANALYZE_VECTORS is '%s': expected portable, avx2 or avx512",
                   widest);
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
        if (status == CG_EXIT_DONE) status = limit_vectors(&error);
        if (status == CG_EXIT_DONE) status = command->run(&arguments, &error);
        if (index_watch_broken()) status = cg_fail(&error, CG_EXIT_IO, INDEX_WATCH_TEXT);
        if (status != CG_EXIT_DONE) cg_say("%s", error.message);
    }
    arguments_free(&arguments);
    return status;
}

int main(int argc, char **argv)
{
    arrays_keep_memory();
    output_setup();
    fault_signals_setup();
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
