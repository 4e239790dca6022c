/* Whether the program left a trace where they are looked for: one that never calls CUDA leaves none, and says
 * nothing of it. Files are told by what is in them, since their names are the user's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/capture.h"
#include "launcher/launcher.h"

struct trace_file {
    ino_t inode;
    off_t size;
    struct timespec changed;
};

static int compare_files(const void *left, const void *right)
{
    const struct trace_file *a = left, *b = right;
    return (a->inode > b->inode) - (a->inode < b->inode);
}

/* The folder of the traces: that of the output's template below the folder that is set. A template with a
 * field in its folder part is not followed. */
void trace_folder(const struct settings *settings, char *path, size_t size)
{
    const char *slash = strrchr(settings->output, '/');
    int length = slash ? (int)(slash - settings->output) + 1 : 0;
    const char *base = *settings->output == '/' || !*settings->dir ? "" : settings->dir;

    snprintf(path, size, "%s%s%.*s", base, *base ? "/" : "", length, settings->output);
    if (!*path) snprintf(path, size, ".");
}

static bool read_file(int folder, const char *name, struct trace_file *file)
{
    struct stat found;

    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode)) return false;
    *file = (struct trace_file){found.st_ino, found.st_size, found.st_ctim};
    return true;
}

/* False: what is there is not known. A folder that is not there yet has nothing in it. */
static bool list_files(struct trace_watch *watch, DIR *folder)
{
    struct dirent *entry;
    struct trace_file file;
    size_t room = 0;

    while ((entry = readdir(folder))) {
        if (!read_file(dirfd(folder), entry->d_name, &file)) continue;
        if (watch->count == room) {
            room = room ? 2 * room : 64;
            struct trace_file *more = reallocarray(watch->files, room, sizeof file);
            if (!more) return false;
            watch->files = more;
        }
        watch->files[watch->count++] = file;
    }
    if (watch->count > 0) qsort(watch->files, watch->count, sizeof file, compare_files);
    return true;
}

void trace_watch(struct trace_watch *watch, const struct settings *settings)
{
    *watch = (struct trace_watch){.known = false};
    trace_folder(settings, watch->folder, sizeof watch->folder);
    /* What is behind a field is the program's to say. */
    if (strchr(watch->folder, '%')) return;
    DIR *folder = opendir(watch->folder);
    watch->known = folder ? list_files(watch, folder) : errno == ENOENT;
    if (folder) closedir(folder);
}

/* A trace, a capture file, or what is written of a trace whose capture file is elsewhere. */
static bool is_trace(int folder, const char *name)
{
    static const char part[] = ".part";
    size_t end = strlen(name);
    if (end >= sizeof part && strcmp(name + end - (sizeof part - 1), part) == 0) return true;
    static const char meta[] = "{\"kind\":\"meta\"";
    char begin[sizeof meta];
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : pread(fd, begin, sizeof begin, 0);
    const struct cap_header *header = NULL;

    if (fd >= 0) close(fd);
    /* One that cannot be read may be one. */
    return length < 0 || (length >= (ssize_t)sizeof meta - 1 && memcmp(begin, meta, sizeof meta - 1) == 0) ||
           (length >= (ssize_t)sizeof header->magic && memcmp(begin, CAP_MAGIC, sizeof header->magic) == 0);
}

static bool new_trace(const struct trace_watch *watch, int folder, const char *name)
{
    struct trace_file file;

    if (!read_file(folder, name, &file)) return false;
    const struct trace_file *before =
        watch->count ? bsearch(&file, watch->files, watch->count, sizeof file, compare_files) : NULL;
    bool same = before && before->size == file.size && before->changed.tv_sec == file.changed.tv_sec &&
                before->changed.tv_nsec == file.changed.tv_nsec;
    return !same && is_trace(folder, name);
}

static bool left_none(const struct trace_watch *watch)
{
    DIR *folder = opendir(watch->folder);
    struct dirent *entry;
    bool none = folder || errno == ENOENT;

    while (none && folder && (entry = readdir(folder)))
        none = !new_trace(watch, dirfd(folder), entry->d_name);
    if (folder) closedir(folder);
    return none;
}

void trace_tell(struct trace_watch *watch, const struct settings *settings)
{
    char place[PATH_MAX];
    int32_t rank = settings_rank();
    bool wanted = !settings->disable && (rank < 0 || settings_has_rank(settings->ranks, (uint32_t)rank));

    if (!settings->quiet && wanted && watch->known && left_none(watch))
        complain(0, "no trace in %s: %s", realpath(watch->folder, place) ? place : watch->folder,
                 *settings->range ? "no such region was captured, or the program made no CUDA call"
                                  : "a program that makes no CUDA call leaves none");
    free(watch->files);
}
