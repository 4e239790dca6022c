/* Where results go: standard output, or a file that is replaced in one step (doc/spec/cli.md 1.3 and 3). */
#ifndef CGTRACE_ANALYZER_CMD_OUTPUT_H
#define CGTRACE_ANALYZER_CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/trace/trace.h"

struct output {
    const char *path; /* as given; NULL: standard output */
    int fd;
    char *target;    /* the file that is replaced, links followed; NULL: written in place */
    char *temporary; /* its sibling that is written; NULL: a file without a name yet */
    char *buffer;
    size_t used;
    int failure; /* errno value of the first failed write */
};

/* Must be called first of all: makes sure that descriptors 0 to 2 are open, so that no file gets one of
 * them, remembers whether standard output was closed, and has a closed pipe reported as an error. */
void output_setup(void);

/* Is this output standard output, by whatever name? path is what --output gave, or NULL. */
bool output_is_stdout(const char *path);

/* Refuses a path that would overwrite one of the files read (files[0 .. count-1], NULL entries skipped) or
 * that leads into a bundle: bundle_root (may be NULL; it need not exist yet) or any other. Nothing is
 * created. CG_EXIT_USAGE when refused, CG_EXIT_IO when the path cannot be looked at. */
int output_check(const char *path, const char *bundle_root, const char *const *files, size_t count,
                 struct cg_error *error);

/* Opens it; missing parent directories are made. A regular or new file is written to a sibling first and
 * keeps its mode; anything else (a device, a pipe) is written in place. 0 or CG_EXIT_IO. */
int output_open(struct output *output, const char *path, struct cg_error *error);
/* A json_sink: context is the struct output. Errors are sticky. */
int output_write(void *context, const char *bytes, size_t length);
/* Writes the rest and puts the file in its place. A reader that went away (EPIPE) is no error. 0 or
 * CG_EXIT_IO; the output is closed either way, and on failure the target is as it was. */
int output_close(struct output *output, struct cg_error *error);
/* Closes it and leaves the target as it was. */
void output_abandon(struct output *output);

#endif
