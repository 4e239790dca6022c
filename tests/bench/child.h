/* Benches that measure a program with and without the recorder preloaded: the program is the bench itself,
 * run again as a child with "child" and its words. */
#ifndef CGTRACE_TESTS_BENCH_CHILD_H
#define CGTRACE_TESTS_BENCH_CHILD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs a shell command and returns the last number that it prints after `mark`; negative when there is none.
 */
static inline double child_number(const char *command, const char *mark)
{
    FILE *pipe = popen(command, "r");
    char line[4096];
    double number = -1;
    while (pipe && fgets(line, sizeof line, pipe)) {
        const char *at = strstr(line, mark);
        if (at) number = strtod(at + strlen(mark), NULL);
    }
    if (pipe) pclose(pipe);
    return number;
}

static inline const char *child_build(void)
{
    const char *build = getenv("BUILD");
    return build ? build : "build";
}

#endif
