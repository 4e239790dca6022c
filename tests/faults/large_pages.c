/* Preloaded, it gives the program pages of 64 KiB, as kernels for aarch64 and ppc64le have them: addresses
 * and offsets of mappings must be multiples of that, lengths are rounded up to it, and all of a page goes or
 * stays. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGE = 64 << 10 };

static bool whole(uint64_t at)
{
    if (at % LARGE == 0) return true;
    errno = EINVAL;
    return false;
}

static size_t rounded(size_t bytes)
{
    return (bytes + LARGE - 1) / LARGE * LARGE;
}

long sysconf(int name)
{
    return name == _SC_PAGESIZE ? LARGE : -1;
}

/* In a place that is large enough for one that begins at a large page. */
static void *map(void *place, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, place, bytes, protection, flags, fd, offset);
}

void *mmap(void *place, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (!whole((uint64_t)offset)) return MAP_FAILED;
    if (flags & MAP_FIXED)
        return whole((uintptr_t)place) ? map(place, rounded(bytes), protection, flags, fd, offset)
                                       : MAP_FAILED;
    char *room =
        map(NULL, rounded(bytes) + LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return room;
    return map(room + (LARGE - (uintptr_t)room % LARGE) % LARGE, rounded(bytes), protection,
               flags | MAP_FIXED, fd, offset);
}

int munmap(void *place, size_t bytes)
{
    return whole((uintptr_t)place) ? (int)syscall(SYS_munmap, place, rounded(bytes)) : -1;
}

int madvise(void *place, size_t bytes, int advice)
{
    return whole((uintptr_t)place) ? (int)syscall(SYS_madvise, place, rounded(bytes), advice) : -1;
}

int mprotect(void *place, size_t bytes, int protection)
{
    return whole((uintptr_t)place) ? (int)syscall(SYS_mprotect, place, rounded(bytes), protection) : -1;
}
