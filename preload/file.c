#include "preload/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "preload/signals.h"
#include "preload/unnoticed.h"

/* With no more descriptors than these the program may need each of them: ours are closed between uses. */
enum { FEW_DESCRIPTORS = 64 };
/* How long a write waits for the program to give one of them back. */
enum { FREE_WAITS_MS = 1000 };
/* Of calls in a row that signals interrupt, until we do without. */
enum { TRIES = 100 };

static bool few_descriptors(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= FEW_DESCRIPTORS;
}

static int adopt(struct file *file, int fd)
{
    struct stat now;

    file->fd = -1;
    if (fstat(fd, &now)) {
        int error = errno;
        close(fd);
        return error;
    }
    file->device = now.st_dev;
    file->inode = now.st_ino;
    if (file->path[0] && few_descriptors())
        close(fd);
    else
        file->fd = descriptor_raise(fd);
    return 0;
}

int file_create(struct file *file, const char *path)
{
    int fd;
    SIGNALS_HELD;
    ERRNO_KEPT;

    file->fd = -1;
    if (strlen(path) >= sizeof file->path) return ENAMETOOLONG;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return errno;
    strcpy(file->path, path);
    return adopt(file, fd);
}

int file_adopt(struct file *file, int fd)
{
    SIGNALS_HELD;
    ERRNO_KEPT;

    file->path[0] = '\0';
    return adopt(file, fd);
}

static bool is_file(const struct file *file, int fd)
{
    struct stat now;

    return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == file->device && now.st_ino == file->inode;
}

/* A descriptor of the file, for one use: the one that is kept, after making sure that it still is this file;
 * else one of its own, since several threads may be here. -1: it cannot be had (errno). */
static int take(const struct file *file)
{
    int fd;

    if (is_file(file, file->fd)) return file->fd;
    errno = EBADF;
    if (!file->path[0]) return -1;
    fd = open(file->path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    if (!is_file(file, fd)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return descriptor_raise(fd);
}

/* Waits a while where there is no descriptor left: a program of few may have all of them for a moment. For
 * the writer alone: a call of the program's is not to wait for it. */
static int take_when_free(const struct file *file)
{
    int fd;

    for (int i = 0; (fd = take(file)) < 0 && errno == EMFILE && i < FREE_WAITS_MS; i++)
        nap_ns(1000 * 1000);
    return fd;
}

static void let_go(const struct file *file, int fd)
{
    int past = errno;

    if (fd >= 0 && fd != file->fd) close(fd);
    errno = past;
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

/* Writes or reads all of the bytes. */
static int transfer(int fd, char *bytes, size_t length, uint64_t offset, bool writes)
{
    int error = 0, interrupted = 0;

    while (length > 0 && !error) {
        ssize_t done =
            writes ? pwrite(fd, bytes, length, (off_t)offset) : pread(fd, bytes, length, (off_t)offset);

        if (done > 0) {
            bytes += done;
            length -= (size_t)done;
            offset += (uint64_t)done;
            interrupted = 0;
        } else if (done == 0) {
            error = writes ? ENOSPC : EIO; /* the file ends before it should */
        } else if (errno != EINTR || ++interrupted == TRIES) {
            error = errno;
        }
    }
    return error;
}

int file_write(const struct file *file, const void *bytes, size_t length, uint64_t offset)
{
    SIGNALS_HELD;
    ERRNO_KEPT;
    int fd = take_when_free(file), error;
    struct held_signal held;

    if (fd < 0) return errno;
    signal_hold(&held, SIGXFSZ);
    error = transfer(fd, (char *)bytes, length, offset, true);
    signal_release(&held, error == EFBIG);
    let_go(file, fd);
    return error;
}

int file_read(const struct file *file, void *bytes, size_t length, uint64_t offset)
{
    SIGNALS_HELD;
    ERRNO_KEPT;
    int fd = take(file), error;

    if (fd < 0) return errno;
    error = transfer(fd, bytes, length, offset, false);
    let_go(file, fd);
    return error;
}

int file_read_from(int fd, void *bytes, size_t length)
{
    SIGNALS_HELD;
    ERRNO_KEPT;

    return transfer(fd, bytes, length, 0, false);
}

int file_allocate(const struct file *file, uint64_t offset, uint64_t length)
{
    SIGNALS_HELD;
    ERRNO_KEPT;
    int fd = take(file), error = EINTR;
    struct held_signal held;

    if (fd < 0) return errno;
    signal_hold(&held, SIGXFSZ);
    /* A large one begins anew after each signal: under a fast timer it may never come to its end. */
    for (int i = 0; i < TRIES && error == EINTR; i++)
        error = fallocate(fd, 0, (off_t)offset, (off_t)length) ? errno : 0;
    signal_release(&held, error == EFBIG);
    let_go(file, fd);
    return error;
}

int file_reserve(const struct file *file, uint64_t offset, uint64_t length)
{
    SIGNALS_HELD;
    ERRNO_KEPT;
    int fd = take(file), error;

    if (fd < 0) return errno;
    error = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)length) ? errno : 0;
    let_go(file, fd);
    return error;
}

int file_resize(const struct file *file, uint64_t length)
{
    SIGNALS_HELD;
    ERRNO_KEPT;
    int fd = take(file), error = EINTR;
    struct held_signal held;

    if (fd < 0) return errno;
    signal_hold(&held, SIGXFSZ);
    for (int i = 0; i < TRIES && error == EINTR; i++)
        error = ftruncate(fd, (off_t)length) ? errno : 0;
    signal_release(&held, error == EFBIG);
    let_go(file, fd);
    return error;
}

static int sync_whole(int fd)
{
    int error = EINTR;

    for (int i = 0; i < TRIES && error == EINTR; i++)
        error = fsync(fd) ? errno : 0;
    return error;
}

int file_sync(const struct file *file)
{
    SIGNALS_HELD;
    ERRNO_KEPT;
    int fd = take(file), error;

    if (fd < 0) return errno;
    error = sync_whole(fd);
    let_go(file, fd);
    return error;
}

int file_sync_kept(const struct file *file)
{
    SIGNALS_HELD;
    ERRNO_KEPT;

    return is_file(file, file->fd) ? sync_whole(file->fd) : 0;
}

int file_begin_sync(const struct file *file, uint64_t offset, uint64_t length)
{
    SIGNALS_HELD;
    ERRNO_KEPT;
    int fd = take(file), error;

    if (fd < 0) return errno;
    error = sync_file_range(fd, (off_t)offset, (off_t)length, SYNC_FILE_RANGE_WRITE) ? errno : 0;
    let_go(file, fd);
    return error;
}

void *file_map(const struct file *file, void *place, size_t bytes, uint64_t offset)
{
    SIGNALS_HELD;
    int fd = take(file);
    void *map = fd < 0 ? MAP_FAILED
                       : mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd,
                              (off_t)offset);

    let_go(file, fd);
    return map == MAP_FAILED ? NULL : map;
}

bool file_in_place(const struct file *file)
{
    ERRNO_KEPT;
    struct stat now;

    return file->path[0] && lstat(file->path, &now) == 0 && now.st_dev == file->device &&
           now.st_ino == file->inode;
}

void file_close(struct file *file)
{
    SIGNALS_HELD;
    ERRNO_KEPT;

    if (is_file(file, file->fd)) close(file->fd);
    file->fd = -1;
}
