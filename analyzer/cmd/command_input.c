#include "analyzer/cmd/command_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/cmd/commands.h"
#include "analyzer/cmd/progress.h"
#include "analyzer/cmd/recovered_input.h"
#include "analyzer/evidence/nsight.h"
#include "analyzer/planes/array.h"
#include "analyzer/trace/jobs.h"
#include "common/utf8.h"

static char *join(const char *directory, const char *name)
{
    char *path;
    size_t length = strlen(directory);
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", directory, slash, name) < 0 ? NULL : path;
}

/* The directory that holds path; the current one for a bare name. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    while (slash > path && slash[-1] == '/')
        slash--;
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Mode of directory/name without following a link; 0 when there is no such entry. */
static mode_t entry_mode(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat found;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path) return 0;
    return lstat(path, &found) == 0 ? found.st_mode : 0;
}

/* Status when the directory is no place for a raw trace. *bundle: it is a bundle. */
static int look_at_directory(const char *directory, bool *bundle, struct cg_error *error)
{
    mode_t manifest = entry_mode(directory, "bundle.json");
    *bundle = S_ISREG(manifest);
    if (manifest && !*bundle)
        return cg_fail(error, CG_EXIT_INPUT, "%s/bundle.json: not a regular file", directory);
    return 0;
}

/* Its GPU evidence would be dropped silently and that of the trace alone shown instead. */
static int refuse_augmented(const char *directory, struct cg_error *error)
{
    static const char *const names[] = {"evidence.json", "nsight"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (entry_mode(directory, names[i]))
            return cg_fail(error, CG_EXIT_INPUT,
                           "%s: holds %s but no bundle.json: move the trace elsewhere to read it alone, or "
                           "restore the bundle",
                           directory, names[i]);
    return 0;
}

static int resolve_directory(struct command_input *input, struct input_needs needs, struct cg_error *error)
{
    const char *path = input->requested_path;
    bool bundle;
    int status = look_at_directory(path, &bundle, error);
    if (status) return status;
    if (bundle) {
        input->bundle_root = strdup(path);
        input->trace_path = join(path, "trace.jsonl");
        return input->bundle_root && input->trace_path ? 0 : cg_out_of_memory(error);
    }
    input->trace_path = join(path, "trace.jsonl");
    if (!input->trace_path) return cg_out_of_memory(error);
    struct stat found;
    if (stat(input->trace_path, &found) != 0 || !S_ISREG(found.st_mode))
        return cg_fail(error, CG_EXIT_INPUT, "%s: a directory without a regular trace.jsonl", path);
    return needs.augmented ? 0 : refuse_augmented(path, error);
}

static int resolve_file(struct command_input *input, struct input_needs needs, struct cg_error *error)
{
    char *parent = parent_of(input->requested_path);
    if (!parent) return cg_out_of_memory(error);
    bool bundle;
    int status = look_at_directory(parent, &bundle, error);
    if (status == 0 && bundle) {
        input->bundle_root = parent;
        input->trace_path = join(parent, "trace.jsonl");
        return input->trace_path ? 0 : cg_out_of_memory(error);
    }
    if (status == 0 && !needs.augmented) status = refuse_augmented(parent, error);
    free(parent);
    if (status) return status;
    input->trace_path = strdup(input->requested_path);
    return input->trace_path ? 0 : cg_out_of_memory(error);
}

static int resolve(struct command_input *input, struct input_needs needs, struct cg_error *error)
{
    const char *path = input->requested_path;
    if (utf8_valid_length(path, strlen(path)) != strlen(path))
        return cg_fail(error, CG_EXIT_INPUT, "the path of the input is not UTF-8");
    if (strcmp(path, "-") == 0) {
        input->trace_path = strdup(path);
        return input->trace_path ? 0 : cg_out_of_memory(error);
    }
    struct stat found;
    char *capture = capture_of_input(path);
    if (capture) {
        input->trace_path = capture;
        return recovered_input_make(capture, &input->recovered, error);
    }
    if (stat(path, &found) != 0)
        return cg_fail(error, errno == EACCES ? CG_EXIT_IO : CG_EXIT_INPUT, "%s: %s", path, strerror(errno));
    if (S_ISDIR(found.st_mode)) return resolve_directory(input, needs, error);
    if (!S_ISREG(found.st_mode))
        return cg_fail(error, CG_EXIT_INPUT, "%s: not a regular file (use - for standard input)", path);
    return resolve_file(input, needs, error);
}

int command_input_raw(const char *path, char **trace_path, struct cg_error *error)
{
    struct stat found;
    *trace_path = NULL;
    if (strcmp(path, "-") == 0) {
        *trace_path = strdup(path);
    } else if (stat(path, &found) != 0) {
        return cg_fail(error, errno == EACCES ? CG_EXIT_IO : CG_EXIT_INPUT, "%s: %s", path, strerror(errno));
    } else if (S_ISDIR(found.st_mode)) {
        if (entry_mode(path, "bundle.json"))
            return cg_fail(error, CG_EXIT_INPUT, "%s: a bundle; a raw trace is wanted", path);
        int status = refuse_augmented(path, error);
        if (status != 0) return status;
        *trace_path = join(path, "trace.jsonl");
        if (*trace_path && (stat(*trace_path, &found) != 0 || !S_ISREG(found.st_mode))) {
            free(*trace_path);
            return cg_fail(error, CG_EXIT_INPUT, "%s: a directory without a regular trace.jsonl", path);
        }
    } else if (!S_ISREG(found.st_mode)) {
        return cg_fail(error, CG_EXIT_INPUT, "%s: not a regular file (use - for standard input)", path);
    } else {
        char *parent = parent_of(path);
        if (parent && entry_mode(parent, "bundle.json"))
            cg_say("%s: a file of the bundle %s, taken alone: none of its GPU evidence", path, parent);
        free(parent);
        *trace_path = strdup(path);
    }
    return *trace_path ? 0 : cg_out_of_memory(error);
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* Time of change of a trace or bundle called name in the current directory; false when it is neither. */
static bool trace_time(const char *name, struct timespec *time)
{
    struct stat found;
    if (name[0] == '.' || stat(name, &found) != 0) return false;
    if (S_ISDIR(found.st_mode)) {
        struct cg_error refused;
        if (!entry_mode(name, "bundle.json") && refuse_augmented(name, &refused) != 0) return false;
        char *inner = join(name, S_ISREG(entry_mode(name, "bundle.json")) ? "bundle.json" : "trace.jsonl");
        bool there = inner && stat(inner, &found) == 0 && S_ISREG(found.st_mode);
        free(inner);
        if (!there) return false;
    } else if (!S_ISREG(found.st_mode) || !(has_suffix(name, ".jsonl") || has_suffix(name, ".jsonl.gz") ||
                                            has_suffix(name, ".jsonl.zst"))) {
        return false;
    }
    *time = found.st_mtim;
    return true;
}

static bool later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* The newest trace or bundle in the current directory, for a person who gave none. */
static int find_newest(char **path, struct cg_error *error)
{
    if (!isatty(STDIN_FILENO) && !isatty(STDOUT_FILENO))
        return cg_fail(error, CG_EXIT_USAGE,
                       "INPUT is missing: give a trace, a bundle, or - for standard input");
    DIR *directory = opendir(".");
    if (!directory) return cg_fail(error, CG_EXIT_IO, ".: %s", strerror(errno));
    char newest[NAME_MAX + 1] = "";
    struct timespec newest_time = {0}, time;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!trace_time(entry->d_name, &time)) continue;
        bool same = newest[0] && !later(&time, &newest_time) && !later(&newest_time, &time);
        if (newest[0] && !(same ? strcmp(entry->d_name, newest) < 0 : later(&time, &newest_time))) continue;
        snprintf(newest, sizeof newest, "%s", entry->d_name);
        newest_time = time;
    }
    closedir(directory);
    if (!newest[0])
        return cg_fail(error, CG_EXIT_USAGE, "INPUT is missing, and there is no trace in this directory");
    cg_say("reading %s, the newest trace here", newest);
    *path = strdup(newest);
    return *path ? 0 : cg_out_of_memory(error);
}

static const char *read_path(const struct command_input *input)
{
    return input->recovered ? input->recovered : input->trace_path;
}

/* What is derived from a raw trace: the evidence, and beside it the work. */
struct derivation {
    struct command_input *input;
    struct gpu_evidence *gpu;
    unsigned parts;
    struct beside beside;
    int status;
    struct cg_error evidence_error, other_error;
};

static bool derive_evidence(void *context)
{
    struct derivation *derivation = context;
    struct command_input *input = derivation->input;
    derivation->status = evidence_make(input->trace, derivation->gpu, derivation->parts, &input->evidence,
                                       &derivation->evidence_error);
    input->evidence_made = derivation->status == 0;
    return input->evidence_made;
}

static bool derive_work(void *context)
{
    struct derivation *derivation = context;
    return command_input_work(derivation->input, &derivation->other_error) == 0;
}

static bool make_beside(void *context)
{
    struct derivation *derivation = context;
    struct command_input *input = derivation->input;
    input->beside = derivation->beside.make(input->trace, derivation->beside.context);
    input->beside_free = derivation->beside.free;
    return input->beside || cg_out_of_memory(&derivation->other_error) == 0;
}

static int derive(struct command_input *input, struct input_needs needs, struct gpu_evidence *gpu,
                  struct cg_error *error)
{
    array_expect(input->trace->file_bytes / 4);
    struct derivation derivation = {.input = input, .gpu = gpu, .parts = needs.parts, .beside = needs.beside};
    struct job jobs[3] = {{.run = derive_evidence, .context = &derivation}};
    size_t count = 1;
    if (needs.work) jobs[count++] = (struct job){.run = derive_work, .context = &derivation};
    if (needs.beside.make) jobs[count++] = (struct job){.run = make_beside, .context = &derivation};
    if (jobs_run(jobs, count, jobs_threads(input->trace->file_bytes, input->trace->threads))) return 0;
    *error = derivation.status != 0 ? derivation.evidence_error : derivation.other_error;
    return error->status;
}

enum index_use command_index_use(const struct arguments *arguments)
{
    return argument(arguments, "no-index")->given       ? INDEX_IGNORE
           : argument(arguments, "verify-index")->given ? INDEX_VERIFY
                                                        : INDEX_USE;
}

/* From its index where there is one that holds, else from itself. */
static int load_trace(const struct command_input *input, const struct cg_load_options *options,
                      struct cg_trace **trace, struct cg_error *error)
{
    const char *path = read_path(input);
    bool indexed = !input->recovered && strcmp(path, "-") != 0;
    char why[INDEX_WHY];

    switch (indexed ? trace_index_load(path, input->index, options->extras, trace, why) : INDEX_NONE) {
    case INDEX_TAKEN:
        (*trace)->threads = options->threads;
        return 0;
    case INDEX_REFUSED:
        cg_say("%s" INDEX_SUFFIX ": not used: %s; `cg-analyze index` makes it anew", path, why);
        break;
    case INDEX_NONE:
        break;
    }
    return trace_load(path, options, trace, error);
}

static int load_raw(struct command_input *input, struct input_needs needs,
                    const struct cg_load_options *options, struct cg_error *error)
{
    struct gpu_evidence gpu;
    int status = load_trace(input, options, &input->trace, error);
    if (status == 0 && needs.nsight_dir)
        status = nsight_load_for(AT_FDCWD, needs.nsight_dir, input->trace, &gpu, error);
    if (status != 0) return status;
    input->out_of_memory_count = input->trace->out_of_memory_count;
    if (needs.trace_alone) return 0;
    return derive(input, needs, needs.nsight_dir ? &gpu : NULL, error);
}

static int read_packet(struct command_input *input, size_t length, struct cg_error *error)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/evidence.json", input->bundle_root);
    int status = evidence_read(name, input->packet, length, &input->evidence, error);
    input->evidence_made = status == 0;
    return status;
}

/* The steps of doc/spec/bundle.md 11. */
static int read_bundle(struct command_input *input, const struct cg_load_options *options,
                       struct cg_error *error)
{
    static const char *const consumed[] = {"trace.jsonl", "evidence.json"};
    struct bundle_load load = {.options = options, .packet_wanted = true};
    int status = bundle_load(input->bundle_root, &load, &input->bundle, error);
    if (status != 0) return status;
    input->bundle_open = true;
    input->trace = load.trace;
    input->packet = load.packet;
    status = read_packet(input, load.packet_length, error);
    if (status == 0 && !evidence_same_run(&input->evidence, input->trace))
        status = cg_fail(error, CG_EXIT_INPUT,
                         "%s/evidence.json: provenance: differs from the metadata of the trace in it",
                         input->bundle_root);
    if (status == 0) status = bundle_unchanged(&input->bundle, consumed, 2, error);
    return status;
}

static int load_bundle(struct command_input *input, struct input_needs needs,
                       const struct cg_load_options *options, struct cg_error *error)
{
    int status = read_bundle(input, options, error);
    if (status == 0) input->out_of_memory_count = input->trace->out_of_memory_count;
    if (status == 0 && !needs.extras) {
        trace_free(input->trace);
        input->trace = NULL;
    }
    return status;
}

static int load(struct command_input *input, struct input_needs needs, struct cg_error *error)
{
    struct progress progress = progress_start("reading");
    struct cg_load_options options = {.extras = needs.extras,
                                      .threads = needs.threads,
                                      .progress = progress_show,
                                      .progress_context = &progress};
    int status = input->bundle_root ? load_bundle(input, needs, &options, error)
                                    : load_raw(input, needs, &options, error);
    progress_end(&progress);
    return status;
}

int command_input_extras(const struct command_input *input, struct cg_trace **trace, struct cg_error *error)
{
    struct progress progress = progress_start("reading again");
    struct cg_load_options options = {
        .extras = true, .threads = input->threads, .progress = progress_show, .progress_context = &progress};
    int status;
    if (input->bundle_root) {
        int fd = bundle_open_file(&input->bundle, "trace.jsonl", error);
        status =
            fd < 0 ? error->status : trace_load_descriptor(input->trace_path, fd, &options, trace, error);
    } else {
        status = load_trace(input, &options, trace, error);
    }
    progress_end(&progress);
    return status;
}

int command_input_work(struct command_input *input, struct cg_error *error)
{
    if (!device_work_make(input->trace, &input->work)) return cg_out_of_memory(error);
    if (suspects_make(input->trace, &input->work, &input->suspects)) return 0;
    device_work_free(&input->work);
    return cg_out_of_memory(error);
}

void command_input_work_free(struct command_input *input)
{
    suspects_free(&input->suspects);
    device_work_free(&input->work);
}

int command_input_open(const char *path, struct input_needs needs, struct command_input *input,
                       struct cg_error *error)
{
    *input = (struct command_input){.threads = needs.threads, .index = needs.index};
    int status = 0;
    if (path) {
        input->requested_path = strdup(path);
        if (!input->requested_path) status = cg_out_of_memory(error);
    } else {
        status = find_newest(&input->requested_path, error);
    }
    if (status == 0) status = resolve(input, needs, error);
    if (status == 0 && input->bundle_root && needs.nsight_dir)
        status = cg_fail(error, CG_EXIT_USAGE,
                         "%s: a bundle, whose Nsight reports are in it: leave --nsight-dir out",
                         input->requested_path);
    if (status == 0) status = load(input, needs, error);
    if (status == 0 && needs.work && input->bundle_root) status = command_input_work(input, error);
    if (status != 0) command_input_close(input);
    return status;
}

void command_input_close(struct command_input *input)
{
    if (input->beside) input->beside_free(input->beside);
    command_input_work_free(input);
    if (input->evidence_made) evidence_free(&input->evidence);
    trace_free(input->trace);
    if (input->bundle_open) bundle_close(&input->bundle);
    free(input->packet);
    recovered_input_remove(input->recovered);
    free(input->requested_path);
    free(input->trace_path);
    free(input->bundle_root);
    *input = (struct command_input){0};
}
