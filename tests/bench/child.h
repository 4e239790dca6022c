/* Benches that measure other programs: with and without the recorder preloaded, where the program is the
 * bench itself, run again as a child with "child" and its words; or cg-analyze as people run it. */
#ifndef CGTRACE_TESTS_BENCH_CHILD_H
#define CGTRACE_TESTS_BENCH_CHILD_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a shell command; numbers: the last that it prints after each of `count` marks, negative where there is
 * none. */
static inline void child_numbers(const char *command, const char *const *marks, double *numbers, int count)
{
    FILE *pipe = popen(command, "r");
    char line[4096];
    for (int i = 0; i < count; i++)
        numbers[i] = -1;
    while (pipe && fgets(line, sizeof line, pipe))
        for (int i = 0; i < count; i++) {
            const char *at = strstr(line, marks[i]);
            if (at) numbers[i] = strtod(at + strlen(marks[i]), NULL);
        }
    if (pipe) pclose(pipe);
}

static inline double child_number(const char *command, const char *mark)
{
    double number;
    child_numbers(command, &mark, &number, 1);
    return number;
}

static inline const char *child_build(void)
{
    const char *build = getenv("BUILD");
    return build ? build : "build";
}

struct child_cost {
    double cpu;  /* s, of user and system: other work on the machine counts as little as it can */
    double peak; /* bytes of memory, those of mapped files included */
};

/* Runs a program, its standard output into the file (NULL: nowhere); ends the bench when it fails. */
static inline struct child_cost child_run(const char *const *words, const char *output)
{
    struct rusage usage;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open(output ? output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644);
        dup2(fd, STDOUT_FILENO);
        execv(words[0], (char *const *)(size_t)words);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
        fprintf(stderr, "bench: %s %s failed\n", words[0], words[1]);
        exit(1);
    }
    return (struct child_cost){(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
                               (double)usage.ru_maxrss * 1024};
}

/* The least of some costs that noise only adds to. */
struct least {
    double best, second;
    int count;
};

static inline void least_add(struct least *least, double cost)
{
    if (least->count == 0 || cost < least->best) {
        least->second = least->best;
        least->best = cost;
    } else if (least->count == 1 || cost < least->second) {
        least->second = cost;
    }
    least->count++;
}

/* Whether it was seen twice, to 3 %. */
static inline bool least_settled(const struct least *least)
{
    return least->count > 1 && least->second <= least->best * 1.03;
}

/* That it was not, where it was not; name: of the row. */
static inline void least_say(const struct least *least, const char *name)
{
    if (!least_settled(least))
        printf("NOTE %s of %d times the two least differ by %.0f %%\n", name, least->count,
               (least->second / least->best - 1) * 100);
}

#endif
