/* Memory of a guest whose hypervisor takes back what lies free. */
#ifndef CGTRACE_TESTS_BENCH_WARM_H
#define CGTRACE_TESTS_BENCH_WARM_H

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Touches as much memory as the largest of what is measured needs, in a process of its own. What was taken
 * back comes at a hundredth of the speed of memory: what is measured would tell how long ago somebody else
 * had used this memory. */
static inline void warm_memory(size_t bytes)
{
    enum { STEP = 64 << 20 };
    pid_t child = fork();
    if (child == 0) {
        for (size_t done = 0; done < bytes; done += STEP) {
            char *memory = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) break;
            madvise(memory, STEP, MADV_HUGEPAGE);
            memset(memory, 1, STEP);
        }
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

#endif
