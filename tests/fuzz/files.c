#include "tests/fuzz/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static void remove_folder(void)
{
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; open_folder && (entry = readdir(open_folder));)
        if (entry->d_name[0] != '.') unlinkat(dirfd(open_folder), entry->d_name, 0);
    if (open_folder) closedir(open_folder);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (!folder[0]) {
        strcpy(folder, "/dev/shm/cgtrace-fuzz.XXXXXX");
        if (!mkdtemp(folder)) abort();
        atexit(remove_folder);
    }
    return folder;
}

const char *fuzz_path(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", fuzz_folder(), name);
    return path;
}

void fuzz_put(const char *name, const void *bytes, size_t length)
{
    int fd = open(fuzz_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length) abort();
    close(fd);
}

int fuzz_part(struct fuzz_parts *parts, const uint8_t **bytes, size_t *length)
{
    if (!parts->at || parts->at > parts->end) return 0;
    const uint8_t *stop = memchr(parts->at, 0x1e, (size_t)(parts->end - parts->at));
    if (!stop) stop = parts->end;
    *bytes = parts->at;
    *length = (size_t)(stop - parts->at);
    parts->at = stop + 1;
    return 1;
}

size_t fuzz_choice(const uint8_t *bytes, size_t length, size_t count)
{
    size_t sum = length;
    for (size_t i = 0; i < length; i++)
        sum += bytes[i];
    return sum % count;
}

int fuzz_discard(void *context, const char *bytes, size_t length)
{
    static volatile unsigned sum;
    (void)context;
    for (size_t i = 0; i < length; i++)
        sum = sum + (unsigned char)bytes[i];
    return 0;
}
