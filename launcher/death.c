/* How the program died, written beside the capture files that it left: only its parent is told, and recovery
 * wants to say it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/capture.h"
#include "launcher/launcher.h"

/* ---- the kernel's out-of-memory killer ---- */

/* How often it has killed in our control group (cgroup v2); 0 when that cannot be told. */
static uint64_t oom_kills(void)
{
    char line[PATH_MAX], path[PATH_MAX + 64] = "";
    uint64_t count = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) == 0)
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.events", line + 3);
    }
    if (file) fclose(file);
    file = *path ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "oom_kill ", 9) == 0) count = strtoull(line + 9, NULL, 10);
    if (file) fclose(file);
    return count;
}

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void death_watch(struct death_watch *watch)
{
    watch->oom_kills = oom_kills();
    watch->begin_ns = realtime_ns();
}

/* ---- the files that it left ---- */

/* Is this the unfinished capture of that process, begun since we started it? */
static bool capture_of(int folder, const char *name, pid_t pid, int64_t begin_ns)
{
    struct cap_header header;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ours = fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                memcmp(header.magic, CAP_MAGIC, sizeof header.magic) == 0 && header.version == CAP_VERSION &&
                header.pid == pid && header.first.realtime_ns >= begin_ns &&
                !atomic_load_explicit(&header.closed, memory_order_relaxed);

    if (fd >= 0) close(fd);
    return ours;
}

static void write_note(int folder, const char *capture, const char *text)
{
    char name[NAME_MAX + sizeof CAP_END_SUFFIX];

    snprintf(name, sizeof name, "%s" CAP_END_SUFFIX, capture);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 || dprintf(fd, "%s\n", text) < 0)
        complain(0, "cannot write down how the program ended in %s: %s", name, strerror(errno));
    if (fd >= 0) close(fd);
}

static void look_in(const char *path, pid_t pid, int64_t begin_ns, const char *text)
{
    static const char suffix[] = ".cgt";
    DIR *folder = *path ? opendir(path) : NULL;
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length < sizeof suffix || strcmp(entry->d_name + length - (sizeof suffix - 1), suffix) != 0)
            continue;
        if (capture_of(dirfd(folder), entry->d_name, pid, begin_ns))
            write_note(dirfd(folder), entry->d_name, text);
    }
    if (folder) closedir(folder);
}

void death_write(const struct death_watch *watch, const struct settings *settings, pid_t pid, int status)
{
    char text[256], folder[PATH_MAX];
    const char *elsewhere = getenv("TMPDIR");

    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        bool oom = number == SIGKILL && oom_kills() > watch->oom_kills;
        const char *name = sigabbrev_np(number);
        snprintf(text, sizeof text, "killed by signal %d (SIG%s)%s", number, name ? name : "?",
                 oom ? "; the kernel's out-of-memory killer acted in its control group" : "");
    } else {
        snprintf(text, sizeof text, "ended with status %d before its trace was complete",
                 WEXITSTATUS(status));
    }
    trace_folder(settings, folder, sizeof folder);
    look_in(folder, pid, watch->begin_ns, text);
    look_in("/dev/shm", pid, watch->begin_ns, text);
    look_in(elsewhere && *elsewhere == '/' ? elsewhere : "/tmp", pid, watch->begin_ns, text);
}
