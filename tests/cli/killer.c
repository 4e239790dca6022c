/* Preloaded. What KILLER names of these: "write" ends the program with SIGKILL at its first write into a
 * file, "stop" stops it there; "names": as if the file system had no files without names. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool asked(const char *what)
{
    const char *all = getenv("KILLER");
    return all && strstr(all, what);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if ((flags & O_TMPFILE) == O_TMPFILE && asked("names")) return errno = EOPNOTSUPP, -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t length)
{
    static bool stopped;
    struct stat file;
    bool regular = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
    if (regular && asked("write")) raise(SIGKILL);
    if (regular && !stopped && asked("stop")) {
        stopped = true;
        raise(SIGSTOP);
    }
    return syscall(SYS_write, fd, bytes, length);
}
