#include "common/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { HIGH_DESCRIPTOR = 500 };

int descriptor_raise(int fd)
{
    int high = -1;

    /* Numbers above the limit on descriptors are EINVAL: then as high as it allows. */
    for (int from = HIGH_DESCRIPTOR; from > STDERR_FILENO; from /= 2)
        if ((high = fcntl(fd, F_DUPFD_CLOEXEC, from)) >= 0 || errno != EINVAL) break;
    if (high < 0) return fd;
    close(fd);
    return high;
}
