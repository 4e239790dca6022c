/* Reading the files of a bundle that was verified (doc/spec/bundle.md 11). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/bundle_manifest.h"
#include "analyzer/evidence/evidence.h"
#include "analyzer/trace/same_file.h"

int bundle_open_file(const struct bundle *bundle, const char *path, struct cg_error *error)
{
    const struct bundle_file *file = bundle_find(bundle, path);
    struct stat now;

    if (!file) {
        cg_fail(error, CG_EXIT_INPUT, "%s: the bundle declares no %s", bundle->root, path);
        return -1;
    }
    int fd = bundle_open_below(bundle->root_fd, path, O_RDONLY);
    if (fd < 0 || fstat(fd, &now) != 0 || !same_file(&now, &file->seen)) {
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
