#include "preload/record/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/filesystem.h"
#include "common/jsonl_text.h"
#include "preload/record/session.h"
#include "preload/say.h"

enum { PATH_BYTES = 1000, NUMBERS = 10000 }; /* with ".part" it fits the capture header's 1024 */

/* ---- text with a limit ---- */

struct buffer {
    char text[PATH_BYTES];
    size_t used;
    bool full;
};

static void add(struct buffer *b, const char *bytes, size_t length)
{
    if (length >= sizeof b->text - b->used) {
        b->full = true;
        return;
    }
    memcpy(b->text + b->used, bytes, length);
    b->used += length;
    b->text[b->used] = '\0';
}

static void add_text(struct buffer *b, const char *text)
{
    add(b, text, strlen(text));
}

static void add_number(struct buffer *b, uint64_t value)
{
    char text[21];

    add_text(b, say_u64(text, value));
}

/* ---- the trace's name ---- */

/* number: what stands for %n; NULL: the session's. */
static void expand(struct buffer *b, const char *template, const char *number)
{
    for (; *template; template ++) {
        if (*template != '%' || !template[1]) {
            add(b, template, 1);
            continue;
        }
        switch (*++template) {
        case 'h':
            add_text(b, session.host);
            break;
        case 'r':
            add_number(b, session.rank < 0 ? 0 : (uint64_t)session.rank);
            break;
        case 'p':
            add_number(b, (uint64_t)session.pid);
            break;
        case 'n':
            if (number)
                add_text(b, number);
            else
                add_number(b, session.number);
            break;
        case '%':
            add(b, "%", 1);
            break;
        default:
            add(b, template - 1, 2);
        }
    }
}

static const char *default_template(void)
{
    if (session.comes_and_goes)
        return session.rank >= 0 ? "cgtrace.%h.%p.r%r.%n.jsonl" : "cgtrace.%h.%p.%n.jsonl";
    return session.rank >= 0 ? "cgtrace.%h.%p.r%r.jsonl" : "cgtrace.%h.%p.jsonl";
}

/* Absolute, so that a program which changes its folder changes nothing. */
static int full_name(struct buffer *b)
{
    const char *template = session.output ? session.output : session.settings.output;
    char here[PATH_BYTES];

    if (!*template) template = default_template();
    if (*template != '/') {
        if (*session.settings.dir != '/') {
            if (!getcwd(here, sizeof here)) return errno;
            add_text(b, here);
            add(b, "/", 1);
        }
        if (*session.settings.dir) {
            add_text(b, session.settings.dir);
            add(b, "/", 1);
        }
    }
    expand(b, template, NULL);
    return b->full ? ENAMETOOLONG : 0;
}

static void make_folders(const char *path)
{
    char part[PATH_BYTES];

    for (size_t i = 1; path[i]; i++) {
        if (path[i] != '/') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        mkdir(part, 0777); /* one that is there is as good; one that cannot be made shows at the file */
    }
}

/* name with ".number" before its ".jsonl"; number 0: as it is. */
static void numbered(struct buffer *b, const char *name, unsigned number)
{
    static const char suffix[] = ".jsonl";
    size_t length = strlen(name), stem = length;

    b->used = 0;
    b->full = false;
    if (length > sizeof suffix - 1 && strcmp(name + length - (sizeof suffix - 1), suffix) == 0)
        stem = length - (sizeof suffix - 1);
    add(b, name, stem);
    if (number > 0) {
        add(b, ".", 1);
        add_number(b, number);
    }
    add_text(b, name + stem);
}

static bool exists(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

static bool taken(const struct buffer *trace, const char *suffix)
{
    struct buffer b = *trace;

    add_text(&b, suffix);
    return exists(b.text);
}

int paths_create_part(const char **path)
{
    static struct buffer name, trace, part;
    int error;

    name = (struct buffer){.used = 0};
    error = full_name(&name);
    *path = name.text;
    if (error) return error;
    make_folders(name.text);
    for (unsigned number = 0; number < NUMBERS; number++) {
        numbered(&trace, name.text, number);
        if (exists(trace.text) || taken(&trace, ".cgt")) continue;
        part = trace;
        add_text(&part, ".part");
        if (part.full || trace.full) return ENAMETOOLONG;
        *path = part.text;
        error = file_create(&session.part, part.text);
        if (error == EEXIST) continue;
        if (error) return error;
        memcpy(session.trace_path, trace.text, trace.used + 1);
        return 0;
    }
    return EEXIST;
}

int paths_place_trace(void)
{
    static struct buffer name;
    char wanted[sizeof session.trace_path];

    memcpy(wanted, session.trace_path, sizeof wanted);
    for (unsigned number = 0; number < NUMBERS; number++) {
        int error;

        numbered(&name, wanted, number);
        if (syscall(SYS_renameat2, AT_FDCWD, session.part.path, AT_FDCWD, name.text, RENAME_NOREPLACE) == 0)
            break;
        error = errno;
        /* File systems without RENAME_NOREPLACE: a second name is never made over one that exists. */
        if (error == EINVAL || error == ENOSYS) {
            if (link(session.part.path, name.text) == 0) {
                unlink(session.part.path);
                break;
            }
            error = errno;
        }
        if (error != EEXIST) return error;
    }
    memcpy(session.trace_path, name.text, name.used + 1);
    return 0;
}

void paths_pattern(char *out, size_t size)
{
    static struct buffer pattern;
    const char *template = *session.settings.output ? session.settings.output : default_template();
    size_t length;

    pattern = (struct buffer){.used = 0};
    expand(&pattern, template, "*");
    length = pattern.used < size ? pattern.used : size - 1;
    memcpy(out, pattern.text, length);
    out[length] = '\0';
}

/* ---- the capture file's place ---- */

/* Takes space at the front; where that cannot be promised the file goes again. */
static int claim(size_t bytes, uint64_t file_bytes)
{
    int error = file_allocate(&session.capture, 0, bytes);

    if (!error) error = file_resize(&session.capture, file_bytes);
    if (error) {
        if (session.capture.path[0]) unlink(session.capture.path);
        file_close(&session.capture);
    }
    return error;
}

static int try_path(const char *path, size_t bytes)
{
    int error = file_create(&session.capture, path);

    return error ? error : claim(bytes, session.slots_offset + session.slots_limit);
}

/* The trace's own name in another folder. */
static int try_folder(const char *folder, size_t bytes)
{
    static struct buffer b;
    const char *name = strrchr(session.trace_path, '/');

    if (!folder || *folder != '/') return ENOENT;
    b = (struct buffer){.used = 0};
    add_text(&b, folder);
    add_text(&b, name);
    add(&b, ".", 1);
    add_number(&b, (uint64_t)session.pid);
    add_text(&b, ".cgt");
    return b.full ? ENAMETOOLONG : try_path(b.text, bytes);
}

int paths_create_capture(size_t bytes, bool *elsewhere)
{
    static struct buffer b;
    int error, fd;

    *elsewhere = false;
    numbered(&b, session.trace_path, 0);
    add_text(&b, ".cgt");
    if (filesystem_maps_safely(session.part.path) && try_path(b.text, bytes) == 0) return 0;
    *elsewhere = true;
    if (try_folder("/dev/shm", bytes) == 0) return 0;
    if (filesystem_maps_safely("/tmp") &&
        (try_folder(getenv("TMPDIR"), bytes) == 0 || try_folder("/tmp", bytes) == 0))
        return 0;
    fd = memfd_create("cgtrace", MFD_CLOEXEC);
    if (fd < 0) return errno;
    error = file_adopt(&session.capture, fd);
    return error ? error : claim(bytes, session.slots_offset + session.slots_limit);
}
