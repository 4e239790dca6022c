/* index: what makes the second look at a large trace quick. A command beyond the format's. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/cmd/progress.h"
#include "analyzer/evidence/evidence_index.h"
#include "analyzer/trace/index.h"
#include "analyzer/trace/index_identity.h"

struct indexing {
    char *trace_path, *path; /* of the trace and of its index */
    mode_t mode;             /* of the trace */
    unsigned threads;        /* argument_threads() */
    struct index_identity identity;
    struct cg_trace *trace;
    uint64_t bytes;
};

static void emit(struct json_doc *doc, const void *object)
{
    const struct indexing *indexing = object;
    const struct index_identity *identity = &indexing->identity;
    char hash[40];

    snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, identity->hash[1], identity->hash[0]);
    doc_object(doc);
    doc_member_string(doc, "schema", "cgtrace/index/1");
    doc_key(doc, "tool");
    emit_tool(doc);
    doc_member_string(doc, "trace", indexing->trace_path);
    doc_member_string(doc, "index", indexing->path);
    doc_member_u64(doc, "trace_bytes", identity->size);
    doc_member_u64(doc, "index_bytes", indexing->bytes);
    doc_member_string(doc, "content_xxh3_128", hash);
    doc_member_bool(doc, "times_tell_changes", !identity->by_hash);
    doc_object_end(doc);
}

static int failed(const struct indexing *indexing, struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "%s: %s", indexing->trace_path, strerror(errno));
}

/* An index holds what the bytes of the file are, so compressed ones would have to be read all the same. */
static int check_form(const struct indexing *indexing, int fd, struct cg_error *error)
{
    unsigned char first[4] = {0};

    if (pread(fd, first, sizeof first, 0) < 0) return failed(indexing, error);
    if ((first[0] == 0x1F && first[1] == 0x8B) || memcmp(first, "\x28\xB5\x2F\xFD", sizeof first) == 0)
        return cg_fail(error, CG_EXIT_INPUT,
                       "%s: is compressed, and an index is of a plain trace: decompress it first",
                       indexing->trace_path);
    return 0;
}

static int open_trace(struct indexing *indexing, int *fd, struct cg_error *error)
{
    struct stat status;

    *fd = open(indexing->trace_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 || fstat(*fd, &status) != 0) return failed(indexing, error);
    indexing->mode = status.st_mode & 0777;
    return check_form(indexing, *fd, error);
}

/* Reads the trace, and hashes the very bytes that are read. */
static int load(struct indexing *indexing, struct cg_error *error)
{
    struct progress progress = progress_start("reading");
    struct index_hasher *hasher = index_hasher_new();
    struct cg_load_options options = {.extras = true,
                                      .threads = indexing->threads,
                                      .progress = progress_show,
                                      .progress_context = &progress,
                                      .tap = index_hasher_tap,
                                      .tap_context = hasher};
    struct index_identity after;
    int fd = -1, status = hasher ? open_trace(indexing, &fd, error) : cg_out_of_memory(error);

    if (status == 0 && !index_identity_settle(fd, &indexing->identity)) status = failed(indexing, error);
    if (status == 0) {
        int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        status = own < 0
                     ? failed(indexing, error)
                     : trace_load_descriptor(indexing->trace_path, own, &options, &indexing->trace, error);
    }
    if (hasher) index_hasher_end(hasher, indexing->identity.hash);
    if (status == 0 && !index_identity_of(fd, &after)) status = failed(indexing, error);
    if (status == 0 && !index_identity_equal(&indexing->identity, &after))
        status = cg_fail(error, CG_EXIT_IO, "%s: was changed while it was read: no index was made",
                         indexing->trace_path);
    if (fd >= 0) close(fd);
    progress_end(&progress);
    return status;
}

/* Nobody may read the index who may not read the trace. */
static int write_arrays(struct indexing *indexing, const struct index_arrays *arrays, struct cg_error *error)
{
    struct output output;
    int status = output_open(&output, indexing->path, error);

    if (status != 0) return status;
    int failure = fchmod(output.fd, indexing->mode) != 0
                      ? errno
                      : index_file_write(&indexing->identity, trace_index_layout(), arrays->items,
                                         arrays->count, output_write, &output, &indexing->bytes);
    if (!failure || output.failure) return output_close(&output, error);
    output_abandon(&output);
    return cg_fail(error, CG_EXIT_IO, "%s: cannot be made: %s", indexing->path, strerror(failure));
}

static int write_index(struct indexing *indexing, struct cg_error *error)
{
    struct index_arrays arrays = {0};
    struct trace_index_copy copy;
    struct evidence_planes planes;
    struct evidence evidence;
    int status = evidence_make(indexing->trace, NULL, 0, &evidence, error);
    bool derived = status == 0; /* else no command can show it, and each says why */

    if (status != 0 && status != CG_EXIT_INPUT) return status;
    bool enough = trace_index_add(indexing->trace, &copy, &arrays) &&
                  (!derived || evidence_index_add(&evidence, &planes, &arrays));
    status = enough ? write_arrays(indexing, &arrays, error) : cg_out_of_memory(error);
    if (derived) evidence_free(&evidence);

    index_arrays_free(&arrays);
    trace_index_copy_free(&copy);
    return status;
}

static int make(const struct arguments *arguments, struct indexing *indexing, struct cg_error *error)
{
    const char *const files[] = {indexing->trace_path};
    struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = indexing};
    int status = output_check(indexing->path, NULL, files, 1, error);

    if (status == 0) status = output_check(argument(arguments, "output")->text, NULL, files, 1, error);
    if (status == 0) status = load(indexing, error);
    if (status == 0) status = write_index(indexing, error);
    return status == 0 ? document_write(arguments, NULL, &document, error) : status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct indexing indexing = {.threads = argument_threads(arguments)};
    int status = document_check_format(arguments, "an index", false, error);

    if (status == 0 && strcmp(arguments->input, "-") == 0)
        status = cg_fail(error, CG_EXIT_USAGE, "index: an index stands beside a file, not standard input");
    if (status == 0) status = command_input_raw(arguments->input, &indexing.trace_path, error);
    if (status == 0 && asprintf(&indexing.path, "%s" INDEX_SUFFIX, indexing.trace_path) < 0) {
        indexing.path = NULL;
        status = cg_out_of_memory(error);
    }
    if (status == 0) status = make(arguments, &indexing, error);
    trace_free(indexing.trace);
    free(indexing.trace_path);
    free(indexing.path);
    return status;
}

static const struct option_spec options[] = {OPTION_OUTPUT, OPTION_FORMAT, OPTION_THREADS};
static const struct command_example examples[] = {
    {"cg-analyze index big.jsonl", "make big.jsonl.cgx"},
    {"cg-analyze query big.jsonl --kind kernels --verify-index", "use it, but hash the trace first"},
};

const struct command command_index = {
    .name = "index",
    .positional = "TRACE",
    .about = "make a file beside a trace that saves reading it again",
    .description =
        "Reads TRACE and writes TRACE.cgx, which holds it as it is in memory, and what is derived from it. "
        "Commands that take a trace use "
        "the index beside it and give the same bytes as without; --no-index makes them read the trace. "
        "Bundles, compressed traces and standard input have none.\n"
        "What is verified each time: that the trace still has the size, the times of change (also ctime, "
        "which no program can set), the inode and device, and the same bytes in 32 blocks of 4 KiB spread "
        "over it; that the index belongs to you or to the trace's owner and was written by this version of "
        "cg-analyze on a machine of this byte order; the checksum of every array that is used, and each "
        "number in it against what it may be. Where times or inode differ, as after a copy, or could not "
        "tell of a change, as on file systems whose clock is ahead, the whole content is hashed (XXH3-128) "
        "and the index is used only when the hash is that of the content it was made from. Where anything of "
        "this is wrong, that is said on standard error and the trace is read; where only "
        "what was derived from the trace is damaged, it is derived anew. An index is replaced and never "
        "written into; who writes into one ends the commands that use it then, with one line and status 5.\n"
        "What is not verified unless --verify-index is given: the bytes between those blocks, when size, "
        "times and inode are all unchanged. Only a change that does not touch the times goes unseen so: one "
        "made on the device below the file system, or under a clock that was set back to the very "
        "nanosecond. "
        "Nor is an index that its owner made to deceive told from a true one.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
