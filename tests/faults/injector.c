/* Fails chosen calls of libcgtrace.so into the C library; a call from elsewhere passes. A place is a function
 * and the offset in libcgtrace.so that it is called from.
 *
 * INJECT=list:FILE          appends each place to FILE when it is first met: "name offset"
 * INJECT=fail:NAME:OFFSET:ERRNO:NTH
 *                           the NTH call there fails with ERRNO, from 1; 0: every one. ERRNO 0: pwrite() and
 *                           write() write less than they were given, read() and pread() find the end. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *old, size_t size);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);

/* ---- without the C library's own, which are what is failed ---- */

static long raw(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    long result = raw(number, a, b, c, d, e, f);

    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}
#define P(pointer) ((long)(intptr_t)(pointer))

/* ---- which calls ---- */

static uintptr_t begin, end;
static char mode, target_name[32], list_path[512];
static unsigned long target_offset, target_nth;
static int target_error;
static _Atomic unsigned long hits;

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    size_t length = strlen(info->dlpi_name);

    (void)size;
    (void)unused;
    if (length < 13 || strcmp(info->dlpi_name + length - 13, "libcgtrace.so") != 0) return 0;
    begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    return 1;
}

static void read_order(void)
{
    static const char key[] = "INJECT=";
    const char *text = NULL;

    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, key, sizeof key - 1) == 0) text = *at + sizeof key - 1;
    if (!environ) return; /* the loader's own calls, before there is one */
    mode = 'n';
    if (!text) return;
    dl_iterate_phdr(find_library, NULL);
    if (!end) return;
    if (sscanf(text, "fail:%31[^:]:%lx:%d:%lu", target_name, &target_offset, &target_error, &target_nth) == 4)
        mode = 'f';
    else if (sscanf(text, "list:%511s", list_path) == 1)
        mode = 'l';
}

static void list(const char *name, uintptr_t offset)
{
    static _Atomic uintptr_t seen[4096];
    char line[64];
    long fd;

    for (size_t i = 0; i < 4096; i++) {
        uintptr_t empty = 0;
        if (atomic_compare_exchange_strong(&seen[i], &empty, offset)) break;
        if (empty == offset) return;
    }
    int length = snprintf(line, sizeof line, "%s %lx\n", name, offset);
    fd = raw(SYS_open, P(list_path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644, 0, 0, 0);
    if (fd < 0) return;
    raw(SYS_write, fd, P(line), length, 0, 0, 0);
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

static bool chosen(const char *name, void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    int past = errno;
    bool fails = false;

    if (!mode) read_order();
    if (mode && mode != 'n' && at >= begin && at < end) {
        if (mode == 'l') list(name, at - begin);
        if (mode == 'f' && at - begin == target_offset && strcmp(name, target_name) == 0)
            fails = atomic_fetch_add(&hits, 1) + 1 == target_nth || target_nth == 0;
    }
    errno = fails ? target_error : past;
    return fails;
}
#define CHOSEN chosen(__func__, __builtin_return_address(0))

/* ---- system calls ---- */

#define FAILS_AS(value)                                                                                      \
    if (CHOSEN) return value

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int permissions = va_arg(more, int);
    va_end(more);
    FAILS_AS(-1);
    return (int)call(SYS_openat, AT_FDCWD, P(path), flags, permissions, 0, 0);
}
void *mmap(void *place, size_t length, int protection, int flags, int fd, off_t offset)
{
    FAILS_AS(MAP_FAILED);
    return (void *)call(SYS_mmap, P(place), (long)length, protection, flags, fd, offset);
}
void *mremap(void *old, size_t old_size, size_t new_size, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *place = va_arg(more, void *);
    va_end(more);
    FAILS_AS(MAP_FAILED);
    return (void *)call(SYS_mremap, P(old), (long)old_size, (long)new_size, flags, P(place), 0);
}
int mprotect(void *place, size_t length, int protection)
{
    FAILS_AS(-1);
    return (int)call(SYS_mprotect, P(place), (long)length, protection, 0, 0, 0);
}
int munmap(void *place, size_t length)
{
    FAILS_AS(-1);
    return (int)call(SYS_munmap, P(place), (long)length, 0, 0, 0, 0);
}
int madvise(void *place, size_t length, int advice)
{
    FAILS_AS(-1);
    return (int)call(SYS_madvise, P(place), (long)length, advice, 0, 0, 0);
}
int memfd_create(const char *name, unsigned flags)
{
    FAILS_AS(-1);
    return (int)call(SYS_memfd_create, P(name), flags, 0, 0, 0, 0);
}
int fallocate(int fd, int how, off_t offset, off_t length)
{
    FAILS_AS(-1);
    return (int)call(SYS_fallocate, fd, how, offset, length, 0, 0);
}
int ftruncate(int fd, off_t length)
{
    FAILS_AS(-1);
    return (int)call(SYS_ftruncate, fd, length, 0, 0, 0, 0);
}
int fsync(int fd)
{
    FAILS_AS(-1);
    return (int)call(SYS_fsync, fd, 0, 0, 0, 0, 0);
}
int sync_file_range(int fd, off_t offset, off_t length, unsigned flags)
{
    FAILS_AS(-1);
    return (int)call(SYS_sync_file_range, fd, offset, length, flags, 0, 0);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    bool fails = CHOSEN;
    if (fails && target_error) return -1;
    return call(SYS_pwrite64, fd, P(bytes), (long)(fails ? (length + 1) / 2 : length), offset, 0, 0);
}
ssize_t write(int fd, const void *bytes, size_t length)
{
    bool fails = CHOSEN;
    if (fails && target_error) return -1;
    return call(SYS_write, fd, P(bytes), (long)(fails ? (length + 1) / 2 : length), 0, 0, 0);
}
ssize_t pread(int fd, void *bytes, size_t length, off_t offset)
{
    FAILS_AS(target_error ? -1 : 0);
    return call(SYS_pread64, fd, P(bytes), (long)length, offset, 0, 0);
}
ssize_t read(int fd, void *bytes, size_t length)
{
    FAILS_AS(target_error ? -1 : 0);
    return call(SYS_read, fd, P(bytes), (long)length, 0, 0, 0);
}
int close(int fd)
{
    if (CHOSEN) { /* as the kernel does it: the descriptor is gone all the same */
        raw(SYS_close, fd, 0, 0, 0, 0, 0);
        return -1;
    }
    return (int)call(SYS_close, fd, 0, 0, 0, 0, 0);
}
int fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    FAILS_AS(-1);
    return (int)call(SYS_fcntl, fd, command, argument, 0, 0, 0);
}
int fstat(int fd, struct stat *status)
{
    FAILS_AS(-1);
    return (int)call(SYS_fstat, fd, P(status), 0, 0, 0, 0);
}
int lstat(const char *path, struct stat *status)
{
    FAILS_AS(-1);
    return (int)call(SYS_lstat, P(path), P(status), 0, 0, 0, 0);
}
int stat(const char *path, struct stat *status)
{
    FAILS_AS(-1);
    return (int)call(SYS_stat, P(path), P(status), 0, 0, 0, 0);
}
ssize_t readlink(const char *path, char *out, size_t size)
{
    FAILS_AS(-1);
    return call(SYS_readlink, P(path), P(out), (long)size, 0, 0, 0);
}
int statfs(const char *path, struct statfs *status)
{
    FAILS_AS(-1);
    return (int)call(SYS_statfs, P(path), P(status), 0, 0, 0, 0);
}
int mkdir(const char *path, mode_t permissions)
{
    FAILS_AS(-1);
    return (int)call(SYS_mkdir, P(path), permissions, 0, 0, 0, 0);
}
int link(const char *from, const char *to)
{
    FAILS_AS(-1);
    return (int)call(SYS_link, P(from), P(to), 0, 0, 0, 0);
}
int unlink(const char *path)
{
    FAILS_AS(-1);
    return (int)call(SYS_unlink, P(path), 0, 0, 0, 0, 0);
}
int getrlimit(__rlimit_resource_t what, struct rlimit *limit)
{
    FAILS_AS(-1);
    return (int)call(SYS_prlimit64, 0, (long)what, 0, P(limit), 0, 0);
}
int prctl(int option, ...)
{
    va_list more;
    long a[4];
    va_start(more, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    FAILS_AS(-1);
    return (int)call(SYS_prctl, option, a[0], a[1], a[2], a[3], 0);
}
int nanosleep(const struct timespec *time, struct timespec *rest)
{
    FAILS_AS(-1);
    return (int)call(SYS_nanosleep, P(time), P(rest), 0, 0, 0, 0);
}
long syscall(long number, ...)
{
    va_list more;
    long a[6];
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    if (number != SYS_exit_group) FAILS_AS(-1);
    return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- the C library's ---- */

#define NEXT(name) ((__typeof__(&(name)))(uintptr_t)dlsym(RTLD_NEXT, #name))

void *malloc(size_t size)
{
    FAILS_AS(NULL);
    return __libc_malloc(size);
}
void *realloc(void *old, size_t size)
{
    FAILS_AS(NULL);
    return __libc_realloc(old, size);
}
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*run)(void *), void *restrict argument)
{
    FAILS_AS(target_error);
    return NEXT(pthread_create)(thread, attributes, run, argument);
}
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    FAILS_AS(target_error);
    return NEXT(pthread_getattr_np)(thread, attributes);
}
int pthread_attr_init(pthread_attr_t *attributes)
{
    FAILS_AS(target_error);
    return NEXT(pthread_attr_init)(attributes);
}
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size)
{
    FAILS_AS(target_error);
    return NEXT(pthread_attr_setstacksize)(attributes, size);
}
int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    FAILS_AS(target_error);
    return NEXT(pthread_key_create)(key, destroy);
}
int pthread_setspecific(pthread_key_t key, const void *value)
{
    FAILS_AS(target_error);
    return NEXT(pthread_setspecific)(key, value);
}
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object)
{
    FAILS_AS(target_error);
    return NEXT(__register_atfork)(prepare, parent, child, object);
}
int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                 const struct timespec *restrict limit)
{
    FAILS_AS(-1);
    return NEXT(sigtimedwait)(set, info, limit);
}
int sigpending(sigset_t *set)
{
    FAILS_AS(-1);
    return NEXT(sigpending)(set);
}
int gethostname(char *name, size_t length)
{
    FAILS_AS(-1);
    return NEXT(gethostname)(name, length);
}
char *getcwd(char *buffer, size_t size)
{
    FAILS_AS(NULL);
    return NEXT(getcwd)(buffer, size);
}
char *realpath(const char *restrict path, char *restrict resolved)
{
    FAILS_AS(NULL);
    return NEXT(realpath)(path, resolved);
}
int setenv(const char *name, const char *value, int replace)
{
    FAILS_AS(-1);
    return NEXT(setenv)(name, value, replace);
}
locale_t newlocale(int mask, const char *name, locale_t base)
{
    FAILS_AS((locale_t)0);
    return NEXT(newlocale)(mask, name, base);
}
int dladdr(const void *address, Dl_info *info)
{
    FAILS_AS(0);
    return NEXT(dladdr)(address, info);
}
