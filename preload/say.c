#include "preload/say.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "common/utf8.h"
#include "preload/file.h"

static dev_t device;
static ino_t inode;
static bool present;

void say_init(void)
{
    struct stat now;

    present = fstat(STDERR_FILENO, &now) == 0;
    if (present) {
        device = now.st_dev;
        inode = now.st_ino;
    }
}

void say(int quiet, ...)
{
    char line[2048] = "cgtrace: ";
    size_t used = strlen(line);
    const char *part;
    struct stat now;
    struct held_signal pipe, size;
    va_list parts;
    bool failed;

    if (quiet || !present || fstat(STDERR_FILENO, &now) || now.st_dev != device || now.st_ino != inode)
        return;
    va_start(parts, quiet);
    while ((part = va_arg(parts, const char *)) != NULL) {
        /* It stays one line, and is no command to a terminal, whatever the program's names are. */
        used += utf8_shown(line + used, sizeof line - 1 - used, part, strlen(part));
    }
    va_end(parts);
    line[used++] = '\n';
    signal_hold(&pipe, SIGPIPE);
    signal_hold(&size, SIGXFSZ);
    failed = write(STDERR_FILENO, line, used) < 0;
    signal_release(&size, failed && errno == EFBIG);
    signal_release(&pipe, failed && errno == EPIPE);
}

const char *say_u64(char text[21], uint64_t value)
{
    *jsonl_u64(text, value) = '\0';
    return text;
}

const char *say_error(int error)
{
    const char *text = strerrordesc_np(error);

    return text ? text : "unknown error";
}
