/* The processor's single steps through the recorder: SIGTRAP behind each instruction between START() and
 * STOP(). And its breakpoints: SIGTRAP before one instruction alone. */
#ifndef CGTRACE_TESTS_API_STEPPING_H
#define CGTRACE_TESTS_API_STEPPING_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TRAP_FLAG = 0x100 };

/* The words below the stack pointer are the compiler's. */
#define STEPPING(instruction)                                                                                \
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t" instruction ", (%%rsp)\n\tpopfq\n\t"            \
                     "leaq 128(%%rsp), %%rsp" ::                                                             \
                         : "memory", "cc")
#define START() STEPPING("orq $0x100")
#define STOP()  STEPPING("andq $~0x100")

/* In a function whose call is left for good: those that come behind it must come from no deeper, or they are
 * taken for calls from inside of it. No compiler leaves this room on the stack out. */
#define DEEPER()                                                                                             \
    char deeper_[1024];                                                                                      \
    __asm__ volatile("" ::"r"(deeper_) : "memory")

static volatile uintptr_t library, library_end;

static void find_library(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    unsigned long begin, end;

    while (maps && fgets(line, sizeof line, maps)) {
        if (!strstr(line, "libcgtrace") || sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
        if (!library) library = begin;
        library_end = end;
    }
    if (maps) fclose(maps);
}

/* A descriptor, at most until whose close() the calling thread has the signal when it comes to `at` for the
 * nth time. Below 0: not allowed here, or not known to this kernel (before 5.13). */
__attribute__((unused)) static int breakpoint(uintptr_t at, uint64_t nth)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
                                         .size = sizeof attributes,
                                         .bp_type = HW_BREAKPOINT_X,
                                         .bp_addr = at,
                                         .bp_len = sizeof(long),
                                         .sample_period = nth,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .sigtrap = 1,
                                         .remove_on_exec = 1};

    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static volatile sig_atomic_t landed;
static void land(int signal_number)
{
    (void)signal_number;
    landed = 1;
}
__attribute__((noinline, noclone)) static void landmark(void)
{
    __asm__ volatile("");
}

/* Whether they come: a machine may take one and never send its signal (guests of some hypervisors). */
__attribute__((unused)) static bool breakpoints_come(void)
{
    struct sigaction past, action = {.sa_handler = land};
    int fd;

    sigaction(SIGTRAP, &action, &past);
    fd = breakpoint((uintptr_t)landmark, 1);
    landmark();
    if (fd >= 0) close(fd);
    sigaction(SIGTRAP, &past, NULL);
    return landed;
}

static bool in_library(const greg_t *registers)
{
    uintptr_t at = (uintptr_t)registers[REG_RIP];

    return at >= library && at < library_end;
}

#endif
