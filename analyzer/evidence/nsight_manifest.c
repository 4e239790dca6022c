/* capture-manifest.json: which run the reports belong to, and which files there were (doc/spec/nsight.md 3
 * and 10). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/evidence/bundle.h"
#include "analyzer/evidence/nsight_private.h"
#include "analyzer/evidence/stored.h"

enum { MANIFEST_BYTES_MAX = 64 << 20 };

/* ---- reading ---- */

/* The whole file, with the room behind it that the scanner wants; NULL with errno. */
static char *read_whole(const struct nsight *nsight, struct cg_text path, size_t *length)
{
    struct stat file;
    int fd = nsight_open(nsight, path);
    if (fd < 0) return NULL;
    char *bytes = NULL;
    *length = 0;
    if (fstat(fd, &file) == 0 && file.st_size > MANIFEST_BYTES_MAX)
        errno = EFBIG;
    else
        bytes = calloc(1, (size_t)file.st_size + JSON_PADDING);
    while (bytes && *length < (size_t)file.st_size) {
        ssize_t got = read(fd, bytes + *length, (size_t)file.st_size - *length);
        if (got == 0) break;
        if (got < 0 && errno != EINTR) {
            free(bytes);
            bytes = NULL;
        } else if (got > 0) {
            *length += (size_t)got;
        }
    }
    int fault = errno;
    close(fd);
    errno = fault;
    return bytes;
}

static bool keep(struct nsight *nsight, struct cg_text *text)
{
    if (!text->bytes) return true;
    *text = arena_text(&nsight->gpu->arena, text->bytes, text->length);
    return text->bytes != NULL;
}

static bool keep_list(struct nsight *nsight, struct gpu_texts *texts)
{
    bool enough = true;
    for (size_t i = 0; i < texts->count; i++)
        enough &= keep(nsight, &texts->at[i]);
    return enough;
}

/* Copies every text from the reader, which ends, into the evidence. */
static bool keep_manifest(struct nsight *nsight)
{
    struct gpu_manifest *manifest = &nsight->gpu->manifest;
    struct cg_text *const texts[] = {
        &manifest->schema,    &manifest->run_id,       &manifest->started_at, &manifest->correlation_id,
        &manifest->tool_name, &manifest->tool_version, &manifest->host};
    struct gpu_texts *const lists[] = {&manifest->commands, &manifest->devices, &manifest->required_labels,
                                       &manifest->gpu_expected_labels, &manifest->cpu_only_labels};
    bool enough = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        enough &= keep(nsight, texts[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        enough &= keep_list(nsight, lists[i]);
    for (size_t i = 0; i < manifest->source_revision_count; i++)
        enough &= keep(nsight, &manifest->source_revisions[i].key) &&
                  keep(nsight, &manifest->source_revisions[i].value);
    for (size_t i = 0; i < manifest->artifacts.count; i++)
        enough &=
            keep(nsight, &manifest->artifacts.at[i].path) && keep(nsight, &manifest->artifacts.at[i].sha256);
    return enough;
}

/* Takes the manifest out of its text, or says why it is none. */
static void take_manifest(struct nsight *nsight, char *bytes, size_t length)
{
    struct shape_reader reader;
    struct cg_error error;

    shape_open(&reader, NSIGHT_MANIFEST, bytes, length);
    int status = shape_check(&reader, &shape_of_manifest, &error);
    if (status == 0) {
        if (!stored_manifest(&reader, shape_document(&reader), nsight->gpu) || !keep_manifest(nsight))
            nsight->no_memory = true;
    } else if (status == CG_EXIT_IO) {
        nsight->no_memory = true;
    } else {
        nsight_provenance(nsight, "%s; the manifest is not used", error.message);
    }
    shape_close(&reader);
}

void nsight_read_manifest(struct nsight *nsight)
{
    size_t length;
    char *bytes = read_whole(nsight, text_of(NSIGHT_MANIFEST), &length);

    if (bytes)
        take_manifest(nsight, bytes, length);
    else if (errno == ENOENT)
        nsight_provenance(nsight, "there is no %s", NSIGHT_MANIFEST);
    else
        nsight_provenance(nsight, "%s cannot be read: %s", NSIGHT_MANIFEST, strerror(errno));
    free(bytes);
}

/* ---- checking labels ---- */

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct cg_text *)a, *(const struct cg_text *)b);
}

/* The list as a set in byte order; its array is the caller's. *repeated is whether it held one twice. */
static struct gpu_texts as_set(struct nsight *nsight, const struct gpu_texts *list, bool *repeated)
{
    struct gpu_texts set = {malloc((list->count + 1) * sizeof *set.at), 0};
    *repeated = false;
    if (!set.at) {
        nsight->no_memory = true;
        return set;
    }
    if (list->count) memcpy(set.at, list->at, list->count * sizeof *set.at);
    qsort(set.at, list->count, sizeof *set.at, compare_texts);
    for (size_t i = 0; i < list->count; i++) {
        bool same = set.count && text_compare(set.at[set.count - 1], set.at[i]) == 0;
        if (same)
            *repeated = true;
        else
            set.at[set.count++] = set.at[i];
    }
    return set;
}

struct list_check {
    bool repeated, same;
};

static struct list_check check_list(struct nsight *nsight, const struct gpu_texts *list,
                                    const struct gpu_texts *of_trace)
{
    struct list_check check;
    bool ignored;
    struct gpu_texts a = as_set(nsight, list, &check.repeated), b = as_set(nsight, of_trace, &ignored);
    check.same = a.count == b.count;
    for (size_t i = 0; check.same && i < a.count; i++)
        check.same = text_compare(a.at[i], b.at[i]) == 0;
    free(a.at);
    free(b.at);
    return check;
}

static void check_labels(struct nsight *nsight)
{
    const struct gpu_manifest *manifest = &nsight->gpu->manifest;
    const struct nsight_labels *labels = nsight->labels;
    bool classes = manifest->gpu_expected_labels.count || manifest->cpu_only_labels.count;
    bool trace_classes = labels->gpu_expected.count || labels->cpu_only.count;
    struct list_check required = check_list(nsight, &manifest->required_labels, &labels->required);
    struct list_check expected =
        check_list(nsight, classes ? &manifest->gpu_expected_labels : &manifest->required_labels,
                   trace_classes ? &labels->gpu_expected : &labels->required);
    struct list_check cpu_only = check_list(nsight, &manifest->cpu_only_labels, &labels->cpu_only);

    if (required.repeated)
        nsight_provenance(nsight, "the manifest's required_semantic_labels repeats a label");
    if (!required.same)
        nsight_provenance(nsight,
                          "the manifest's required_semantic_labels are not those of the trace's contract");
    if (classes && expected.repeated)
        nsight_provenance(nsight, "the manifest's gpu_expected_semantic_labels repeats a label");
    if (cpu_only.repeated)
        nsight_provenance(nsight, "the manifest's cpu_only_semantic_labels repeats a label");
    if (!expected.same)
        nsight_provenance(
            nsight, "the labels that the manifest expects on the GPU are not those of the trace's contract");
    if (!cpu_only.same)
        nsight_provenance(nsight,
                          "the manifest's cpu_only_semantic_labels are not those of the trace's contract");
}

/* ---- checking files ---- */

static int compare_paths(const void *a, const void *b)
{
    const struct gpu_artifact *const *x = a, *const *y = b;
    int order = text_compare((*x)->path, (*y)->path);
    return order ? order : (*x < *y ? -1 : *x > *y);
}

static int compare_path(const void *path, const void *artifact)
{
    return text_compare(*(const struct cg_text *)path, (*(const struct gpu_artifact *const *)artifact)->path);
}

/* The artifacts by path, those of one path in manifest order; the caller's. */
static const struct gpu_artifact **by_path(struct nsight *nsight, const struct gpu_artifacts *artifacts)
{
    const struct gpu_artifact **sorted = malloc((artifacts->count + 1) * sizeof(struct gpu_artifact *));
    if (!sorted) {
        nsight->no_memory = true;
        return NULL;
    }
    for (size_t i = 0; i < artifacts->count; i++)
        sorted[i] = &artifacts->at[i];
    qsort(sorted, artifacts->count, sizeof *sorted, compare_paths);
    return sorted;
}

/* The place of the first artifact of the path, or NULL. */
static const struct gpu_artifact **find_path(const struct gpu_artifact **sorted, size_t count,
                                             struct cg_text path)
{
    const struct gpu_artifact **at = bsearch(&path, sorted, count, sizeof *sorted, compare_path);
    while (at && at > sorted && text_compare(at[-1]->path, path) == 0)
        at--;
    return at;
}

static const struct gpu_artifact *find_in(const struct gpu_artifacts *artifacts, struct cg_text path)
{
    for (size_t i = 0; i < artifacts->count; i++)
        if (text_compare(artifacts->at[i].path, path) == 0) return &artifacts->at[i];
    return NULL;
}

/* Compares a declared file with what is there. */
static void check_file(struct nsight *nsight, const struct gpu_artifact *declared, const char *name)
{
    const struct gpu_artifact *retained = find_in(&nsight->gpu->source_csv, declared->path);
    char hex[SHA256_HEX];
    uint64_t size;

    if (!retained) retained = find_in(&nsight->raw_reports, declared->path);
    if (retained) {
        size = retained->size_bytes;
        memcpy(hex, retained->sha256.bytes, sizeof hex);
    } else {
        int fault = nsight_hash(nsight, declared->path, &size, hex);
        bool absent =
            fault == ENOENT || fault == ENOTDIR || fault == EISDIR || fault == ELOOP || fault == EINVAL;
        if (fault && !absent) nsight_provenance(nsight, "\"%s\" cannot be hashed: %s", name, strerror(fault));
        if (fault) {
            nsight_provenance(nsight, "\"%s\" is declared but missing", name);
            return;
        }
    }
    if (size != declared->size_bytes)
        nsight_provenance(nsight, "\"%s\" has %llu bytes, %llu are declared", name, (unsigned long long)size,
                          (unsigned long long)declared->size_bytes);
    if (declared->sha256.length != SHA256_HEX - 1 || !sha256_equal(hex, declared->sha256.bytes))
        nsight_provenance(nsight, "\"%s\" does not have the declared SHA-256", name);
}

static void check_artifact(struct nsight *nsight, const struct gpu_artifact **sorted,
                           const struct gpu_artifact *declared)
{
    char name[TEXT_NAME_SIZE];
    text_name(declared->path, name);
    if (*find_path(sorted, nsight->gpu->manifest.artifacts.count, declared->path) != declared)
        nsight_provenance(nsight, "\"%s\" is declared more than once", name);
    else if (strlen(declared->path.bytes) != declared->path.length || !bundle_path_safe(declared->path.bytes))
        nsight_provenance(nsight, "\"%s\" is not a safe relative path", name);
    else
        check_file(nsight, declared, name);
}

static void check_declared(struct nsight *nsight, const struct gpu_artifact **sorted,
                           const struct gpu_artifacts *retained)
{
    char name[TEXT_NAME_SIZE];
    for (size_t i = 0; i < retained->count; i++)
        if (!find_path(sorted, nsight->gpu->manifest.artifacts.count, retained->at[i].path))
            nsight_provenance(nsight, "\"%s\" is not declared in the manifest",
                              text_name(retained->at[i].path, name));
}

void nsight_check_manifest(struct nsight *nsight)
{
    struct gpu_evidence *gpu = nsight->gpu;
    const struct gpu_manifest *manifest = &gpu->manifest;
    size_t before = gpu->provenance_diagnostics.count;

    if (!manifest->present) return;
    const struct gpu_artifact **sorted = by_path(nsight, &manifest->artifacts);
    if (!sorted) return;
    if (text_compare(manifest->schema, text_of(NSIGHT_MANIFEST_SCHEMA)) != 0)
        nsight_provenance(nsight, "the manifest's schema is not %s", NSIGHT_MANIFEST_SCHEMA);
    if (!nsight->raw_reports.count) nsight_provenance(nsight, "there is no raw report (.nsys-rep or .qdrep)");
    check_labels(nsight);
    for (size_t i = 0; i < manifest->artifacts.count; i++)
        check_artifact(nsight, sorted, &manifest->artifacts.at[i]);
    check_declared(nsight, sorted, &gpu->source_csv);
    check_declared(nsight, sorted, &nsight->raw_reports);
    if (gpu->provenance_diagnostics.count > before) gpu->binding = GPU_MISMATCH;
    free(sorted);
}
