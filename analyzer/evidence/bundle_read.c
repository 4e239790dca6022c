/* Reading the files of a bundle that was verified (doc/spec/bundle.md 11). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/bundle_manifest.h"
#include "analyzer/evidence/evidence.h"

bool bundle_same_file(const struct stat *now, const struct stat *then)
{
    return now->st_dev == then->st_dev && now->st_ino == then->st_ino && now->st_size == then->st_size &&
           now->st_mtim.tv_sec == then->st_mtim.tv_sec && now->st_mtim.tv_nsec == then->st_mtim.tv_nsec &&
           now->st_ctim.tv_sec == then->st_ctim.tv_sec && now->st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

int bundle_open_file(const struct bundle *bundle, const char *path, struct cg_error *error)
{
    const struct bundle_file *file = bundle_find(bundle, path);
    struct stat now;

    if (!file) {
        cg_fail(error, CG_EXIT_INPUT, "%s: the bundle declares no %s", bundle->root, path);
        return -1;
    }
    int fd = bundle_open_below(bundle->root_fd, path, O_RDONLY);
    if (fd < 0 || fstat(fd, &now) != 0 || !bundle_same_file(&now, &file->seen)) {
        cg_fail(error, CG_EXIT_INPUT, "%s/%s: changed since it was verified", bundle->root, path);
        if (fd >= 0) close(fd);
        return -1;
    }
    return fd;
}

int bundle_unchanged(const struct bundle *bundle, const char *const *paths, size_t count,
                     struct cg_error *error)
{
    char hex[SHA256_HEX];
    int status = bundle_manifest_digest(bundle, hex, error);

    if (status != 0) return CG_EXIT_INPUT;
    if (!sha256_equal(hex, bundle->manifest_sha256))
        return cg_fail(error, CG_EXIT_INPUT, "%s/bundle.json: changed while the bundle was read",
                       bundle->root);
    for (size_t i = 0; i < count; i++) {
        int fd = bundle_open_file(bundle, paths[i], error);
        if (fd < 0) return error->status;
        close(fd);
    }
    return 0;
}

/* The path of a file for messages, cut when it is longer than any that can be opened. */
static void path_in(const struct bundle *bundle, const char *path, char name[2 * BUNDLE_PATH_MAX])
{
    snprintf(name, 2 * BUNDLE_PATH_MAX, "%s/%s", bundle->root, path);
}

int bundle_read_file(const struct bundle *bundle, const char *path, char **bytes, size_t *length,
                     struct cg_error *error)
{
    int fd = bundle_open_file(bundle, path, error);
    if (fd < 0) return error->status;
    size_t size = (size_t)bundle_find(bundle, path)->bytes;
    *length = 0;
    *bytes = malloc(size + EVIDENCE_PADDING);
    int status = *bytes ? 0 : cg_fail(error, CG_EXIT_IO, "%s/%s: out of memory", bundle->root, path);
    while (status == 0 && *length < size) {
        ssize_t got = read(fd, *bytes + *length, size - *length);
        if (got > 0)
            *length += (size_t)got;
        else if (got == 0)
            status =
                cg_fail(error, CG_EXIT_INPUT, "%s/%s: changed since it was verified", bundle->root, path);
        else if (errno != EINTR)
            status = cg_fail(error, CG_EXIT_IO, "%s/%s: %s", bundle->root, path, strerror(errno));
    }
    close(fd);
    if (status != 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

int bundle_load_trace(const struct bundle *bundle, const struct cg_load_options *options,
                      struct cg_trace **trace, struct cg_error *error)
{
    char name[2 * BUNDLE_PATH_MAX];
    int fd = bundle_open_file(bundle, "trace.jsonl", error);
    if (fd < 0) return error->status;
    path_in(bundle, "trace.jsonl", name);
    return trace_load_descriptor(name, fd, options, trace, error);
}

int bundle_same_run_id(const struct bundle *bundle, const struct cg_trace *trace, struct cg_error *error)
{
    char ours[TEXT_NAME_SIZE], theirs[TEXT_NAME_SIZE];
    struct cg_text run_id = trace_text(trace, trace->run.run_id);
    if (text_compare(bundle->run_id, run_id) == 0) return 0;
    return cg_fail(error, CG_EXIT_INPUT, "%s/bundle.json: run_id %s, the trace in it has %s", bundle->root,
                   text_name(bundle->run_id, ours), text_name(run_id, theirs));
}
