/* The bytes of a trace: a regular file, standard input or memory, decompressed when its first bytes say gzip
 * or Zstandard, handed out as blocks of whole lines. */
#ifndef CGTRACE_ANALYZER_TRACE_INPUT_H
#define CGTRACE_ANALYZER_TRACE_INPUT_H

#include "analyzer/trace/trace.h"
#include "analyzer/trace/window.h"

struct input;

/* What messages call the input at path. */
const char *input_name(const char *path);

/* "-" is standard input. NULL with *error filled when it cannot be opened; path must outlive the input. */
struct input *input_open(const char *path, struct cg_error *error);
/* A regular file that is open already, read from its beginning and as it stands: compressed bytes are not
 * looked for. The descriptor is the input's from now on, whatever the result. */
struct input *input_open_descriptor(const char *name, int fd, struct cg_error *error);
/* The caller keeps the bytes until input_close(). */
struct input *input_open_bytes(const char *name, const void *bytes, size_t length, struct cg_error *error);
void input_close(struct input *input);

/* From now on tap gets each piece that is read from the source. Before the first input_lines(), of an input
 * that is read as it stands, that is all of it. */
void input_tap(struct input *input, void (*tap)(void *context, const void *bytes, size_t length),
               void *context);

/* Whole lines, each with its line feed; JSON_PADDING readable bytes follow the last one. Begins zeroed. */
struct input_block {
    const char *lines; /* in its own memory, or in a window on the file */
    char *own;
    struct window *window;
    size_t length;         /* 0: the stream is over */
    size_t size;           /* of its own memory, without the padding */
    bool cut;              /* no line feed stood at the end of the stream: the last one was added */
    uint64_t source_bytes; /* how far the source itself has been read */
};
void input_block_free(struct input_block *block);

/* From here on blocks may be windows on the file, where there is one that is read as it stands and without a
 * tap. The thread that input_lines() gives a block is the one that reads it. At the end, whatever came out,
 * input_changed() tells whether the file changed meanwhile or could not be had: then nothing holds of what
 * was made of its lines, and input_again() goes back to its beginning, to read it. Not told of are changes
 * through a mapping that was written to before. */
void input_map(struct input *input);
bool input_changed(const struct input *input);
void input_again(struct input *input);

/* Fills the block with the lines that come next: at least one, and about 336 KiB unless a line is longer.
 * Returns 0, or the exit status with *error filled; then the stream is over. */
int input_lines(struct input *input, struct input_block *block, struct cg_error *error);

/* For streams that are no lines, instead of input_lines(): up to size bytes of the decompressed stream, 0 at
 * its end. input_peek() tells the first byte that input_read() will give, -1 for none. 0 or the exit status.
 */
int input_read(struct input *input, void *to, size_t size, size_t *got, struct cg_error *error);
int input_peek(struct input *input, int *first, struct cg_error *error);

/* Other than 336 KiB, before the first block. */
void input_set_block(struct input *input, size_t bytes);

/* Bytes of the decompressed stream so far. */
uint64_t input_bytes(const struct input *input);
/* Size of the source itself; 0 when it is not known. */
uint64_t input_total(const struct input *input);

#endif
