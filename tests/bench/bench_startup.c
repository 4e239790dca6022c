/* What the library costs a program that never touches CUDA: the time of fork, exec and its end, in turns with
 * and without it, and that it leaves no file and starts no thread. The program is this one, started again. */
#include <dirent.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/child.h"

enum { STARTS = 200 };

extern char **environ;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder) closedir(folder);
    return count;
}

/* Milliseconds from start to end; the child fails when it finds a second thread. */
static double start(char *self, char *const environment[])
{
    char *arguments[] = {self, "child", NULL};
    double begin = now_ms();
    pid_t pid;
    int status;
    if (posix_spawn(&pid, self, NULL, NULL, arguments, environment) || waitpid(pid, &status, 0) != pid ||
        status) {
        fprintf(stderr, "bench_startup: the program that was started failed\n");
        exit(1);
    }
    return now_ms() - begin;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "child")) return entries("/proc/self/task") != 1;
    char folder[] = "/tmp/bench_startup.XXXXXX", self[4096], library[4096 + 32], preload[sizeof library + 16];
    char *bare[] = {"A=1", NULL}, *with[] = {preload, NULL};
    double of_bare[STARTS], of_with[STARTS];
    if (!realpath(argv[0], self) || !realpath(child_build(), library)) return 1;
    strcat(library, "/libcgtrace.so");
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    if (!mkdtemp(folder) || chdir(folder)) return 1;
    for (int i = 0; i < STARTS; i++) {
        of_bare[i] = start(self, bare);
        of_with[i] = start(self, with);
    }
    int left = entries(".");
    if (left) fprintf(stderr, "bench_startup: %d files were left in %s\n", left, folder);
    if (left || chdir("/") || rmdir(folder)) return 1;
    qsort(of_bare, STARTS, sizeof *of_bare, ascending);
    qsort(of_with, STARTS, sizeof *of_with, ascending);
    double added = of_with[STARTS / 2] - of_bare[STARTS / 2];
    printf("# without the library %.2f ms, with it %.2f ms\n", of_bare[STARTS / 2], of_with[STARTS / 2]);
    /* The goal stands in the place of a floor. */
    printf("BENCH startup_added %.3f 1 %.3f <=1 ms\n", added, added);
    return 0;
}
