/* Parent and child: the child works on its own (CUDA before a fork is not used there), or runs another
 * program, or leaves at once. */
#include "target.h"

#include <sys/wait.h>
#include <unistd.h>

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
        target_work(5);
        exit(11);
    }
    finished(child, "child with work");
    target_work(6);
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
    target_work(7);
    return 0;
}
