#include "preload/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Out of the way of programs that count on the lowest free number. */
enum { HIGH_DESCRIPTOR = 500 };

static int adopt(struct file *file, int fd)
{
    struct stat now;
    int high = -1;

    /* Numbers above the limit on descriptors are EINVAL: then as high as it allows. */
    for (int from = HIGH_DESCRIPTOR; from > STDERR_FILENO; from /= 2)
        if ((high = fcntl(fd, F_DUPFD_CLOEXEC, from)) >= 0 || errno != EINVAL) break;
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    if (fstat(fd, &now)) {
        int error = errno;
        close(fd);
        return error;
    }
    file->fd = fd;
    file->device = now.st_dev;
    file->inode = now.st_ino;
    return 0;
}

int file_create(struct file *file, const char *path)
{
    int fd;

    file->fd = -1;
    if (strlen(path) >= sizeof file->path) return ENAMETOOLONG;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return errno;
    strcpy(file->path, path);
    return adopt(file, fd);
}

int file_adopt(struct file *file, int fd)
{
    file->path[0] = '\0';
    return adopt(file, fd);
}

static bool is_file(const struct file *file, int fd)
{
    struct stat now;

    return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == file->device && now.st_ino == file->inode;
}

int file_descriptor(struct file *file)
{
    int fd;

    if (is_file(file, file->fd)) return file->fd;
    if (!file->path[0]) return -1;
    file->fd = -1; /* the number is somebody else's now */
    fd = open(file->path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    if (!is_file(file, fd)) {
        close(fd);
        return -1;
    }
    return adopt(file, fd) ? -1 : file->fd;
}

void signal_hold(struct held_signal *held, int number)
{
    sigset_t set, waiting;

    sigemptyset(&set);
    sigaddset(&set, number);
    held->number = number;
    pthread_sigmask(SIG_BLOCK, &set, &held->past);
    held->pending = sigpending(&waiting) == 0 && sigismember(&waiting, number) == 1;
}

void signal_release(const struct held_signal *held, bool sent)
{
    static const struct timespec now;
    sigset_t set;

    if (sent && !held->pending) {
        sigemptyset(&set);
        sigaddset(&set, held->number);
        sigtimedwait(&set, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &held->past, NULL);
}

int file_write(struct file *file, const void *bytes, size_t length, uint64_t offset)
{
    const char *at = bytes;
    int fd = file_descriptor(file), error = 0;
    struct held_signal held;

    if (fd < 0) return EBADF;
    signal_hold(&held, SIGXFSZ);
    while (length > 0 && !error) {
        ssize_t done = pwrite(fd, at, length, (off_t)offset);

        if (done > 0) {
            at += done;
            length -= (size_t)done;
            offset += (uint64_t)done;
        } else if (done == 0) {
            error = ENOSPC;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    signal_release(&held, error == EFBIG);
    return error;
}

int file_allocate(struct file *file, uint64_t offset, uint64_t length)
{
    /* A large one begins anew after each signal: under a fast timer it may never come to its end. */
    enum { TRIES = 100 };
    int fd = file_descriptor(file), error = EINTR;
    struct held_signal held;

    if (fd < 0) return EBADF;
    signal_hold(&held, SIGXFSZ);
    for (int i = 0; i < TRIES && error == EINTR; i++)
        error = fallocate(fd, 0, (off_t)offset, (off_t)length) ? errno : 0;
    signal_release(&held, error == EFBIG);
    return error;
}

void file_close(struct file *file)
{
    if (is_file(file, file->fd)) close(file->fd);
    file->fd = -1;
}
