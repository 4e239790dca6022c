#include "preload/limits.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t limit_of(__rlimit_resource_t what)
{
    struct rlimit limit;

    return getrlimit(what, &limit) || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

/* What is in use, in bytes: fields 1 (size) and 6 (data and stack) of /proc/self/statm. Unknown: all. */
static void in_use(uint64_t *space, uint64_t *data)
{
    char text[256], *at = text;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), fields[6] = {0};
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0) close(fd);
    *space = *data = UINT64_MAX;
    if (length <= 0) return;
    text[length] = '\0';
    for (int i = 0; i < 6; i++)
        fields[i] = strtoull(at, &at, 10);
    *space = fields[0] * page;
    *data = fields[5] * page;
}

static uint64_t rest(uint64_t limit, uint64_t used)
{
    return limit == UINT64_MAX ? UINT64_MAX : limit > used ? limit - used : 0;
}

uint64_t limits_memory_left(void)
{
    uint64_t space_limit = limit_of(RLIMIT_AS), data_limit = limit_of(RLIMIT_DATA), space, data;

    if (space_limit == UINT64_MAX && data_limit == UINT64_MAX) return UINT64_MAX;
    in_use(&space, &data);
    space = rest(space_limit, space);
    data = rest(data_limit, data);
    return space < data ? space : data;
}

uint64_t limits_file_bytes(void)
{
    return limit_of(RLIMIT_FSIZE);
}
