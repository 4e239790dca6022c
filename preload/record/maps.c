#include "preload/record/maps.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "preload/signals.h"

/* "begin-end rights offset device inode      name", numbers but the inode in hexadecimal (proc(5)). */
static struct mapping parse(const char *line, size_t length)
{
    enum { FIELDS = 5 };
    struct mapping mapping = {.name = line + length};
    uintptr_t *bounds[2] = {&mapping.begin, &mapping.end};
    size_t at = 0;

    for (int bound = 0; bound < 2; bound++, at++)
        for (; at < length && line[at] != '-' && line[at] != ' '; at++)
            *bounds[bound] =
                *bounds[bound] << 4 | (uintptr_t)(line[at] <= '9' ? line[at] - '0' : line[at] - 'a' + 10);
    for (int field = 1; field < FIELDS && at < length; field++) {
        const char *blank = memchr(line + at, ' ', length - at);

        at = blank ? (size_t)(blank - line) + 1 : length;
    }
    while (at < length && line[at] == ' ')
        at++;
    mapping.name = line + at;
    mapping.name_length = at < length ? length - at : 0;
    return mapping;
}

bool maps_find(uintptr_t address, char *buffer, size_t size, struct mapping *mapping)
{
    uintptr_t before = 0;
    size_t used = 0;
    ssize_t got;
    bool found = false;
    SIGNALS_HELD;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) fd = descriptor_raise(fd); /* the program's other threads go on meanwhile */
    while (fd >= 0 && !found && (got = read(fd, buffer + used, size - used)) > 0) {
        const char *line = buffer, *feed;

        used += (size_t)got;
        while (!found && (feed = memchr(line, '\n', used - (size_t)(line - buffer))) != NULL) {
            *mapping = parse(line, (size_t)(feed - line));
            mapping->before = before;
            before = mapping->end;
            found = address >= mapping->begin && address < mapping->end;
            line = feed + 1;
        }
        if (found || line == buffer) break; /* or a line that is longer than the buffer */
        used -= (size_t)(line - buffer);
        memmove(buffer, line, used);
    }
    if (fd >= 0) close(fd);
    return found;
}
