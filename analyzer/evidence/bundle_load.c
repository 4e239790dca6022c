#include "analyzer/evidence/bundle_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/bundle_manifest.h"
#include "analyzer/evidence/evidence.h"

#define TRACE_FILE  "trace.jsonl"
#define PACKET_FILE "evidence.json"

bool bundle_load_wants(const struct bundle_load *load, const struct bundle_file *file)
{
    return load && (strcmp(file->path, TRACE_FILE) == 0 ||
                    (load->packet_wanted && strcmp(file->path, PACKET_FILE) == 0));
}

struct hashed {
    struct sha256 *digest;
    uint64_t size;
};

static void add(void *context, const void *bytes, size_t length)
{
    struct hashed *hashed = context;
    sha256_add(hashed->digest, bytes, length);
    hashed->size += length;
}

/* The reader stops at the first defect; the rest is hashed all the same. */
static int load_trace(struct bundle_load *load, const struct bundle *bundle, int fd, struct hashed *hashed)
{
    struct cg_load_options options = load->options ? *load->options : (struct cg_load_options){0};
    char name[BUNDLE_PATH_MAX + sizeof TRACE_FILE];
    int own = dup(fd);

    if (own < 0) return errno;
    options.tap = add;
    options.tap_context = hashed;
    snprintf(name, sizeof name, "%s/" TRACE_FILE, bundle->root);
    if (trace_load_descriptor(name, own, &options, &load->trace, &load->unreadable) != 0) load->trace = NULL;
    return lseek(fd, (off_t)hashed->size, SEEK_SET) < 0 ? errno : 0;
}

/* Its size was compared with the declared one before. */
static int load_packet(struct bundle_load *load, const struct bundle_file *file, int fd,
                       struct hashed *hashed)
{
    size_t size = (size_t)file->bytes;
    load->packet = malloc(size + EVIDENCE_PADDING);
    if (!load->packet) return ENOMEM;
    while (load->packet_length < size) {
        ssize_t got = read(fd, load->packet + load->packet_length, size - load->packet_length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break; /* the size tells */
        add(hashed, load->packet + load->packet_length, (size_t)got);
        load->packet_length += (size_t)got;
    }
    return 0;
}

int bundle_load_hashing(struct bundle_load *load, const struct bundle *bundle, const struct bundle_file *file,
                        int fd, uint64_t *size, char hex[SHA256_HEX])
{
    struct hashed hashed = {.digest = sha256_start()};
    if (!hashed.digest) return ENOMEM;
    int fault = strcmp(file->path, TRACE_FILE) == 0 ? load_trace(load, bundle, fd, &hashed)
                                                    : load_packet(load, file, fd, &hashed);
    /* What was not looked at, and what a file that grew meanwhile has more. */
    if (!fault) fault = sha256_add_descriptor(hashed.digest, fd, &hashed.size);
    *size = hashed.size;
    if (!sha256_finish(hashed.digest, hex) && !fault) fault = ENOMEM;
    return fault;
}

void bundle_load_discard(struct bundle_load *load)
{
    trace_free(load->trace);
    free(load->packet);
    load->trace = NULL;
    load->packet = NULL;
}

/* ---- after verification ---- */

static int refuse_missing(const struct bundle_load *load, const struct bundle *bundle, struct cg_error *error)
{
    const char *missing = !load->trace                           ? TRACE_FILE
                          : load->packet_wanted && !load->packet ? PACKET_FILE
                                                                 : NULL;
    if (!missing) return 0;
    return cg_fail(error, CG_EXIT_INPUT, "%s: the bundle declares no %s", bundle->root, missing);
}

/* Refuses a manifest that names another run than the trace. */
static int check_run_id(const struct bundle *bundle, const struct cg_trace *trace, struct cg_error *error)
{
    char ours[TEXT_NAME_SIZE], theirs[TEXT_NAME_SIZE];
    struct cg_text run_id = trace_text(trace, trace->run.run_id);
    if (text_compare(bundle->run_id, run_id) == 0) return 0;
    return cg_fail(error, CG_EXIT_INPUT, "%s/bundle.json: run_id %s, the trace in it has %s", bundle->root,
                   text_name(bundle->run_id, ours), text_name(run_id, theirs));
}

int bundle_load(const char *root, struct bundle_load *load, struct bundle *bundle, struct cg_error *error)
{
    load->trace = NULL;
    load->packet = NULL;
    load->packet_length = 0;
    load->unreadable = (struct cg_error){0};
    int status = bundle_verify_loading(root, load, bundle, error);
    /* Only `verify` states a condition; here it is an input refused. */
    if (status == CG_EXIT_CONDITION) status = error->status = CG_EXIT_INPUT;
    if (status == 0) {
        if (load->unreadable.status != 0) {
            *error = load->unreadable;
            status = error->status;
        }
        if (status == 0) status = refuse_missing(load, bundle, error);
        if (status == 0) status = check_run_id(bundle, load->trace, error);
        if (status != 0) bundle_close(bundle);
    }
    if (status != 0) bundle_load_discard(load);
    return status;
}
