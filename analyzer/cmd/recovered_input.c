#include "analyzer/cmd/recovered_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/recover/recover.h"

static const char capture_suffix[] = ".cgt", part_suffix[] = ".part";

/* The length of path without this end; 0: it does not end so. */
static size_t stem_of(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);
    return length > tail && strcmp(path + length - tail, suffix) == 0 ? length - tail : 0;
}

static bool is_file(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

char *capture_of_input(const char *path)
{
    struct stat found;
    char *capture;
    size_t stem = strlen(path);
    if (stem_of(path, capture_suffix) > 0) return is_file(path) ? strdup(path) : NULL;
    if (stem_of(path, part_suffix) > 0)
        stem = stem_of(path, part_suffix);
    else if (stat(path, &found) == 0 || errno != ENOENT)
        return NULL;
    if (asprintf(&capture, "%.*s%s", (int)stem, path, capture_suffix) < 0) return NULL;
    if (is_file(capture)) return capture;
    free(capture);
    return NULL;
}

static char *temporary_path(const char *capture)
{
    const char *folder = getenv("TMPDIR"), *slash = strrchr(capture, '/');
    const char *name = slash ? slash + 1 : capture;
    char *path, *made;
    if (!folder || *folder != '/') folder = "/tmp";
    if (asprintf(&path, "%s/cg-analyze.XXXXXX", folder) < 0) return NULL;
    made = mkdtemp(path);
    if (made && asprintf(&made, "%s/%.*s", path, (int)stem_of(name, capture_suffix), name) < 0) {
        rmdir(path);
        made = NULL;
    }
    free(path);
    return made;
}

int recovered_input_make(const char *capture, char **trace_path, struct cg_error *error)
{
    struct recover_report report;
    int status;
    *trace_path = temporary_path(capture);
    if (!*trace_path)
        return cg_fail(error, CG_EXIT_IO, "%s: no temporary folder for its trace: %s", capture,
                       strerror(errno));
    status = recover_trace(capture, *trace_path, true, &report, error);
    if (status == 0)
        cg_say("%s: recovered: %s; `cg-analyze recover` keeps the trace", capture, report.reason);
    return status;
}

void recovered_input_remove(char *trace_path)
{
    if (!trace_path) return;
    unlink(trace_path);
    *strrchr(trace_path, '/') = '\0';
    rmdir(trace_path);
    free(trace_path);
}
