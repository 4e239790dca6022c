#include "analyzer/cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/trace/index_watch.h"

enum { BUFFER_BYTES = 1 << 17, ATTEMPTS = 1000 };

static bool stdout_closed;

/* The unfinished file that a signal must not leave behind. */
static char *volatile unfinished;

static void remove_unfinished(int signal_number)
{
    if (unfinished) unlink(unfinished);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};

void output_setup(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        if (fd == 1) stdout_closed = true;
        if (open("/dev/null", O_RDWR) != fd) abort();
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is a failed write like a full disk: EFBIG */
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (signal(ending[i], remove_unfinished) == SIG_IGN) signal(ending[i], SIG_IGN);
}

/* /dev/stdout and the like, where it is no regular file: that is replaced like any other. Such a socket could
 * not even be opened by its name. */
static bool leads_to_stdout(const char *path)
{
    struct stat named, standard;
    return !stdout_closed && stat(path, &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
           !S_ISREG(named.st_mode) && named.st_dev == standard.st_dev && named.st_ino == standard.st_ino;
}

bool output_is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0 || leads_to_stdout(path);
}

static int open_failed(struct output *output, const char *path, struct cg_error *error)
{
    int failure = errno;
    output_abandon(output);
    return cg_fail(error, CG_EXIT_IO, "%s: cannot write: %s", path, strerror(failure));
}

/* Makes the directories that lead to the last component of path. */
static int make_parents(const char *path)
{
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof copy) return errno = ENAMETOOLONG, -1;
    strcpy(copy, path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) return -1;
        *slash = '/';
    }
    return 0;
}

/* ---- the file that becomes the target ---- */

static int directory_length(const char *target)
{
    const char *slash = strrchr(target, '/');
    return slash ? (int)(slash + 1 - target) : 0;
}

/* Another name in the target's directory; NULL: no memory. */
static char *sibling_name(const struct output *output, unsigned attempt)
{
    char *name;
    if (asprintf(&name, "%.*s.cg-analyze.%u", directory_length(output->target), output->target, attempt) < 0)
        return errno = ENOMEM, NULL;
    return name;
}

static void fd_path(int fd, char path[32])
{
    snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* A file without a name, of which nothing is left whatever ends this process. Not every file system has such,
 * and they get their name through /proc. */
static bool create_nameless(struct output *output, mode_t mode)
{
    char directory[PATH_MAX], path[32];
    int length = directory_length(output->target);
    if (length >= (int)sizeof directory) return false;
    snprintf(directory, sizeof directory, "%.*s.", length, output->target);
    output->fd = open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (output->fd < 0) return false;
    fd_path(output->fd, path);
    if (access(path, W_OK) == 0) return true;
    close(output->fd);
    output->fd = -1;
    return false;
}

/* What a process that was killed has left under this name: its file's lock is open. */
static void remove_left(const char *name)
{
    struct stat left;
    int fd = open(name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    /* Only who holds its lock removes the name of the file: while there is one it is this. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &left) == 0 && left.st_nlink > 0) unlink(name);
    close(fd);
}

/* Still under its name, and known to be in use where the file system has locks. */
static bool claim(int fd)
{
    struct stat made;
    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(fd, &made) == 0 &&
           made.st_nlink > 0;
}

/* No signal may come between the file and the note that it is there. */
static bool create_unfinished(struct output *output, mode_t mode)
{
    sigset_t signals, before;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&signals, ending[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    int failure = errno;
    if (output->fd >= 0 && !claim(output->fd)) {
        close(output->fd);
        output->fd = -1;
        failure = EEXIST;
    }
    if (output->fd >= 0) unfinished = output->temporary;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return output->fd >= 0;
}

/* Creates a new file in the directory of output->target; output->temporary: its name, NULL: it has none. */
static int open_sibling(struct output *output, mode_t mode)
{
    if (create_nameless(output, mode)) return 0;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        free(output->temporary);
        output->temporary = sibling_name(output, attempt);
        if (!output->temporary) return -1;
        remove_left(output->temporary);
        if (create_unfinished(output, mode)) return 0;
        if (errno != EEXIST) break;
    }
    int failure = errno;
    free(output->temporary);
    output->temporary = NULL;
    errno = failure;
    return -1;
}

/* Gives the file without a name the target's; an existing target is replaced by way of another name. */
static int name_nameless(struct output *output)
{
    char path[32];
    fd_path(output->fd, path);
    if (linkat(AT_FDCWD, path, AT_FDCWD, output->target, AT_SYMLINK_FOLLOW) == 0) return 0;
    for (unsigned attempt = 0; errno == EEXIST && attempt < ATTEMPTS; attempt++) {
        char *name = sibling_name(output, attempt);
        if (!name) return -1;
        int linked = linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW), failure = errno;
        bool placed = linked == 0 && rename(name, output->target) == 0;
        if (linked == 0 && !placed) {
            failure = errno;
            unlink(name);
        }
        free(name);
        errno = failure;
        if (placed || linked == 0) return placed ? 0 : -1;
    }
    return -1;
}

/* An existing file is replaced behind its links and keeps its mode. One without a name (a descriptor below
 * /proc leads to it) has none that another could take. */
static int open_existing(struct output *output, const struct stat *found)
{
    if (!S_ISREG(found->st_mode) || found->st_nlink == 0) {
        output->fd = open(output->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        return output->fd < 0 ? -1 : 0;
    }
    if (access(output->path, W_OK) != 0) return -1;
    output->target = realpath(output->path, NULL);
    if (!output->target || open_sibling(output, 0600) != 0) return -1;
    return fchmod(output->fd, found->st_mode & 07777);
}

int output_open(struct output *output, const char *path, struct cg_error *error)
{
    *output = (struct output){.path = output_is_stdout(path) ? NULL : path, .fd = -1};
    output->buffer = malloc(BUFFER_BYTES);
    if (!output->buffer) return cg_out_of_memory(error);
    if (!output->path) {
        output->fd = STDOUT_FILENO;
        output->failure = stdout_closed ? EBADF : 0;
        return 0;
    }
    struct stat found;
    if (stat(path, &found) == 0) {
        if (open_existing(output, &found) != 0) return open_failed(output, path, error);
        return 0;
    }
    if (errno != ENOENT || make_parents(path) != 0) return open_failed(output, path, error);
    output->target = strdup(path);
    if (!output->target || open_sibling(output, 0666) != 0) return open_failed(output, path, error);
    return 0;
}

static void flush(struct output *output)
{
    size_t done = 0;
    while (done < output->used && !output->failure) {
        ssize_t n = write(output->fd, output->buffer + done, output->used - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            output->failure = errno;
    }
    output->used = 0;
}

int output_write(void *context, const char *bytes, size_t length)
{
    struct output *output = context;
    while (length > 0 && !output->failure) {
        size_t room = BUFFER_BYTES - output->used;
        size_t part = length < room ? length : room;
        memcpy(output->buffer + output->used, bytes, part);
        output->used += part;
        bytes += part;
        length -= part;
        if (output->used == BUFFER_BYTES) flush(output);
    }
    return output->failure;
}

int output_close(struct output *output, struct cg_error *error)
{
    bool nameless = output->target && !output->temporary && output->fd >= 0;
    if (output->target && index_watch_broken()) {
        output_abandon(output);
        return cg_fail(error, CG_EXIT_IO, INDEX_WATCH_TEXT);
    }
    flush(output);
    if (nameless && !output->failure && name_nameless(output) != 0) output->failure = errno;
    if (output->path && output->fd >= 0) {
        /* Network file systems, which have no files without names, report a full disk only here. */
        if (close(output->fd) != 0 && !output->failure) output->failure = errno;
        output->fd = -1;
    }
    if (!output->failure && output->temporary && rename(output->temporary, output->target) != 0)
        output->failure = errno;
    int failure = output->failure;
    if (!failure) {
        unfinished = NULL;
        free(output->temporary);
        output->temporary = NULL;
    }
    const char *name = output->path ? output->path : "standard output";
    output_abandon(output);
    if (failure == 0 || failure == EPIPE) return CG_EXIT_DONE;
    return cg_fail(error, CG_EXIT_IO, "%s: cannot write: %s", name, strerror(failure));
}

void output_abandon(struct output *output)
{
    if (output->path && output->fd >= 0) close(output->fd);
    if (output->temporary) {
        unlink(output->temporary);
        unfinished = NULL;
    }
    free(output->temporary);
    free(output->target);
    free(output->buffer);
    *output = (struct output){.fd = -1};
}
