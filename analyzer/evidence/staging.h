/* The staging directory of a publication: files are written into it and hashed as they are written; then it
 * is renamed into place in one step, or removed (doc/spec/bundle.md 5). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_STAGING_H
#define CGTRACE_ANALYZER_EVIDENCE_STAGING_H

#include <sys/stat.h>

#include "analyzer/evidence/sha256.h"
#include "analyzer/trace/trace.h"

struct staged_file {
    char *path; /* relative to the staging directory */
    uint64_t bytes;
    char sha256[SHA256_HEX];
    struct stat seen; /* after it was synced */
};

struct staging {
    char *destination; /* as given */
    char *parent;      /* directory part of it */
    char *path;        /* of the staging directory */
    const char *name;  /* its name in parent */
    const char *final_name;
    int parent_fd, fd;
    struct staged_file *files;
    size_t count, capacity;
};

/* Steps 1 to 5: refuses a destination that exists or lies in a bundle (CG_EXIT_USAGE), makes its parents and
 * the staging directory. On success staging_abandon() or staging_commit() must follow. */
int staging_open(struct staging *staging, const char *destination, struct cg_error *error);
/* Whether a path lies in a bundle, found before anything is created: CG_EXIT_USAGE then. */
int staging_check(const char *destination, struct cg_error *error);
/* Makes a directory in it. */
int staging_directory(struct staging *staging, const char *name, struct cg_error *error);

/* One file being written. Errors are sticky: staged_end() reports them. */
struct staged_writer {
    struct staging *staging;
    const char *path;
    int fd, failure;
    struct sha256 *digest;
    char *buffer;
    size_t used;
    uint64_t bytes;
};
int staged_begin(struct staged_writer *writer, struct staging *staging, const char *path, mode_t mode,
                 struct cg_error *error);
/* A json_sink. */
int staged_write(void *writer, const char *bytes, size_t length);
/* Syncs the file and takes it up into staging->files. */
int staged_end(struct staged_writer *writer, struct cg_error *error);

/* The files in byte order of their paths. */
void staging_sort(struct staging *staging);
/* Steps 12 to 14: syncs, renames without replacing anything, syncs the parent. On failure before the rename
 * the staging directory is removed. */
int staging_commit(struct staging *staging, struct cg_error *error);
/* Removes what was staged, best effort. */
void staging_abandon(struct staging *staging);

#endif
