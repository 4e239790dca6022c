#include "analyzer/evidence/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WRITE_BYTES = 1 << 18 };

/* ---- where it may be ---- */

/* The directory part of a path: "." when it has none. Trailing slashes are not part of the name. NULL: out of
 * memory. */
static char *split(const char *path, const char **name)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    size_t parent = start;
    while (parent > 1 && path[parent - 1] == '/')
        parent--;
    char *both = malloc(parent + end - start + 4);
    if (!both) return NULL;
    size_t used = (size_t)sprintf(both, "%.*s", (int)parent, path);
    if (used == 0) used = (size_t)sprintf(both, ".");
    *name = both + used + 1;
    sprintf(both + used + 1, "%.*s", (int)(end - start), path + start);
    return both;
}

/* Refuses when the directory, or one above it, holds a manifest. What does not exist yet is left to its
 * parent. */
static int refuse_inside(const char *directory, const char *destination, struct cg_error *error)
{
    char path[PATH_MAX], manifest[PATH_MAX + sizeof "/bundle.json"];
    char given[PATH_MAX];

    if ((size_t)snprintf(given, sizeof given, "%s", directory) >= sizeof given)
        return cg_fail(error, CG_EXIT_USAGE, "%s: the path is too long", destination);
    while (!realpath(given, path)) {
        char *slash = strrchr(given, '/');
        if (errno != ENOENT) return cg_fail(error, CG_EXIT_IO, "%s: %s", given, strerror(errno));
        if (!slash)
            strcpy(given, ".");
        else
            slash[slash == given] = '\0';
    }
    for (;;) {
        struct stat entry;
        snprintf(manifest, sizeof manifest, "%s/bundle.json", strcmp(path, "/") ? path : "");
        if (lstat(manifest, &entry) == 0)
            return cg_fail(error, CG_EXIT_USAGE, "%s: lies in the bundle %s, which is never changed",
                           destination, path);
        char *slash = strrchr(path, '/');
        if (strcmp(path, "/") == 0) return 0;
        slash[slash == path] = '\0';
    }
}

static int check_name(const char *name, const char *destination, struct cg_error *error)
{
    if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "/") != 0) return 0;
    return cg_fail(error, CG_EXIT_USAGE, "%s: names no new directory", destination);
}

int staging_check(const char *destination, struct cg_error *error)
{
    const char *name;
    struct stat entry;
    char *parent = split(destination, &name);

    if (!parent) return cg_out_of_memory(error);
    int status = check_name(name, destination, error);
    if (status == 0) status = refuse_inside(parent, destination, error);
    /* Without the slashes at its end, which would make lstat() follow a link. */
    if (status == 0) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", parent, name);
        if (lstat(path, &entry) == 0)
            status = cg_fail(error, CG_EXIT_USAGE, "%s: exists already; a bundle is never overwritten",
                             destination);
        else if (errno != ENOENT)
            status = cg_fail(error, CG_EXIT_IO, "%s: %s", destination, strerror(errno));
    }
    free(parent);
    return status;
}

/* ---- making it ---- */

static void sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* Makes the missing directories of a path, each synced in its parent. 0 or an errno value. */
static int make_parents(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);

    if (length >= sizeof part) return ENAMETOOLONG;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) == 0) {
            char *slash = strrchr(part, '/');
            if (slash) slash[slash == part] = '\0';
            sync_directory(slash ? part : ".");
        } else if (errno != EEXIST) {
            return errno;
        }
    }
    return 0;
}

static int make_staging(struct staging *staging, struct cg_error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (asprintf(&staging->path, "%s/.%s.tmp-%d-%lld%09ld", staging->parent, staging->final_name,
                 (int)getpid(), (long long)now.tv_sec, now.tv_nsec) < 0) {
        staging->path = NULL;
        return cg_out_of_memory(error);
    }
    staging->name = strrchr(staging->path, '/') + 1;
    if (mkdirat(staging->parent_fd, staging->name, 0700) != 0)
        return cg_fail(error, CG_EXIT_IO, "%s: %s", staging->path, strerror(errno));
    staging->fd = openat(staging->parent_fd, staging->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return staging->fd < 0 ? cg_fail(error, CG_EXIT_IO, "%s: %s", staging->path, strerror(errno)) : 0;
}

int staging_open(struct staging *staging, const char *destination, struct cg_error *error)
{
    int fault, status = staging_check(destination, error);

    *staging = (struct staging){.parent_fd = -1, .fd = -1};
    if (status != 0) return status;
    staging->destination = strdup(destination);
    staging->parent = split(destination, &staging->final_name);
    if (!staging->destination || !staging->parent) status = cg_out_of_memory(error);
    if (status == 0 && (fault = make_parents(staging->parent)) != 0)
        status = cg_fail(error, CG_EXIT_IO, "%s: %s", staging->parent, strerror(fault));
    if (status == 0) {
        staging->parent_fd = open(staging->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (staging->parent_fd < 0)
            status = cg_fail(error, CG_EXIT_IO, "%s: %s", staging->parent, strerror(errno));
    }
    if (status == 0) status = make_staging(staging, error);
    if (status != 0) staging_abandon(staging);
    return status;
}

int staging_directory(struct staging *staging, const char *name, struct cg_error *error)
{
    return mkdirat(staging->fd, name, 0777) == 0
               ? 0
               : cg_fail(error, CG_EXIT_IO, "%s/%s: %s", staging->path, name, strerror(errno));
}

/* ---- files in it ---- */

static void flush(struct staged_writer *writer)
{
    for (size_t done = 0; done < writer->used && !writer->failure;) {
        ssize_t put = write(writer->fd, writer->buffer + done, writer->used - done);
        if (put < 0 && errno != EINTR) writer->failure = errno;
        if (put > 0) done += (size_t)put;
    }
    if (!writer->failure) sha256_add(writer->digest, writer->buffer, writer->used);
    writer->bytes += writer->used;
    writer->used = 0;
}

int staged_begin(struct staged_writer *writer, struct staging *staging, const char *path, mode_t mode,
                 struct cg_error *error)
{
    *writer = (struct staged_writer){.staging = staging, .path = path, .fd = -1};
    /* Taken up before it exists, so that whatever comes the file is removed with the rest. */
    if (staging->count == staging->capacity) {
        size_t capacity = staging->capacity * 2 + 16;
        struct staged_file *larger = reallocarray(staging->files, capacity, sizeof *larger);
        if (!larger) return cg_out_of_memory(error);
        staging->files = larger;
        staging->capacity = capacity;
    }
    char *copy = strdup(path);
    if (!copy) return cg_out_of_memory(error);
    staging->files[staging->count++] = (struct staged_file){.path = copy};
    writer->fd = openat(staging->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    writer->digest = sha256_start();
    writer->buffer = malloc(WRITE_BYTES);
    if (writer->fd < 0) writer->failure = errno;
    if (!writer->digest || !writer->buffer) writer->failure = ENOMEM;
    return writer->failure ? staged_end(writer, error) : 0;
}

int staged_write(void *context, const char *bytes, size_t length)
{
    struct staged_writer *writer = context;

    while (length > 0 && !writer->failure) {
        size_t part = WRITE_BYTES - writer->used;
        if (part > length) part = length;
        memcpy(writer->buffer + writer->used, bytes, part);
        writer->used += part;
        bytes += part;
        length -= part;
        if (writer->used == WRITE_BYTES) flush(writer);
    }
    return writer->failure;
}

int staged_end(struct staged_writer *writer, struct cg_error *error)
{
    struct staged_file *file = &writer->staging->files[writer->staging->count - 1];

    if (!writer->failure) flush(writer);
    if (!writer->failure && (fsync(writer->fd) != 0 || fstat(writer->fd, &file->seen) != 0))
        writer->failure = errno;
    file->bytes = writer->bytes;
    if (writer->digest && !sha256_finish(writer->digest, file->sha256) && !writer->failure)
        writer->failure = ENOMEM;
    if (writer->fd >= 0 && close(writer->fd) != 0 && !writer->failure) writer->failure = errno;
    free(writer->buffer);
    if (!writer->failure) return 0;
    return cg_fail(error, CG_EXIT_IO, "%s/%s: %s", writer->staging->path, writer->path,
                   strerror(writer->failure));
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct staged_file *)a)->path, ((const struct staged_file *)b)->path);
}

void staging_sort(struct staging *staging)
{
    qsort(staging->files, staging->count, sizeof *staging->files, compare_files);
}

/* ---- its end ---- */

static void staging_close(struct staging *staging)
{
    for (size_t i = 0; i < staging->count; i++)
        free(staging->files[i].path);
    free(staging->files);
    if (staging->fd >= 0) close(staging->fd);
    if (staging->parent_fd >= 0) close(staging->parent_fd);
    free(staging->path);
    free(staging->parent);
    free(staging->destination);
    *staging = (struct staging){.parent_fd = -1, .fd = -1};
}

void staging_abandon(struct staging *staging)
{
    int past = errno;

    if (staging->fd >= 0) {
        for (size_t i = 0; i < staging->count; i++)
            unlinkat(staging->fd, staging->files[i].path, 0);
        unlinkat(staging->fd, "nsight", AT_REMOVEDIR);
    }
    if (staging->path && staging->parent_fd >= 0) unlinkat(staging->parent_fd, staging->name, AT_REMOVEDIR);
    staging_close(staging);
    errno = past;
}

/* The mode that mkdir(path, 0777) would have given: the staging directory was ours alone until now. */
static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0777 & ~mask;
}

/* Renames without replacing; where the file system cannot promise that, looks once more first. 0 or an errno
 * value. */
static int rename_new(const struct staging *staging)
{
    struct stat entry;

    if (renameat2(staging->parent_fd, staging->name, staging->parent_fd, staging->final_name,
                  RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (fstatat(staging->parent_fd, staging->final_name, &entry, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    return renameat(staging->parent_fd, staging->name, staging->parent_fd, staging->final_name) == 0 ? 0
                                                                                                     : errno;
}

int staging_commit(struct staging *staging, struct cg_error *error)
{
    int fault = 0, nsight = openat(staging->fd, "nsight", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (nsight >= 0) {
        if (fsync(nsight) != 0) fault = errno;
        close(nsight);
    }
    if (!fault && (fchmod(staging->fd, usual_mode()) != 0 || fsync(staging->fd) != 0)) fault = errno;
    if (!fault) fault = rename_new(staging);
    if (fault) {
        cg_fail(error, CG_EXIT_IO, "%s: %s", staging->destination, strerror(fault));
        staging_abandon(staging);
        return error->status;
    }
    if (fsync(staging->parent_fd) != 0)
        fault = cg_fail(error, CG_EXIT_IO, "%s: published, but %s could not be synced: %s",
                        staging->destination, staging->parent, strerror(errno));
    staging_close(staging);
    return fault;
}
