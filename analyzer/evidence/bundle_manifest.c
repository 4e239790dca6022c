#include "analyzer/evidence/bundle_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/shape.h"

bool bundle_path_safe(const char *path)
{
    size_t length = strlen(path);

    if (length == 0 || length > BUNDLE_PATH_MAX || strchr(path, '\\') || strcmp(path, BUNDLE_MANIFEST) == 0)
        return false;
    for (const char *part = path;;) {
        size_t size = strcspn(part, "/");
        /* An empty part: a leading, trailing or doubled slash. */
        if (size == 0 || (size == 1 && part[0] == '.') || (size == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        if (!part[size]) return true;
        part += size + 1;
    }
}

/* Reads the whole of bundle.json; *text is the caller's, with JSON_PADDING writable bytes behind it. */
static int read_manifest(const struct bundle *bundle, char **text, size_t *length, struct cg_error *error)
{
    const char *root = bundle->root;
    int fd = openat(bundle->root_fd, BUNDLE_MANIFEST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat file;

    if (fd < 0)
        return cg_fail(error, errno == ENOENT || errno == ELOOP ? CG_EXIT_CONDITION : CG_EXIT_IO,
                       "%s/bundle.json: %s", root,
                       errno == ENOENT  ? "there is no manifest"
                       : errno == ELOOP ? "is a link, not a regular file"
                                        : strerror(errno));
    int status = 0;
    *text = NULL;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        status = cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: not a regular file", root);
    else if (file.st_size > BUNDLE_MANIFEST_BYTES)
        status = cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: %lld bytes, at most %d are read", root,
                         (long long)file.st_size, BUNDLE_MANIFEST_BYTES);
    else if (!(*text = malloc((size_t)file.st_size + 1 + JSON_PADDING)))
        status = cg_fail(error, CG_EXIT_IO, "%s/bundle.json: out of memory", root);
    *length = 0;
    while (status == 0) {
        size_t room = (size_t)file.st_size + 1 - *length; /* one more: a file that grows is noticed */
        ssize_t got = read(fd, *text + *length, room);
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            status = cg_fail(error, CG_EXIT_IO, "%s/bundle.json: %s", root, strerror(errno));
        else if ((*length += (size_t)got) > (size_t)file.st_size)
            status = cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: it grew while it was read", root);
    }
    close(fd);
    if (status != 0) free(*text);
    return status;
}

int bundle_manifest_digest(const struct bundle *bundle, char hex[SHA256_HEX], struct cg_error *error)
{
    char *text;
    size_t length;
    int status = read_manifest(bundle, &text, &length, error);

    if (status != 0) return status;
    if (!sha256_bytes(text, length, hex)) status = cg_out_of_memory(error);
    free(text);
    return status;
}

/* ---- what it must look like (2) ---- */

#define STRING_FIELD(name)                                                                                   \
    {                                                                                                        \
        name, {SHAPE_STRING, NULL}, SHAPE_REQUIRED, NULL                                                     \
    }
static const struct shape_field file_fields[] = {
    STRING_FIELD("path"), {"bytes", {SHAPE_U64, NULL}, SHAPE_REQUIRED, NULL}, STRING_FIELD("sha256")};
static const struct shape file_shape = {file_fields, sizeof file_fields / sizeof *file_fields};
static const struct shape_type file_type = {SHAPE_OBJECT, &file_shape};
static const char *const schema_words[] = {BUNDLE_SCHEMA, NULL};
static const struct shape_field manifest_fields[] = {
    {"schema", {SHAPE_ENUM, schema_words}, SHAPE_REQUIRED, NULL},
    STRING_FIELD("run_id"),
    {"files", {SHAPE_LIST, &file_type}, SHAPE_REQUIRED, NULL}};
static const struct shape manifest_shape = {manifest_fields,
                                            sizeof manifest_fields / sizeof *manifest_fields};
static const struct shape_type manifest_type = {SHAPE_OBJECT, &manifest_shape};

/* ---- the files it declares ---- */

static int read_file(struct bundle *bundle, struct shape_reader *reader, const char *entry,
                     struct cg_error *error)
{
    struct bundle_file *file = &bundle->files[bundle->count];
    struct cg_text path = shape_text(reader, shape_member(reader, entry, "path"));
    struct cg_text digest = shape_text(reader, shape_member(reader, entry, "sha256"));
    char name[TEXT_NAME_SIZE];

    if (!path.bytes || !digest.bytes) return cg_out_of_memory(error);
    path = arena_text(&bundle->arena, path.bytes, path.length);
    digest = arena_text(&bundle->arena, digest.bytes, digest.length);
    if (!path.bytes || !digest.bytes) return cg_out_of_memory(error);
    if (strlen(path.bytes) != path.length || !bundle_path_safe(path.bytes))
        return cg_fail(error, CG_EXIT_CONDITION,
                       "%s/bundle.json: files[%zu].path: \"%s\" is not a safe relative path", bundle->root,
                       bundle->count, text_name(path, name));
    if (digest.length != SHA256_HEX - 1 || !sha256_valid(digest.bytes))
        return cg_fail(error, CG_EXIT_CONDITION,
                       "%s/bundle.json: files[%zu].sha256: expected 64 hexadecimal digits", bundle->root,
                       bundle->count);
    file->path = path.bytes;
    file->bytes = shape_u64(reader, shape_member(reader, entry, "bytes"));
    memcpy(file->sha256, digest.bytes, SHA256_HEX);
    bundle->count++;
    return 0;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct bundle_file *)a)->path, ((const struct bundle_file *)b)->path);
}

static int read_files(struct bundle *bundle, struct shape_reader *reader, const char *files,
                      struct cg_error *error)
{
    size_t count = 0;

    for (const char *entry = shape_first(reader, files); entry; entry = shape_next(reader, entry))
        count++;
    if (count > BUNDLE_FILES_MAX)
        return cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: files: %zu entries, at most %d are read",
                       bundle->root, count, BUNDLE_FILES_MAX);
    bundle->files = calloc(count + 1, sizeof *bundle->files);
    if (!bundle->files) return cg_out_of_memory(error);
    for (const char *entry = shape_first(reader, files); entry; entry = shape_next(reader, entry)) {
        int status = read_file(bundle, reader, entry, error);
        if (status != 0) return status;
    }
    qsort(bundle->files, bundle->count, sizeof *bundle->files, compare_files);
    for (size_t i = 1; i < bundle->count; i++)
        if (strcmp(bundle->files[i - 1].path, bundle->files[i].path) == 0)
            return cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: %s is declared twice", bundle->root,
                           bundle->files[i].path);
    return 0;
}

static int read_document(struct bundle *bundle, struct shape_reader *reader, struct cg_error *error)
{
    int status = shape_check(reader, &manifest_type, error);
    if (status == CG_EXIT_INPUT) return error->status = CG_EXIT_CONDITION;
    if (status != 0) return status;
    const char *manifest = shape_document(reader);
    struct cg_text run_id = shape_text(reader, shape_member(reader, manifest, "run_id"));
    if (run_id.bytes) bundle->run_id = arena_text(&bundle->arena, run_id.bytes, run_id.length);
    if (!bundle->run_id.bytes) return cg_out_of_memory(error);
    return read_files(bundle, reader, shape_member(reader, manifest, "files"), error);
}

int bundle_manifest_read(struct bundle *bundle, struct cg_error *error)
{
    char *text, name[BUNDLE_PATH_MAX + sizeof "/bundle.json"];
    size_t length;
    struct shape_reader reader;
    int status = read_manifest(bundle, &text, &length, error);

    if (status != 0) return status;
    snprintf(name, sizeof name, "%s/bundle.json", bundle->root);
    if (!sha256_bytes(text, length, bundle->manifest_sha256)) status = cg_out_of_memory(error);
    shape_open(&reader, name, text, length); /* changes the text */
    if (status == 0) status = read_document(bundle, &reader, error);
    shape_close(&reader);
    free(text);
    return status;
}
