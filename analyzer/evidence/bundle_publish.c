#include "analyzer/evidence/bundle_publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/bundle_derive.h"
#include "analyzer/evidence/staging.h"
#include "analyzer/trace/input.h"
#include "analyzer/trace/same_file.h"
#include "common/utf8.h"

enum { COPY_BYTES = 1 << 18 };

/* ---- steps 6 and 7: copies ---- */

/* The mode of a copy: that of its source; the usual one for standard input. */
static mode_t source_mode(const char *path)
{
    struct stat file;
    return strcmp(path, "-") != 0 && stat(path, &file) == 0 ? file.st_mode & 0777 : 0666;
}

static int copy_trace(struct staging *staging, const char *path, struct cg_error *error)
{
    struct staged_writer writer;
    struct input_block block = {0};
    struct input *input = input_open(path, error);

    if (!input) return error->status;
    int status = staged_begin(&writer, staging, "trace.jsonl", 0666, error);
    if (status == 0) {
        while (!writer.failure && (status = input_lines(input, &block, error)) == 0 && block.length > 0)
            staged_write(&writer, block.lines, block.length - block.cut);
        if (status == 0 && fchmod(writer.fd, source_mode(path)) != 0) writer.failure = errno;
        struct cg_error cause;
        int end = staged_end(&writer, status == 0 ? error : &cause);
        if (status == 0) status = end;
    }
    input_block_free(&block);
    input_close(input);
    return status;
}

static int copy_report(struct staging *staging, int directory, const char *name, const struct stat *source,
                       struct cg_error *error)
{
    struct staged_writer writer;
    char path[NAME_MAX + sizeof "nsight/"];
    char *buffer = malloc(COPY_BYTES);
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat opened;

    snprintf(path, sizeof path, "nsight/%s", name);
    int status = 0;
    if (!buffer || fd < 0 || fstat(fd, &opened) != 0)
        status = cg_fail(error, CG_EXIT_IO, "%s: %s", name, buffer ? strerror(errno) : "out of memory");
    else if (opened.st_ino != source->st_ino || opened.st_dev != source->st_dev)
        status = cg_fail(error, CG_EXIT_INPUT, "%s: replaced while it was read", name);
    if (status == 0) status = staged_begin(&writer, staging, path, 0666, error);
    if (status == 0) {
        ssize_t got;
        while ((got = read(fd, buffer, COPY_BYTES)) != 0 && !writer.failure) {
            if (got > 0)
                staged_write(&writer, buffer, (size_t)got);
            else if (errno != EINTR)
                writer.failure = errno;
        }
        if (!writer.failure && fchmod(writer.fd, opened.st_mode & 0777) != 0) writer.failure = errno;
        status = staged_end(&writer, error);
    }
    if (fd >= 0) close(fd);
    free(buffer);
    return status;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Every entry must be a regular file with a name that a manifest can hold. */
static int copy_entry(struct staging *staging, int directory, const char *dir_path, const char *name,
                      struct cg_error *error)
{
    struct stat entry;

    if (fstatat(directory, name, &entry, AT_SYMLINK_NOFOLLOW) != 0)
        return cg_fail(error, CG_EXIT_IO, "%s/%s: %s", dir_path, name, strerror(errno));
    if (!S_ISREG(entry.st_mode))
        return cg_fail(error, CG_EXIT_INPUT, "%s/%s: %s; a bundle takes regular files only", dir_path, name,
                       S_ISLNK(entry.st_mode)   ? "a link"
                       : S_ISDIR(entry.st_mode) ? "a directory"
                                                : "a special file");
    if (strchr(name, '\\') || utf8_valid_length(name, strlen(name)) != strlen(name))
        return cg_fail(error, CG_EXIT_INPUT, "%s: holds a file name that is not UTF-8 or has a backslash",
                       dir_path);
    return copy_report(staging, directory, name, &entry, error);
}

static int copy_nsight(struct staging *staging, const char *path, struct cg_error *error)
{
    struct dirent **entries = NULL;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = -1;

    if (directory >= 0) count = scandirat(directory, ".", &entries, not_dots, compare_entries);
    if (count < 0) {
        int fault = errno;
        if (directory >= 0) close(directory);
        return cg_fail(error, fault == EACCES || fault == EIO ? CG_EXIT_IO : CG_EXIT_INPUT, "%s: %s", path,
                       strerror(fault));
    }
    int status = staging_directory(staging, "nsight", error);
    for (int i = 0; i < count; i++) {
        if (status == 0) status = copy_entry(staging, directory, path, entries[i]->d_name, error);
        free(entries[i]);
    }
    free(entries);
    close(directory);
    return status;
}

/* ---- steps 8 to 10: what is derived from the copies ---- */

static int write_evidence(struct staging *staging, const struct evidence *evidence, struct cg_error *error)
{
    struct staged_writer writer;
    int status = staged_begin(&writer, staging, "evidence.json", 0666, error);

    if (status != 0) return status;
    struct json_doc *doc = doc_start(DOC_PRETTY, DOC_DECLARED, staged_write, &writer);
    int fault = ENOMEM;
    if (doc) {
        emit_packet(doc, evidence);
        fault = doc_finish(doc);
    }
    if (!writer.failure) writer.failure = fault;
    return staged_end(&writer, error);
}

static int write_report(struct staging *staging, const struct evidence *evidence, struct cg_error *error)
{
    struct staged_writer writer;
    int status = staged_begin(&writer, staging, "report.md", 0666, error);

    if (status != 0) return status;
    int fault = write_report_markdown(evidence, staged_write, &writer);
    if (!writer.failure) writer.failure = fault;
    return staged_end(&writer, error);
}

static int write_viewer(struct staging *staging, const struct cg_trace *trace,
                        const struct evidence *evidence, bundle_page *write_page, struct cg_error *error)
{
    struct staged_writer writer;
    int status = staged_begin(&writer, staging, "viewer.html", 0666, error);

    if (status != 0) return status;
    status = write_page(trace, evidence, staged_write, &writer, error);
    struct cg_error cause;
    int end = staged_end(&writer, status == 0 ? error : &cause);
    return status == 0 ? end : status;
}

static int write_manifest(struct staging *staging, struct cg_text run_id, struct cg_error *error)
{
    struct staged_writer writer;
    size_t count = staging->count; /* without bundle.json itself */

    staging_sort(staging);
    int status = staged_begin(&writer, staging, BUNDLE_MANIFEST, 0666, error);
    if (status != 0) return status;
    struct json_doc *doc = doc_start(DOC_PRETTY, DOC_DECLARED, staged_write, &writer);
    int fault = ENOMEM;
    if (doc) {
        doc_object(doc);
        doc_member_string(doc, "schema", BUNDLE_SCHEMA);
        doc_member_bytes(doc, "run_id", run_id.bytes, run_id.length);
        doc_key(doc, "files");
        doc_array(doc);
        for (size_t i = 0; i < count; i++) {
            doc_object(doc);
            doc_member_string(doc, "path", staging->files[i].path);
            doc_member_u64(doc, "bytes", staging->files[i].bytes);
            doc_member_string(doc, "sha256", staging->files[i].sha256);
            doc_object_end(doc);
        }
        doc_array_end(doc);
        doc_object_end(doc);
        fault = doc_finish(doc);
    }
    if (!writer.failure) writer.failure = fault;
    return staged_end(&writer, error);
}

/* Everything comes from the copy, but messages name the trace that was given: its lines are the same. */
static int derive(struct staging *staging, const char *trace_name, unsigned threads, bundle_page *write_page,
                  struct cg_error *error)
{
    const struct cg_load_options options = {.extras = true, .threads = threads};
    struct cg_trace *trace;
    struct evidence evidence;
    int fd = openat(staging->fd, "trace.jsonl", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return cg_fail(error, CG_EXIT_IO, "%s/trace.jsonl: %s", staging->path, strerror(errno));
    int status = bundle_derive(staging->fd, trace_name, fd, &options, &trace, &evidence, error);
    if (status != 0) return status;
    status = write_evidence(staging, &evidence, error);
    if (status == 0) status = write_report(staging, &evidence, error);
    if (status == 0) status = write_viewer(staging, trace, &evidence, write_page, error);
    if (status == 0) status = write_manifest(staging, trace_text(trace, trace->run.run_id), error);
    evidence_free(&evidence);
    trace_free(trace);
    return status;
}

/* Step 11: the staged tree is what the manifest declares, and no file changed since it was hashed as it was
 * written. */
static int check_staged(const struct staging *staging, struct cg_error *error)
{
    struct bundle bundle;
    int status = bundle_verify(staging->path, true, &bundle, error);

    if (status != 0) return error->status = CG_EXIT_IO;
    for (size_t i = 0; status == 0 && i < staging->count; i++) {
        const struct staged_file *file = &staging->files[i];
        const struct bundle_file *found = bundle_find(&bundle, file->path);
        if (found && !same_file(&found->seen, &file->seen))
            status = cg_fail(error, CG_EXIT_IO, "%s/%s: changed while the bundle was made", staging->path,
                             file->path);
    }
    bundle_close(&bundle);
    return status;
}

int bundle_publish(const char *trace, const char *nsight_dir, const char *destination, unsigned threads,
                   bundle_page *write_page, struct bundle *bundle, struct cg_error *error)
{
    struct staging staging;
    int status = staging_open(&staging, destination, error);

    if (status != 0) return status;
    status = copy_trace(&staging, trace, error);
    if (status == 0 && nsight_dir) status = copy_nsight(&staging, nsight_dir, error);
    if (status == 0) status = derive(&staging, input_name(trace), threads, write_page, error);
    if (status == 0) status = check_staged(&staging, error);
    if (status != 0) {
        staging_abandon(&staging);
        return status;
    }
    status = staging_commit(&staging, error);
    /* Step 15. Every byte was hashed when it was written, and is checked to be untouched by descriptor. */
    if (status == 0) status = bundle_verify(destination, true, bundle, error);
    return status;
}
