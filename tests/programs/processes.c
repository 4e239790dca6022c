/* usage: processes HOW: other processes in every way that there is; work: some calls, after standard input
 * has ended where the second word is `wait`. */
#include "target.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void work(unsigned value)
{
    CU(cuMemFree(target_work(value)));
}

static void finished(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    printf("ended: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void with_vfork(char *self)
{
    char *words[] = {self, "work", NULL};
    work(1);
    pid_t child = vfork();
    if (child == 0) _exit(9);
    finished(child);
    child = vfork();
    if (child == 0) {
        execv(self, words);
        _exit(127);
    }
    finished(child);
    work(2);
}

static void with_spawn(char *self)
{
    char *words[] = {self, "work", NULL};
    pid_t child;
    work(1);
    if (posix_spawn(&child, self, NULL, NULL, words, environ) != 0) exit(1);
    finished(child);
    work(2);
}

static void with_system(const char *self)
{
    char line[4200];
    work(1);
    snprintf(line, sizeof line, "'%s' work; exit 5", self);
    printf("ended: %d\n", WEXITSTATUS(system(line)));
    work(2);
}

/* The child goes on; what it has to say goes into a file of the folder that it was started in. */
static int with_daemon(void)
{
    puts("begins"); /* no call before: what a process has of CUDA is not its child's */
    fflush(stdout);
    if (daemon(1, 0) != 0) return 1;
    if (!freopen("daemon.txt", "w", stdout)) return 1;
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    work(2);
    fclose(stdout);
    return rename("daemon.txt", "daemon.done") == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "work";
    char byte;
    while (argc > 2 && strcmp(argv[2], "wait") == 0 && read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    if (strcmp(how, "vfork") == 0)
        with_vfork(argv[0]);
    else if (strcmp(how, "spawn") == 0)
        with_spawn(argv[0]);
    else if (strcmp(how, "system") == 0)
        with_system(argv[0]);
    else if (strcmp(how, "daemon") == 0)
        return with_daemon();
    else
        work(3);
    return 0;
}
