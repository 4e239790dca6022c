/* The processor's single steps through the recorder: SIGTRAP behind each instruction between START() and
 * STOP().
 */
#ifndef CGTRACE_TESTS_API_STEPPING_H
#define CGTRACE_TESTS_API_STEPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100 };

/* The words below the stack pointer are the compiler's. */
#define STEPPING(instruction)                                                                                \
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t" instruction ", (%%rsp)\n\tpopfq\n\t"            \
                     "leaq 128(%%rsp), %%rsp" ::                                                             \
                         : "memory", "cc")
#define START() STEPPING("orq $0x100")
#define STOP()  STEPPING("andq $~0x100")

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

static bool in_library(const greg_t *registers)
{
    uintptr_t at = (uintptr_t)registers[REG_RIP];

    return at >= library && at < library_end;
}

#endif
