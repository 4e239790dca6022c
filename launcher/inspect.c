/* Will the dynamic loader preload a library into this program? */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "launcher/launcher.h"

enum { SCRIPT_DEPTH = 5, HEAD_BYTES = 4096 }; /* the kernel follows as many interpreters */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

bool find_program(const char *name, char *buffer, size_t size)
{
    const char *path = getenv("PATH");
    int denied = 0;

    if (strchr(name, '/')) {
        if ((size_t)snprintf(buffer, size, "%s", name) >= size)
            errno = ENAMETOOLONG;
        else if (access(buffer, X_OK) == 0)
            return true;
        return false;
    }
    if (!path) path = "/bin:/usr/bin";
    while (true) {
        size_t length = strcspn(path, ":");
        int used = snprintf(buffer, size, "%.*s%s%s", (int)length, path, length ? "/" : "", name);
        struct stat file;
        if (used > 0 && (size_t)used < size && stat(buffer, &file) == 0 && S_ISREG(file.st_mode)) {
            if (access(buffer, X_OK) == 0) return true;
            denied = errno;
        }
        if (!path[length]) break;
        path += length + 1;
    }
    errno = denied ? denied : ENOENT;
    return false;
}

bool find_library(char *buffer, size_t size)
{
    static const char *const places[] = {"libcgtrace.so", "../lib/libcgtrace.so", ("../lib/" CGT_SONAME)};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length <= 0) return false;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX + 32], whole[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        if (!realpath(path, whole) || strlen(whole) >= size) continue;
        strcpy(buffer, whole);
        return true;
    }
    return false;
}

/* The dynamic loader ignores LD_PRELOAD for programs that run with more rights than their caller. */
static bool privileged(int fd)
{
    struct stat file;

    if (fstat(fd, &file) != 0) return false;
    bool other_user = (file.st_mode & S_ISUID) && file.st_uid != geteuid();
    bool other_group = (file.st_mode & S_ISGID) && file.st_gid != getegid();
    return other_user || other_group || fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* The interpreter of a program that is linked dynamically; false: it has none. */
static bool loader_of(int fd, const Elf64_Ehdr *header, char *buffer, size_t size)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment) return false;
        if (segment.p_type != PT_INTERP) continue;
        size_t length = segment.p_filesz < size ? segment.p_filesz : size - 1;
        if (pread(fd, buffer, length, (off_t)segment.p_offset) != (ssize_t)length) return false;
        buffer[length] = '\0';
        return true;
    }
    return false;
}

bool program_loader(const char *path, char *buffer, size_t size)
{
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool found = fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                 memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                 loader_of(fd, &header, buffer, size);

    if (fd >= 0) close(fd);
    return found;
}

static enum preload_obstacle inspect_elf(int fd, const char *head, size_t length)
{
    Elf64_Ehdr header;

    if (length < sizeof header) return OBSTACLE_NOT_ELF;
    memcpy(&header, head, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != OUR_MACHINE)
        return OBSTACLE_OTHER_CLASS;
    if (privileged(fd)) return OBSTACLE_PRIVILEGED;
    char loader[PATH_MAX];
    if (!loader_of(fd, &header, loader, sizeof loader)) return OBSTACLE_STATIC;
    return strstr(loader, "/ld-linux") ? OBSTACLE_NONE : OBSTACLE_OTHER_LIBC;
}

/* The interpreter that a script's first line names, the one that env finds where it names env; false when it
 * names none. */
static bool interpreter(const char *head, char *path, size_t size)
{
    static const char env[] = "/env";
    char name[NAME_MAX + 1];

    head += 2 + strspn(head + 2, " \t");
    size_t length = strcspn(head, " \t\n");

    if (length == 0 || length >= size) return false;
    memcpy(path, head, length);
    path[length] = '\0';
    if (length < sizeof env || strcmp(path + length - (sizeof env - 1), env) != 0) return true;
    head += length + strspn(head + length, " \t");
    length = strcspn(head, " \t\n");
    if (length == 0 || length >= sizeof name || *head == '-' || memchr(head, '=', length)) return true;
    memcpy(name, head, length);
    name[length] = '\0';
    return find_program(name, path, size);
}

enum preload_obstacle inspect_program(const char *path, const char **culprit)
{
    static char file[PATH_MAX];

    snprintf(file, sizeof file, "%s", path);
    *culprit = file;
    for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
        char head[HEAD_BYTES + 1] = {0};
        int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0) return OBSTACLE_UNREADABLE;
        ssize_t length = pread(fd, head, HEAD_BYTES, 0);
        enum preload_obstacle answer = OBSTACLE_NOT_ELF;
        bool script = length > 2 && memcmp(head, "#!", 2) == 0;
        if (length > 4 && memcmp(head, ELFMAG, SELFMAG) == 0) answer = inspect_elf(fd, head, (size_t)length);
        close(fd);
        if (!script) return answer;
        if (!interpreter(head, file, sizeof file)) return OBSTACLE_NOT_ELF;
    }
    return OBSTACLE_NOT_ELF;
}

const char *obstacle_text(enum preload_obstacle obstacle)
{
    switch (obstacle) {
    case OBSTACLE_STATIC:
        return "is statically linked: nothing can be preloaded into it; link it with shared libc";
    case OBSTACLE_PRIVILEGED:
        return "runs with more rights than its caller (set-user-id, set-group-id or capabilities): the "
               "dynamic "
               "loader ignores LD_PRELOAD for it";
    case OBSTACLE_OTHER_CLASS:
        return "is for another architecture or word size than libcgtrace.so";
    case OBSTACLE_OTHER_LIBC:
        return "is linked with another C library than glibc, for which libcgtrace.so is made";
    case OBSTACLE_UNREADABLE:
    case OBSTACLE_NOT_ELF:
    case OBSTACLE_NONE:
        break;
    }
    return "";
}
