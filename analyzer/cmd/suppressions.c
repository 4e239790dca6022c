#include "analyzer/cmd/suppressions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 16 << 20 };

static int add(struct suppressions *suppressions, const char *pattern, struct cg_error *error)
{
    struct suppression *more =
        reallocarray(suppressions->patterns, suppressions->count + 1, sizeof *suppressions->patterns);
    if (!more) return cg_out_of_memory(error);
    suppressions->patterns = more;
    more[suppressions->count] = (struct suppression){.pattern = strdup(pattern)};
    if (!more[suppressions->count].pattern) return cg_out_of_memory(error);
    suppressions->count++;
    return 0;
}

/* Blanks around a pattern are not part of it. */
static char *trim(char *line)
{
    while (*line == ' ' || *line == '\t')
        line++;
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r\n", line[length - 1]))
        line[--length] = '\0';
    return line;
}

static int read_lines(FILE *file, const char *path, struct suppressions *suppressions, struct cg_error *error)
{
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length;
    int status = 0;

    while (status == 0 && (length = getline(&line, &room, file)) >= 0) {
        number++;
        if (strlen(line) != (size_t)length) {
            status = cg_fail(error, CG_EXIT_INPUT, "%s:%zu: a NUL byte, expected a pattern", path, number);
            break;
        }
        /* A byte order mark at the start of the file is no part of the first pattern. */
        bool marked = number == 1 && strncmp(line, "\xEF\xBB\xBF", 3) == 0;
        const char *pattern = trim(marked ? line + 3 : line);
        if (*pattern && *pattern != '#') status = add(suppressions, pattern, error);
    }
    if (status == 0 && ferror(file)) status = cg_fail(error, CG_EXIT_IO, "%s: %s", path, strerror(errno));
    free(line);
    return status;
}

int suppressions_read(const char *path, struct suppressions *suppressions, struct cg_error *error)
{
    struct stat found;
    *suppressions = (struct suppressions){0};
    if (stat(path, &found) != 0)
        return cg_fail(error, errno == EACCES ? CG_EXIT_IO : CG_EXIT_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(found.st_mode)) return cg_fail(error, CG_EXIT_INPUT, "%s: not a regular file", path);
    if (found.st_size > FILE_BYTES_MAX)
        return cg_fail(error, CG_EXIT_INPUT, "%s: more than %d bytes", path, FILE_BYTES_MAX);
    FILE *file = fopen(path, "re");
    if (!file) return cg_fail(error, CG_EXIT_IO, "%s: %s", path, strerror(errno));
    int status = read_lines(file, path, suppressions, error);
    fclose(file);
    if (status != 0) suppressions_free(suppressions);
    return status;
}

void suppressions_free(struct suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++)
        free(suppressions->patterns[i].pattern);
    free(suppressions->patterns);
    *suppressions = (struct suppressions){0};
}

const struct suppression *suppressions_find(struct suppressions *suppressions, const char *const *names,
                                            size_t count)
{
    for (size_t i = 0; i < suppressions->count; i++)
        for (size_t k = 0; k < count; k++)
            if (fnmatch(suppressions->patterns[i].pattern, names[k], 0) == 0) {
                suppressions->patterns[i].groups++;
                return &suppressions->patterns[i];
            }
    return NULL;
}
