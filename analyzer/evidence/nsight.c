#include "analyzer/evidence/nsight.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/evidence/evidence_private.h"
#include "analyzer/evidence/nsight_private.h"
#include "common/utf8.h"

/* ---- what the other files use ---- */

static void add_line(struct nsight *nsight, struct gpu_texts *lines, const char *format, va_list arguments)
{
    char *line;
    int length = vasprintf(&line, format, arguments);
    /* A reason that was cut may end within a character. */
    size_t valid = length < 0 ? 0 : utf8_valid_length(line, (size_t)length);
    if (length < 0 || !gpu_texts_add(&nsight->gpu->arena, lines, (struct cg_text){line, valid}))
        nsight->no_memory = true;
    if (length >= 0) free(line);
}

void nsight_note(struct nsight *nsight, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_line(nsight, &nsight->gpu->diagnostics, format, arguments);
    va_end(arguments);
}

void nsight_provenance(struct nsight *nsight, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_line(nsight, &nsight->gpu->provenance_diagnostics, format, arguments);
    va_end(arguments);
}

void *nsight_room(struct nsight *nsight, void **at, size_t *count, size_t *room, size_t width)
{
    if (*count == *room) {
        size_t wanted = *room ? 2 * *room : 64;
        void *grown = wanted < UINT32_MAX ? reallocarray(*at, wanted, width) : NULL;
        if (!grown) {
            nsight->no_memory = true;
            return NULL;
        }
        *at = grown;
        *room = wanted;
    }
    char *row = (char *)*at + (*count)++ * width;
    memset(row, 0, width);
    return row;
}

cg_str nsight_intern(struct nsight *nsight, struct cg_text text)
{
    cg_str string =
        strings_intern(nsight->strings, strings_hash(text.bytes, text.length), text.bytes, text.length);
    if (string == CG_ABSENT) nsight->no_memory = true;
    return string;
}

struct cg_text nsight_text(struct nsight *nsight, cg_str string)
{
    struct cg_text text = strings_text(nsight->strings, string);
    if (!text.bytes) return text;
    text = arena_text(&nsight->gpu->arena, text.bytes, text.length);
    if (!text.bytes) nsight->no_memory = true;
    return text;
}

/* Goes from directory to directory by descriptor, so that no part of the path can be a link. */
int nsight_open(const struct nsight *nsight, struct cg_text path)
{
    char part[NAME_MAX + 1];
    int at = nsight->directory;
    const char *from = path.bytes, *end = path.bytes + path.length;

    for (;;) {
        const char *slash = memchr(from, '/', (size_t)(end - from));
        size_t length = (size_t)((slash ? slash : end) - from);
        int fd = -1;
        errno = ENAMETOOLONG;
        if (length < sizeof part) {
            memcpy(part, from, length);
            part[length] = '\0';
            fd = openat(at, part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (slash ? O_DIRECTORY : 0));
        }
        int fault = errno;
        if (at != nsight->directory) close(at);
        errno = fault;
        if (fd < 0) return -1;
        struct stat file;
        if (!slash && (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))) {
            close(fd);
            errno = EINVAL;
            return -1;
        }
        if (!slash) return fd;
        at = fd;
        from = slash + 1;
    }
}

int nsight_hash(const struct nsight *nsight, struct cg_text path, uint64_t *size, char hex[SHA256_HEX])
{
    int fd = nsight_open(nsight, path);
    if (fd < 0) return errno;
    int fault = sha256_descriptor(fd, size, hex);
    close(fd);
    return fault;
}

bool nsight_add_artifact(struct nsight *nsight, struct gpu_artifacts *artifacts, struct cg_text path,
                         uint64_t size, const char *hex)
{
    struct gpu_artifact *at = realloc(artifacts->at, (artifacts->count + 1) * sizeof *at);
    if (at) {
        artifacts->at = at;
        at[artifacts->count] = (struct gpu_artifact){arena_text(&nsight->gpu->arena, path.bytes, path.length),
                                                     size, arena_string(&nsight->gpu->arena, hex)};
    }
    if (!at || !at[artifacts->count].path.bytes || !at[artifacts->count].sha256.bytes) {
        nsight->no_memory = true;
        return false;
    }
    artifacts->count++;
    return true;
}

/* ---- the directory ---- */

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void note_link(struct nsight *nsight, const char *name, size_t number)
{
    enum gpu_report report = nsight_report_of_file(name);
    if (report == NSIGHT_NO_REPORT)
        nsight_note(nsight, "\"%s\" is a symbolic link and was not followed", name);
    else /* its name in a diagnostic would say that the report failed */
        nsight_note(nsight, "entry %zu in order of names, a %s, is a symbolic link and was not followed",
                    number, nsight_title[report]);
}

static void take_entry(struct nsight *nsight, const char *name, size_t number)
{
    struct stat file;
    size_t length = strlen(name);

    if (utf8_valid_length(name, length) != length ||
        fstatat(nsight->directory, name, &file, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (S_ISLNK(file.st_mode)) note_link(nsight, name, number);
    if (S_ISREG(file.st_mode) &&
        !gpu_texts_add(&nsight->gpu->arena, &nsight->files, (struct cg_text){name, length}))
        nsight->no_memory = true;
}

bool nsight_list(struct nsight *nsight, int at, const char *dir)
{
    struct dirent **entries = NULL;
    int count = -1;

    nsight->directory =
        openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (at == AT_FDCWD ? 0 : O_NOFOLLOW));
    if (nsight->directory >= 0) count = scandirat(nsight->directory, ".", &entries, NULL, compare_entries);
    if (count < 0) {
        nsight->failure =
            arena_printf(&nsight->gpu->arena, "the Nsight directory cannot be listed: %s", strerror(errno));
        return false;
    }
    size_t number = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) take_entry(nsight, name, ++number);
        free(entries[i]);
    }
    free(entries);
    return true;
}

static bool has_extension(struct cg_text name, const char *extension)
{
    const char *dot = strrchr(name.bytes, '.');
    return dot && dot != name.bytes && strcmp(dot + 1, extension) == 0;
}

bool nsight_raw_report(struct cg_text name)
{
    return has_extension(name, "nsys-rep") || has_extension(name, "qdrep");
}

static void hash_raw_reports(struct nsight *nsight)
{
    for (size_t i = 0; i < nsight->files.count && !nsight->failure.bytes; i++) {
        struct cg_text name = nsight->files.at[i];
        char hex[SHA256_HEX];
        uint64_t size;
        if (!nsight_raw_report(name)) continue;
        int fault = nsight_hash(nsight, name, &size, hex);
        if (fault)
            nsight->failure = arena_printf(&nsight->gpu->arena, "the raw report %s cannot be read: %s",
                                           name.bytes, strerror(fault));
        else
            nsight_add_artifact(nsight, &nsight->raw_reports, name, size, hex);
    }
    if (nsight->raw_reports.count) nsight->gpu->raw_report = nsight->raw_reports.at[0];
}

static void read_reports(struct nsight *nsight)
{
    for (size_t i = 0; i < nsight->files.count && !nsight->failure.bytes && !nsight->no_memory; i++)
        if (has_extension(nsight->files.at[i], "csv")) nsight_read_csv(nsight, i);
}

/* ---- status ---- */

/* The reason that the exporting script left, or ours (2). */
static struct cg_text absent_reason(struct nsight *nsight)
{
    static const char prefix[] = "reason=";
    char line[4096];
    struct cg_text reason = {0};
    int fd = nsight_open(nsight, text_of("status.txt"));
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    while (file && !reason.bytes && fgets(line, sizeof line, file)) {
        if (strncmp(line, prefix, sizeof prefix - 1) != 0) continue;
        const char *text = line + sizeof prefix - 1;
        size_t length = strcspn(text, "\r\n");
        utf8_trim(&text, &length);
        reason = arena_text(&nsight->gpu->arena, text, utf8_valid_length(text, length));
    }
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    if (!reason.bytes || reason.length == 0)
        reason = arena_string(&nsight->gpu->arena, "the Nsight directory holds no row of a supported report");
    return reason;
}

static void set_status(struct nsight *nsight)
{
    struct gpu_evidence *gpu = nsight->gpu;
    bool any = gpu->kernels.count || gpu->runtime_calls.count || gpu->memory_operations.count ||
               gpu->nvtx_ranges.count || gpu->gpu_timeline.count;
    gpu->status = any ? GPU_AVAILABLE : GPU_UNAVAILABLE;
    if (any) return;
    gpu->reason = absent_reason(nsight);
    if (!gpu->reason.bytes) nsight->no_memory = true;
}

/* ---- the whole ---- */

static void intern_labels(struct nsight *nsight)
{
    const struct gpu_texts *const lists[] = {&nsight->labels->required, &nsight->labels->gpu_expected,
                                             &nsight->labels->cpu_only};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (size_t i = 0; i < lists[l]->count; i++)
            nsight_intern(nsight, lists[l]->at[i]);
}

static void correlate(struct nsight *nsight)
{
    struct nsight_join *joins = nsight_join(nsight);
    if (joins) nsight_correlate(nsight, joins);
    if (joins && !nsight->no_memory) nsight_attribute(nsight, joins);
    free(joins);
}

/* The order of work of nsight.md 1. */
static void load(struct nsight *nsight, int at, const char *dir)
{
    if (!nsight_list(nsight, at, dir)) return;
    hash_raw_reports(nsight);
    if (nsight->failure.bytes) return;
    nsight_read_manifest(nsight);
    intern_labels(nsight);
    read_reports(nsight);
    if (nsight->failure.bytes || nsight->no_memory) return;
    correlate(nsight);
    if (nsight->no_memory) return;
    nsight_finish_rows(nsight);
    nsight_check_manifest(nsight);
    set_status(nsight);
}

void nsight_release(struct nsight *nsight)
{
    for (unsigned i = 0; i < NSIGHT_SUMMARIES; i++)
        free(nsight->totals[i].at);
    free(nsight->ranges.at);
    free(nsight->timeline.at);
    free(nsight->limits);
    free(nsight->files.at);
    free(nsight->raw_reports.at);
    strings_free(nsight->strings);
    if (nsight->directory >= 0) close(nsight->directory);
}

int nsight_load(int at, const char *dir, const struct nsight_labels *labels, struct gpu_evidence *gpu,
                struct cg_error *error)
{
    struct nsight nsight = {.gpu = gpu, .labels = labels, .directory = -1, .strings = strings_new()};
    char *failure = NULL;

    *gpu = (struct gpu_evidence){.binding = GPU_PARTIAL};
    if (nsight.strings)
        load(&nsight, at, dir);
    else
        nsight.no_memory = true;
    bool enough = !nsight.no_memory;
    if (enough && nsight.failure.bytes) {
        failure = strdup(nsight.failure.bytes);
        gpu_free(gpu);
        enough = failure && gpu_make_empty(gpu, GPU_FAILED, failure);
        free(failure);
    }
    if (nsight.strings) nsight_release(&nsight);
    if (enough) return 0;
    gpu_free(gpu);
    return cg_fail(error, CG_EXIT_IO, "%s: out of memory for the Nsight reports", dir);
}

/* ---- labels of a trace ---- */

static bool copy_labels(const struct cg_trace *trace, struct cg_list list, struct gpu_texts *labels)
{
    labels->at = malloc((list.count + 1) * sizeof *labels->at);
    if (!labels->at) return false;
    for (uint32_t i = 0; i < list.count; i++)
        labels->at[labels->count++] = trace_text(trace, trace->str_pool[list.first + i]);
    return true;
}

bool nsight_labels_of(const struct cg_trace *trace, struct nsight_labels *labels)
{
    const struct CG_OBJECT_CONTRACT *contract = &trace->run.capture_contract;
    *labels = (struct nsight_labels){0};
    if (copy_labels(trace, contract->required_semantic_labels, &labels->required) &&
        copy_labels(trace, contract->gpu_expected_semantic_labels, &labels->gpu_expected) &&
        copy_labels(trace, contract->cpu_only_semantic_labels, &labels->cpu_only))
        return true;
    nsight_labels_free(labels);
    return false;
}

void nsight_labels_free(struct nsight_labels *labels)
{
    free(labels->required.at);
    free(labels->gpu_expected.at);
    free(labels->cpu_only.at);
    *labels = (struct nsight_labels){0};
}

int nsight_load_for(int at, const char *dir, const struct cg_trace *trace, struct gpu_evidence *gpu,
                    struct cg_error *error)
{
    struct nsight_labels labels;
    if (!nsight_labels_of(trace, &labels)) return cg_out_of_memory(error);
    int status = nsight_load(at, dir, &labels, gpu, error);
    nsight_labels_free(&labels);
    return status;
}
