/* Path safety of outputs: a finalized bundle is never written into (doc/spec/cli.md 3). */
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/cmd/output.h"

/* A walk over the components of a path, links resolved one by one. */
struct walk {
    const char *path; /* as given, for messages */
    const char *root; /* canonical path of the bundle; NULL: none */
    char resolved[PATH_MAX];
    bool inside; /* root was met or passed through */
};

static int cannot_look(const struct walk *walk, struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "%s: cannot write: %s", walk->path, strerror(errno));
}

static bool at_or_below(const char *path, const char *root)
{
    size_t length = strlen(root);
    if (length > 0 && root[length - 1] == '/') length--; /* the root directory */
    return strncmp(path, root, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* Behind a link in /proc may be what no path leads to: a pipe, a socket, a file that was removed. It is in no
 * directory, thus in no bundle. */
static bool nameless(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && (!S_ISREG(found.st_mode) || found.st_nlink == 0);
}

static int append(struct walk *walk, const char *name, size_t length)
{
    size_t used = strlen(walk->resolved);
    size_t slash = used > 1;
    if (used + slash + length >= sizeof walk->resolved) return errno = ENAMETOOLONG, -1;
    if (slash) walk->resolved[used++] = '/';
    memcpy(walk->resolved + used, name, length);
    walk->resolved[used + length] = '\0';
    struct stat found;
    if (lstat(walk->resolved, &found) != 0) return errno == ENOENT ? 0 : -1;
    if (!S_ISLNK(found.st_mode)) return 0;
    char canonical[PATH_MAX];
    if (!realpath(walk->resolved, canonical)) return errno == ENOENT && nameless(walk->resolved) ? 0 : -1;
    strcpy(walk->resolved, canonical);
    return 0;
}

static void drop_last(char *resolved)
{
    char *slash = strrchr(resolved, '/');
    slash[slash == resolved] = '\0';
}

/* Takes all components of path; walk->resolved is then its canonical place. */
static int take_components(struct walk *walk, const char *path)
{
    for (const char *part = path; *part;) {
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.')
            drop_last(walk->resolved);
        else if (length > 0 && !(length == 1 && part[0] == '.') && append(walk, part, length) != 0)
            return -1;
        if (walk->root && at_or_below(walk->resolved, walk->root)) walk->inside = true;
        part += length;
        part += strspn(part, "/");
    }
    return 0;
}

/* Resolves walk->path, from the current directory if it is relative; what does not exist is kept as it is
 * written. */
static int take_path(struct walk *walk)
{
    char current[PATH_MAX];
    if (walk->path[0] != '/' && (!getcwd(current, sizeof current) || take_components(walk, current) != 0))
        return -1;
    return take_components(walk, walk->path);
}

static int refuse(const struct walk *walk, const char *bundle, struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_USAGE, "%s: refused as output: it leads into the bundle %s", walk->path,
                   bundle);
}

/* An output below any directory that holds bundle.json is refused, whatever the input was. */
static int check_ancestors(const struct walk *walk, struct cg_error *error)
{
    char directory[PATH_MAX];
    char name[PATH_MAX + sizeof "/bundle.json"];
    strcpy(directory, walk->resolved);
    while (strcmp(directory, "/") != 0) {
        drop_last(directory);
        struct stat found;
        snprintf(name, sizeof name, "%s/bundle.json", directory);
        if (lstat(name, &found) == 0) return refuse(walk, directory, error);
    }
    return 0;
}

/* A file with several names may be one of the bundle's. */
static int check_links(const struct walk *walk, const struct stat *output, struct cg_error *error)
{
    if (!walk->root || output->st_nlink < 2) return 0;
    char *roots[] = {(char *)walk->root, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree) return cannot_look(walk, error);
    bool same = false;
    for (FTSENT *entry; !same && (entry = fts_read(tree));)
        same = entry->fts_info == FTS_F && entry->fts_statp->st_dev == output->st_dev &&
               entry->fts_statp->st_ino == output->st_ino;
    fts_close(tree);
    return same ? refuse(walk, walk->root, error) : 0;
}

static int check_inputs(const struct walk *walk, const struct stat *output, const char *const *files,
                        size_t count, struct cg_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct stat input;
        if (files[i] && stat(files[i], &input) == 0 && S_ISREG(input.st_mode) &&
            input.st_dev == output->st_dev && input.st_ino == output->st_ino)
            return cg_fail(error, CG_EXIT_USAGE, "%s: refused as output: it is the input %s", walk->path,
                           files[i]);
    }
    return 0;
}

int output_check(const char *path, const char *bundle_root, const char *const *files, size_t count,
                 struct cg_error *error)
{
    if (output_is_stdout(path)) return 0;
    struct walk walk = {.path = path, .resolved = "/"};
    struct walk root = {.path = bundle_root, .resolved = "/"};
    if (bundle_root) {
        if (take_path(&root) != 0) return cg_fail(error, CG_EXIT_IO, "%s: %s", bundle_root, strerror(errno));
        walk.root = root.resolved;
    }
    if (take_path(&walk) != 0) return cannot_look(&walk, error);
    if (walk.inside) return refuse(&walk, walk.root, error);
    int status = check_ancestors(&walk, error);
    if (status != 0) return status;
    struct stat output;
    if (stat(path, &output) != 0) return errno == ENOENT ? 0 : cannot_look(&walk, error);
    status = check_inputs(&walk, &output, files, count, error);
    if (status == 0 && S_ISREG(output.st_mode)) status = check_links(&walk, &output, error);
    return status;
}
