#include "analyzer/evidence/bundle_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Reads the whole of bundle.json; *text is the caller's, ended by a NUL that is not counted. */
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
    else if (!(*text = malloc((size_t)file.st_size + 2)))
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
    if (status == 0) (*text)[*length] = '\0';
    if (status != 0) free(*text);
    return status;
}

int bundle_manifest_digest(const struct bundle *bundle, char hex[SHA256_HEX], struct cg_error *error)
{
    char *text;
    size_t length;
    int status = read_manifest(bundle, &text, &length, error);

    if (status != 0) return status;
    if (!sha256_bytes(text, length, hex)) status = cg_fail(error, CG_EXIT_IO, "out of memory");
    free(text);
    return status;
}

/* A string member without NUL bytes; NULL when it is something else. */
static const char *text_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static int read_file(struct bundle *bundle, const json_t *entry, size_t number, struct cg_error *error)
{
    struct bundle_file *file = &bundle->files[bundle->count];
    const char *path = text_member(entry, "path"), *digest = text_member(entry, "sha256");
    const json_t *bytes = json_object_get(entry, "bytes");

    if (!path || !digest || !json_is_integer(bytes) || json_integer_value(bytes) < 0)
        return cg_fail(error, CG_EXIT_CONDITION,
                       "%s/bundle.json: files[%zu]: expected an object with path, bytes and sha256",
                       bundle->root, number);
    if (!bundle_path_safe(path))
        return cg_fail(error, CG_EXIT_CONDITION,
                       "%s/bundle.json: files[%zu].path: \"%s\" is not a safe relative path", bundle->root,
                       number, path);
    if (!sha256_valid(digest))
        return cg_fail(error, CG_EXIT_CONDITION,
                       "%s/bundle.json: files[%zu].sha256: expected 64 hexadecimal digits", bundle->root,
                       number);
    file->path = strdup(path);
    if (!file->path) return cg_fail(error, CG_EXIT_IO, "out of memory");
    file->bytes = (uint64_t)json_integer_value(bytes);
    memcpy(file->sha256, digest, SHA256_HEX);
    bundle->count++;
    return 0;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct bundle_file *)a)->path, ((const struct bundle_file *)b)->path);
}

static int read_files(struct bundle *bundle, const json_t *files, struct cg_error *error)
{
    size_t count = json_array_size(files);

    if (!json_is_array(files))
        return cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: files: expected an array", bundle->root);
    if (count > BUNDLE_FILES_MAX)
        return cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: files: %zu entries, at most %d are read",
                       bundle->root, count, BUNDLE_FILES_MAX);
    bundle->files = calloc(count + 1, sizeof *bundle->files);
    if (!bundle->files) return cg_fail(error, CG_EXIT_IO, "out of memory");
    for (size_t i = 0; i < count; i++) {
        int status = read_file(bundle, json_array_get(files, i), i, error);
        if (status != 0) return status;
    }
    qsort(bundle->files, bundle->count, sizeof *bundle->files, compare_files);
    for (size_t i = 1; i < bundle->count; i++)
        if (strcmp(bundle->files[i - 1].path, bundle->files[i].path) == 0)
            return cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: %s is declared twice", bundle->root,
                           bundle->files[i].path);
    return 0;
}

int bundle_manifest_read(struct bundle *bundle, struct cg_error *error)
{
    char *text;
    size_t length;
    int status = read_manifest(bundle, &text, &length, error);

    if (status != 0) return status;
    if (!sha256_bytes(text, length, bundle->manifest_sha256))
        status = cg_fail(error, CG_EXIT_IO, "out of memory");
    json_error_t fault;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    free(text);
    const char *schema = text_member(root, "schema"), *run_id = text_member(root, "run_id");
    if (status == 0 && !json_is_object(root))
        status = root ? cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: expected an object", bundle->root)
                      : cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json:%d:%d: %s", bundle->root,
                                fault.line, fault.column, fault.text);
    if (status == 0 && (!schema || strcmp(schema, BUNDLE_SCHEMA) != 0))
        status = cg_fail(error, CG_EXIT_CONDITION,
                         "%s/bundle.json: schema: expected \"" BUNDLE_SCHEMA "\", found \"%s\"", bundle->root,
                         schema ? schema : "(none)");
    if (status == 0 && !run_id)
        status = cg_fail(error, CG_EXIT_CONDITION, "%s/bundle.json: run_id: expected a string", bundle->root);
    if (status == 0 && !(bundle->run_id = strdup(run_id)))
        status = cg_fail(error, CG_EXIT_IO, "out of memory");
    if (status == 0) status = read_files(bundle, json_object_get(root, "files"), error);
    json_decref(root);
    return status;
}
