#include "analyzer/trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "analyzer/trace/block.h"
#include "analyzer/trace/same_file.h"
#include "common/json_scan.h"

/* With the records that are made of it (batch.c) a block stays in a cache of 1 MiB. With 128 KiB, threads
 * that take turns passed on what they share so often that two took 0.40 s of 1 GB, with 256 KiB 0.35, with
 * this 0.34. */
enum { BLOCK = 336 << 10, RAW = 1 << 15 };

struct input {
    const char *name;
    int fd; /* -1: bytes in memory */
    const unsigned char *memory;
    size_t memory_left;
    uint64_t raw_done, raw_total;
    bool regular;          /* a file, of which the first raw_done bytes were read */
    bool mapped;           /* its blocks are taken from windows on it, */
    uint64_t not_mapped;   /* but not below this place */
    bool tried;            /* whether that takes less time */
    struct window *window; /* the last one */
    bool looked_at;        /* one was opened: whether the file has changed since is asked at the end */
    atomic_bool broken;
    struct stat before; /* of the file, when it was begun */

    enum { PLAIN, GZIP, ZSTD } form;
    unsigned char *raw; /* compressed bytes, or the first bytes of a plain stream */
    size_t raw_at, raw_end;
    bool raw_over; /* the source has no more */
    z_stream gzip;
    ZSTD_DStream *zstd;
    bool in_frame; /* the compressed data may not end here */

    size_t block;     /* bytes of a block, and what is read at once */
    char *unfinished; /* the line that the last block ended in */
    size_t unfinished_length, unfinished_size;
    uint64_t bytes;
    bool over;
    bool peeked; /* the first byte was taken from the stream already */
    char first;
    bool as_it_stands; /* never decompressed */
    void (*tap)(void *context, const void *bytes, size_t length);
    void *tap_context;
};

static int short_of_memory(const struct input *input, struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "%s: out of memory", input->name);
}

/* read() or its like from memory; at most size bytes, 0 at the end. */
static int read_source(struct input *input, void *to, size_t size, size_t *got, struct cg_error *error)
{
    *got = 0;
    if (input->fd < 0) {
        *got = size < input->memory_left ? size : input->memory_left;
        memcpy(to, input->memory, *got);
        input->memory += *got;
        input->memory_left -= *got;
    } else {
        ssize_t n;
        do
            n = input->regular ? pread(input->fd, to, size, (off_t)input->raw_done)
                               : read(input->fd, to, size);
        while (n < 0 && errno == EINTR);
        if (n < 0) return cg_fail(error, CG_EXIT_IO, "%s: reading failed: %s", input->name, strerror(errno));
        *got = (size_t)n;
    }
    input->raw_done += *got;
    if (*got == 0) input->raw_over = true;
    if (input->tap) input->tap(input->tap_context, to, *got);
    return 0;
}

static int refill_raw(struct input *input, struct cg_error *error)
{
    input->raw_at = 0;
    return read_source(input, input->raw, RAW, &input->raw_end, error);
}

static int corrupt(const struct input *input, const char *form, const char *why, struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_INPUT, "%s: %s data cannot be decompressed: %s", input->name, form, why);
}

static int read_plain(struct input *input, char *to, size_t size, size_t *got, struct cg_error *error)
{
    size_t left = input->raw_end - input->raw_at;
    if (left == 0) return read_source(input, to, size, got, error);
    *got = left < size ? left : size;
    memcpy(to, input->raw + input->raw_at, *got);
    input->raw_at += *got;
    return 0;
}

static int read_gzip(struct input *input, char *to, size_t size, size_t *got, struct cg_error *error)
{
    z_stream *z = &input->gzip;
    z->next_out = (unsigned char *)to;
    z->avail_out = (unsigned)size;
    while (z->avail_out == size) {
        if (input->raw_at == input->raw_end) {
            int status = refill_raw(input, error);
            if (status != 0) return status;
            if (input->raw_over) {
                if (input->in_frame) return corrupt(input, "gzip", "it ends too early", error);
                break;
            }
        }
        /* A file may hold several members, one after the other. */
        if (!input->in_frame && inflateReset(z) != Z_OK) return corrupt(input, "gzip", "bad state", error);
        input->in_frame = true;
        z->next_in = input->raw + input->raw_at;
        z->avail_in = (unsigned)(input->raw_end - input->raw_at);
        int answer = inflate(z, Z_NO_FLUSH);
        input->raw_at = input->raw_end - z->avail_in;
        if (answer == Z_STREAM_END)
            input->in_frame = false;
        else if (answer == Z_MEM_ERROR)
            return short_of_memory(input, error);
        else if (answer != Z_OK)
            return corrupt(input, "gzip", z->msg != NULL ? z->msg : "not in that form", error);
    }
    *got = size - z->avail_out;
    return 0;
}

static int read_zstd(struct input *input, char *to, size_t size, size_t *got, struct cg_error *error)
{
    ZSTD_outBuffer out = {to, size, 0};
    while (out.pos == 0) {
        if (input->raw_at == input->raw_end) {
            int status = refill_raw(input, error);
            if (status != 0) return status;
            if (input->raw_over) {
                if (input->in_frame) return corrupt(input, "zstd", "it ends too early", error);
                break;
            }
        }
        ZSTD_inBuffer in = {input->raw, input->raw_end, input->raw_at};
        size_t answer = ZSTD_decompressStream(input->zstd, &out, &in);
        input->raw_at = in.pos;
        if (ZSTD_isError(answer)) return corrupt(input, "zstd", ZSTD_getErrorName(answer), error);
        input->in_frame = answer != 0;
    }
    *got = out.pos;
    return 0;
}

/* Up to size bytes of the decompressed stream; 0 bytes at its end. */
static int read_stream(struct input *input, char *to, size_t size, size_t *got, struct cg_error *error)
{
    switch (input->form) {
    case GZIP:
        return read_gzip(input, to, size, got, error);
    case ZSTD:
        return read_zstd(input, to, size, got, error);
    default:
        return read_plain(input, to, size, got, error);
    }
}

/* Looks at the first bytes of the source. */
static int detect_form(struct input *input, struct cg_error *error)
{
    static const unsigned char gzip_magic[] = {0x1F, 0x8B}, zstd_magic[] = {0x28, 0xB5, 0x2F, 0xFD};
    if (input->as_it_stands) return 0;
    while (input->raw_end < sizeof zstd_magic && !input->raw_over) {
        size_t got;
        int status = read_source(input, input->raw + input->raw_end, RAW - input->raw_end, &got, error);
        if (status != 0) return status;
        input->raw_end += got;
    }
    if (input->raw_end >= sizeof zstd_magic && memcmp(input->raw, zstd_magic, sizeof zstd_magic) == 0) {
        input->form = ZSTD;
        input->zstd = ZSTD_createDStream();
        if (input->zstd == NULL) return short_of_memory(input, error);
    } else if (input->raw_end >= sizeof gzip_magic &&
               memcmp(input->raw, gzip_magic, sizeof gzip_magic) == 0) {
        /* 16: expect the gzip header and check its CRC. */
        if (inflateInit2(&input->gzip, MAX_WBITS + 16) != Z_OK) return short_of_memory(input, error);
        input->form = GZIP;
    }
    input->raw_over = false;
    return 0;
}

static struct input *input_start(struct input input, struct cg_error *error)
{
    struct input *made = malloc(sizeof *made);
    if (made != NULL) {
        *made = input;
        made->block = input.raw_total > 0 && input.raw_total < BLOCK ? input.raw_total : BLOCK;
        made->raw = block_resize(NULL, RAW);
    }
    if (made == NULL || made->raw == NULL)
        short_of_memory(&input, error);
    else if (detect_form(made, error) == 0)
        return made;
    if (made != NULL) {
        input_close(made);
    } else if (input.fd > 0) {
        close(input.fd);
    }
    return NULL;
}

struct input *input_open_bytes(const char *name, const void *bytes, size_t length, struct cg_error *error)
{
    return input_start(
        (struct input){.name = name, .fd = -1, .memory = bytes, .memory_left = length, .raw_total = length},
        error);
}

struct input *input_open_descriptor(const char *name, int fd, struct cg_error *error)
{
    struct stat status;
    uint64_t size = fstat(fd, &status) == 0 ? (uint64_t)status.st_size : 0;
    return input_start(
        (struct input){.name = name, .fd = fd, .raw_total = size, .regular = true, .as_it_stands = true},
        error);
}

/* Missing and of the wrong form is bad input; everything else that open() refuses is a failure to read. */
static int open_status(int problem)
{
    return problem == ENOENT || problem == ENOTDIR || problem == ENXIO || problem == ENAMETOOLONG ||
                   problem == ELOOP
               ? CG_EXIT_INPUT
               : CG_EXIT_IO;
}

const char *input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

struct input *input_open(const char *path, struct cg_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = input_name(path);
    /* O_NONBLOCK: a FIFO without a writer must not hold us up before it is refused. */
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        int problem = errno;
        cg_fail(error, open_status(problem), "%s: cannot be opened: %s", name, strerror(problem));
    } else if (S_ISDIR(status.st_mode)) {
        cg_fail(error, CG_EXIT_INPUT, "%s: is a directory, expected a trace file", name);
    } else if (!standard && !S_ISREG(status.st_mode)) {
        cg_fail(error, CG_EXIT_INPUT, "%s: not a regular file (use - for standard input)", name);
    } else {
        uint64_t size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
        return input_start((struct input){.name = name, .fd = fd, .raw_total = size, .regular = !standard},
                           error);
    }
    if (fd > STDIN_FILENO) close(fd);
    return NULL;
}

void input_close(struct input *input)
{
    if (input == NULL) return;
    if (input->form == GZIP) inflateEnd(&input->gzip);
    ZSTD_freeDStream(input->zstd);
    window_release(input->window);
    if (input->fd > STDIN_FILENO) close(input->fd);
    block_free(input->raw);
    block_free(input->unfinished);
    free(input);
}

void input_tap(struct input *input, void (*tap)(void *context, const void *bytes, size_t length),
               void *context)
{
    input->tap = tap;
    input->tap_context = context;
}

int input_read(struct input *input, void *to, size_t size, size_t *got, struct cg_error *error)
{
    if (!input->peeked) return read_stream(input, to, size, got, error);
    input->peeked = false;
    *(char *)to = input->first;
    *got = 1;
    return 0;
}

int input_peek(struct input *input, int *first, struct cg_error *error)
{
    size_t got;
    int status = read_stream(input, &input->first, 1, &got, error);
    input->peeked = status == 0 && got == 1;
    *first = input->peeked ? (unsigned char)input->first : -1;
    return status;
}

void input_set_block(struct input *input, size_t bytes)
{
    input->block = bytes;
}

void input_map(struct input *input)
{
    if (input->form != PLAIN || !input->regular || input->tap != NULL ||
        fstat(input->fd, &input->before) != 0)
        return;
    /* input_changed() would not see a change of a file that has just changed. A small file is read in less
     * time than it is mapped. */
    input->mapped = file_age_ns(timespec_ns(&input->before.st_ctim)) >= FILE_SETTLED_NS &&
                    input->raw_total / 2 >= input->block;
}

bool input_changed(const struct input *input)
{
    struct stat now;
    return input->looked_at && (atomic_load_explicit(&input->broken, memory_order_relaxed) ||
                                fstat(input->fd, &now) != 0 || !same_file(&now, &input->before));
}

void input_again(struct input *input)
{
    window_release(input->window);
    input->window = NULL;
    input->mapped = input->looked_at = input->over = false;
    input->raw_done = input->bytes = 0;
    input->raw_at = input->raw_end = input->unfinished_length = 0;
}

/* The block's lines are no more in the file. */
static void leave_window(struct input_block *block)
{
    if (block->window == NULL) return; /* the calling thread may be in another block's */
    window_enter(NULL);
    window_release(block->window);
    block->window = NULL;
}

void input_block_free(struct input_block *block)
{
    leave_window(block);
    block_free(block->own);
}

static int resize(const struct input *input, struct input_block *block, size_t size, struct cg_error *error)
{
    char *own = block_resize(block->own, size + JSON_PADDING);
    if (own == NULL) return short_of_memory(input, error);
    block->lines = block->own = own;
    block->size = size;
    return 0;
}

/* Begins the block with the unfinished line of the one before. Room that only a long line needed is given
 * back. */
static int start_block(struct input *input, struct input_block *block, struct cg_error *error)
{
    block->length = 0;
    block->cut = false;
    if ((block->size < input->block || block->size > input->block * 8) &&
        resize(input, block, input->block, error) != 0)
        return error->status;
    block->lines = block->own;
    /* Not longer than what is read at once. */
    if (input->unfinished_length > 0) memcpy(block->own, input->unfinished, input->unfinished_length);
    block->length = input->unfinished_length;
    input->unfinished_length = 0;
    return 0;
}

/* Ends the block behind its last line feed, of which feed is the place; what follows is for the next one. */
static int end_block(struct input *input, struct input_block *block, const char *feed, struct cg_error *error)
{
    size_t length = (size_t)(feed - block->lines) + 1, rest = block->length - length;
    if (!block_reserve(&input->unfinished, &input->unfinished_size, 0, rest, 1))
        return short_of_memory(input, error);
    if (rest > 0) memcpy(input->unfinished, block->lines + length, rest);
    input->unfinished_length = rest;
    block->length = length;
    return 0;
}

/* The stream is over: ends the last line if need be. */
static void end_last_line(struct input *input, struct input_block *block)
{
    input->over = true;
    if (block->length == 0) return;
    block->cut = true;
    block->own[block->length++] = '\n'; /* there is room: the padding */
}

/* A line that fills the buffer and is no object, and no blank line so far: it would be refused however long
 * it is, so no more memory is spent on it. */
static bool hopeless(const struct input_block *block)
{
    size_t at = 0;

    while (at < block->length &&
           (block->lines[at] == ' ' || (block->lines[at] >= '\t' && block->lines[at] <= '\r')))
        at++;
    /* Above ASCII: may be white space too, or a byte order mark, which is told in its own words. */
    return at < block->length && block->lines[at] != '{' && (unsigned char)block->lines[at] < 0x80;
}

/* The window where a whole block begins at this place of the file; NULL: there is none. */
static struct window *window_for(struct input *input, uint64_t at)
{
    if (!input->mapped || at < input->not_mapped || at > input->raw_total - input->block) return NULL;
    if (input->window == NULL || window_left(input->window, at) < input->block) {
        window_release(input->window);
        input->window = window_open(input->fd, at, input->raw_total, &input->broken);
        if (input->window == NULL) {
            input->not_mapped = at + WINDOW_MOST;
        } else if (!input->tried) {
            input->tried = input->looked_at = true;
            input->mapped = window_pays(input->window, input->fd);
        }
    }
    return input->mapped ? input->window : NULL;
}

/* The lines that come next, where they stand in the file. False: they are to be read, as the last ones are,
 * which may have no line feed, and long ones. */
static bool map_block(struct input *input, struct input_block *block)
{
    uint64_t at = input->raw_done - (input->raw_end - input->raw_at) - input->unfinished_length;
    struct window *window = window_for(input, at);
    if (window == NULL) return false;
    block->window = window_retain(window);
    window_enter(window);
    const char *text = window_text(window, at), *feed = memrchr(text, '\n', input->block);
    if (feed == NULL) {
        leave_window(block);
        return false;
    }
    block->lines = text;
    block->length = (size_t)(feed - text) + 1;
    block->cut = false;
    /* What was read of it and is not handed out yet is let go. */
    input->raw_done = input->bytes = at + block->length;
    input->raw_at = input->raw_end = input->unfinished_length = 0;
    return true;
}

static int fill_block(struct input *input, struct input_block *block, struct cg_error *error)
{
    leave_window(block);
    if (map_block(input, block)) return 0;
    int status = start_block(input, block, error);
    while (status == 0) {
        size_t got = 0;
        if (block->length >= block->size) {
            if (hopeless(block)) {
                end_last_line(input, block);
                return 0;
            }
            if ((status = resize(input, block, block->size * 2, error)) != 0) return status;
        }
        size_t room = block->size - block->length;
        status = read_stream(input, block->own + block->length, room < input->block ? room : input->block,
                             &got, error);
        if (status != 0) return status;
        input->bytes += got;
        const char *feed = memrchr(block->lines + block->length, '\n', got);
        block->length += got;
        if (feed != NULL) return end_block(input, block, feed, error);
        if (got == 0) {
            end_last_line(input, block);
            return 0;
        }
    }
    return status;
}

int input_lines(struct input *input, struct input_block *block, struct cg_error *error)
{
    block->length = 0;
    if (input->over) return 0;
    int status = fill_block(input, block, error);
    block->source_bytes = input->raw_done;
    if (status != 0) {
        input->over = true;
        block->length = 0;
    }
    return status;
}

uint64_t input_bytes(const struct input *input)
{
    return input->bytes;
}

uint64_t input_total(const struct input *input)
{
    return input->raw_total;
}
