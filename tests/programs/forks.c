/* Parent and child: the child works on its own (CUDA before a fork is not used there), or runs another
 * program, or leaves at once. */
#include "target.h"

#include <sys/wait.h>
#include <unistd.h>

static int work(unsigned value)
{
    CUmodule module = NULL;
    CUdeviceptr data;
    uint32_t first;
    target_open(0);
    CUfunction fill = target_kernel(&module, "fill");
    CU(cuMemAlloc(&data, 4096));
    target_fill(fill, data, 1024, value, NULL);
    CU(cuMemcpyDtoH(&first, data, 4));
    printf("value %u\n", first);
    fflush(stdout);
    return 0;
}

static void finished(pid_t child, const char *what)
{
    int status = 0;
    waitpid(child, &status, 0);
    printf("%s: %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fflush(stdout);
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        work(5);
        exit(11);
    }
    finished(child, "child with work");
    work(6);
    if ((child = fork()) == 0) _exit(12);
    finished(child, "child that leaves");
    if ((child = fork()) == 0) exit(13);
    finished(child, "child that exits");
    if ((child = vfork()) == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(14);
    }
    finished(child, "other program");
    if ((child = vfork()) == 0) _exit(15);
    finished(child, "vfork child that leaves");
    return work(7);
}
