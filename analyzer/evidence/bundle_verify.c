/* Verification of a bundle, step by step (doc/spec/bundle.md 7). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/bundle_load.h"
#include "analyzer/evidence/bundle_manifest.h"

static int compare_path(const void *key, const void *file)
{
    return strcmp(key, ((const struct bundle_file *)file)->path);
}

const struct bundle_file *bundle_find(const struct bundle *bundle, const char *path)
{
    return bsearch(path, bundle->files, bundle->count, sizeof *bundle->files, compare_path);
}

/* ---- steps 6 to 8: what is there ---- */

/* One directory being walked: the names in it, ascending, and where we are. */
struct level {
    int fd;
    char **names;
    size_t count, at;
    size_t path_length; /* of the directory's own path, with its slash */
};

struct walk {
    struct bundle *bundle;
    struct level levels[BUNDLE_DEPTH_MAX];
    size_t depth;
    char path[BUNDLE_PATH_MAX + 2];
    size_t observed;        /* files met, declared or not */
    const char *undeclared; /* the first of these met; NULL: none */
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void leave_level(struct level *level)
{
    for (size_t i = 0; i < level->count; i++)
        free(level->names[i]);
    free(level->names);
    close(level->fd);
}

/* The directory that fd is open on, which stays open. NULL: errno. */
static DIR *open_list(int fd)
{
    int own = dup(fd);
    DIR *directory = own < 0 ? NULL : fdopendir(own);
    int error = errno;

    if (!directory && own >= 0) close(own);
    errno = error;
    return directory;
}

/* All names but . and .., in ascending order. 0 or an errno value. */
static int list_names(struct level *level)
{
    DIR *directory = open_list(level->fd);
    size_t capacity = 0;
    int error = directory ? 0 : errno;

    while (!error) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (!entry) {
            error = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (level->count == capacity) {
            capacity = capacity * 2 + 32;
            char **larger = reallocarray(level->names, capacity, sizeof *larger);
            if (larger)
                level->names = larger;
            else
                error = ENOMEM;
        }
        if (!error && !(level->names[level->count] = strdup(entry->d_name))) error = ENOMEM;
        if (!error) level->count++;
    }
    if (directory) closedir(directory);
    if (level->count) qsort(level->names, level->count, sizeof *level->names, compare_names);
    return error;
}

static int fail_at(const struct walk *walk, struct cg_error *error, int status, const char *what)
{
    return cg_fail(error, status, "%s/%s: %s", walk->bundle->root, walk->path, what);
}

/* Goes down into the directory that fd is open on, called walk->path. */
static int enter_level(struct walk *walk, int fd, size_t path_length, struct cg_error *error)
{
    if (walk->depth == BUNDLE_DEPTH_MAX) {
        close(fd);
        return fail_at(walk, error, CG_EXIT_CONDITION, "directories are nested too deeply");
    }
    struct level *level = &walk->levels[walk->depth++];
    *level = (struct level){.fd = fd, .path_length = path_length};
    int fault = list_names(level);
    return fault ? fail_at(walk, error, CG_EXIT_IO, strerror(fault)) : 0;
}

static int observe(struct walk *walk, struct cg_error *error)
{
    if (walk->depth == 1 && strcmp(walk->path, BUNDLE_MANIFEST) == 0) return 0;
    if (++walk->observed > BUNDLE_FILES_MAX) return fail_at(walk, error, CG_EXIT_CONDITION, "too many files");
    struct bundle_file *file = (struct bundle_file *)bundle_find(walk->bundle, walk->path);
    if (file) {
        file->observed = true;
    } else if (!walk->undeclared) {
        walk->undeclared = arena_string(&walk->bundle->arena, walk->path).bytes;
        if (!walk->undeclared) return cg_out_of_memory(error);
    }
    return 0;
}

static int visit(struct walk *walk, struct level *level, const char *name, struct cg_error *error)
{
    size_t length = strlen(name);
    struct stat entry;

    if (level->path_length + length > BUNDLE_PATH_MAX)
        return fail_at(walk, error, CG_EXIT_CONDITION, "a path is too long");
    memcpy(walk->path + level->path_length, name, length + 1);
    if (fstatat(level->fd, name, &entry, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_at(walk, error, CG_EXIT_IO, strerror(errno));
    if (S_ISREG(entry.st_mode)) return observe(walk, error);
    if (S_ISLNK(entry.st_mode))
        return fail_at(walk, error, CG_EXIT_CONDITION, "a link, which a bundle must not hold");
    if (!S_ISDIR(entry.st_mode))
        return fail_at(walk, error, CG_EXIT_CONDITION, "neither a regular file nor a directory");
    int fd = openat(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return fail_at(walk, error, CG_EXIT_IO, strerror(errno));
    size_t inner = level->path_length + length;
    walk->path[inner] = '/';
    walk->path[inner + 1] = '\0';
    return enter_level(walk, fd, inner + 1, error);
}

/* Depth first, names ascending, without recursion. */
static int walk_tree(struct walk *walk, struct cg_error *error)
{
    int root = openat(walk->bundle->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return cg_fail(error, CG_EXIT_IO, "%s: %s", walk->bundle->root, strerror(errno));
    int status = enter_level(walk, root, 0, error);
    while (walk->depth > 0) {
        struct level *level = &walk->levels[walk->depth - 1];
        if (status == 0 && level->at < level->count) {
            status = visit(walk, level, level->names[level->at++], error);
        } else {
            leave_level(level);
            walk->depth--;
        }
    }
    return status;
}

static int check_tree(struct bundle *bundle, struct cg_error *error)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk) return cg_out_of_memory(error);
    walk->bundle = bundle;
    int status = walk_tree(walk, error);
    if (status == 0 && walk->undeclared)
        status = cg_fail(error, CG_EXIT_CONDITION, "%s/%s: not declared in bundle.json", bundle->root,
                         walk->undeclared);
    for (size_t i = 0; status == 0 && i < bundle->count; i++)
        if (!bundle->files[i].observed)
            status = cg_fail(error, CG_EXIT_CONDITION, "%s/%s: declared in bundle.json, but missing",
                             bundle->root, bundle->files[i].path);
    free(walk);
    return status;
}

/* ---- step 9: every byte ---- */

int bundle_open_below(int root_fd, const char *path, int flags)
{
    char part[BUNDLE_PATH_MAX + 1];
    int at = dup(root_fd);

    while (at >= 0) {
        size_t length = strcspn(path, "/");
        memcpy(part, path, length);
        part[length] = '\0';
        bool last = !path[length];
        int next =
            openat(at, part, (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int fault = errno;
        close(at);
        errno = fault;
        at = next;
        if (last) break;
        path += length + 1;
    }
    return at;
}

struct check {
    struct bundle *bundle;
    struct bundle_load *load; /* NULL: nothing is loaded */
    bool quick;
};

static int hash_file(const struct check *check, const struct bundle_file *file, int fd, uint64_t *size,
                     char hex[SHA256_HEX])
{
    return bundle_load_wants(check->load, file)
               ? bundle_load_hashing(check->load, check->bundle, file, fd, size, hex)
               : sha256_descriptor(fd, size, hex);
}

static int check_file(const struct check *check, struct bundle_file *file, struct cg_error *error)
{
    const struct bundle *bundle = check->bundle;
    bool quick = check->quick;
    int fd = bundle_open_below(bundle->root_fd, file->path, O_RDONLY);
    if (fd < 0)
        return cg_fail(error,
                       errno == ELOOP || errno == ENOENT || errno == ENOTDIR ? CG_EXIT_CONDITION : CG_EXIT_IO,
                       "%s/%s: %s", bundle->root, file->path, strerror(errno));
    char hex[SHA256_HEX];
    uint64_t size = file->bytes;
    int status = 0, fault = 0;
    if (fstat(fd, &file->seen) != 0 || !S_ISREG(file->seen.st_mode))
        status = cg_fail(error, CG_EXIT_CONDITION, "%s/%s: not a regular file", bundle->root, file->path);
    else if ((uint64_t)file->seen.st_size != file->bytes)
        status =
            cg_fail(error, CG_EXIT_CONDITION, "%s/%s: %lld bytes, bundle.json declares %llu", bundle->root,
                    file->path, (long long)file->seen.st_size, (unsigned long long)file->bytes);
    else if (!quick && (fault = hash_file(check, file, fd, &size, hex)) != 0)
        status = cg_fail(error, CG_EXIT_IO, "%s/%s: %s", bundle->root, file->path, strerror(fault));
    else if (!quick && size != file->bytes)
        status = cg_fail(error, CG_EXIT_CONDITION, "%s/%s: its size changed while it was read", bundle->root,
                         file->path);
    else if (!quick && !sha256_equal(hex, file->sha256))
        status = cg_fail(error, CG_EXIT_CONDITION, "%s/%s: its SHA-256 is %s, bundle.json declares %s",
                         bundle->root, file->path, hex, file->sha256);
    close(fd);
    return status;
}

/* All files are looked at; the first fault is the answer, further ones are said at once. */
static int check_files(const struct check *check, struct cg_error *error)
{
    struct bundle *bundle = check->bundle;
    int status = 0;

    for (size_t i = 0; i < bundle->count; i++) {
        struct cg_error further;
        int now = check_file(check, &bundle->files[i], status == 0 ? error : &further);
        if (now != 0 && status != 0) cg_say("%s", further.message);
        if (status == 0) status = now;
        if (__builtin_add_overflow(bundle->bytes_verified, bundle->files[i].bytes, &bundle->bytes_verified) &&
            status == 0)
            status =
                cg_fail(error, CG_EXIT_CONDITION, "%s: the sizes of its files exceed 64 bits", bundle->root);
    }
    return status;
}

static int verify(const char *root, const struct check *check, struct cg_error *error)
{
    struct bundle *bundle = check->bundle;
    *bundle = (struct bundle){.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    int status = 0;
    if (bundle->root_fd < 0)
        status = cg_fail(error, errno == ENOENT || errno == ENOTDIR ? CG_EXIT_CONDITION : CG_EXIT_IO,
                         "%s: not a bundle directory: %s", root, strerror(errno));
    else if (!(bundle->root = arena_string(&bundle->arena, root).bytes))
        status = cg_out_of_memory(error);
    if (status == 0) status = bundle_manifest_read(bundle, error);
    if (status == 0) status = check_tree(bundle, error);
    if (status == 0) status = check_files(check, error);
    if (status != 0) bundle_close(bundle);
    return status;
}

int bundle_verify(const char *root, bool quick, struct bundle *bundle, struct cg_error *error)
{
    return verify(root, &(struct check){.bundle = bundle, .quick = quick}, error);
}

int bundle_verify_loading(const char *root, struct bundle_load *load, struct bundle *bundle,
                          struct cg_error *error)
{
    return verify(root, &(struct check){.bundle = bundle, .load = load}, error);
}

void bundle_close(struct bundle *bundle)
{
    arena_free(&bundle->arena);
    free(bundle->files);
    if (bundle->root_fd >= 0) close(bundle->root_fd);
    *bundle = (struct bundle){.root_fd = -1};
}

void emit_bundle_receipt(struct json_doc *doc, const struct bundle *bundle)
{
    doc_object(doc);
    doc_member_string(doc, "schema", BUNDLE_VERIFICATION_SCHEMA);
    doc_member_string(doc, "bundle_schema", BUNDLE_SCHEMA);
    doc_member_bytes(doc, "run_id", bundle->run_id.bytes, bundle->run_id.length);
    doc_member_string(doc, "manifest_path", BUNDLE_MANIFEST);
    doc_member_string(doc, "manifest_sha256", bundle->manifest_sha256);
    doc_member_u64(doc, "files_verified", bundle->count);
    doc_member_u64(doc, "bytes_verified", bundle->bytes_verified);
    doc_object_end(doc);
}
