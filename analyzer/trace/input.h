/* The bytes of a trace: a regular file, standard input or memory, decompressed when its first bytes say gzip
 * or Zstandard, handed out as blocks of whole lines. */
#ifndef CGTRACE_ANALYZER_TRACE_INPUT_H
#define CGTRACE_ANALYZER_TRACE_INPUT_H

#include "analyzer/trace/trace.h"

struct input;

/* "-" is standard input. NULL with *error filled when it cannot be opened; path must outlive the input. */
struct input *input_open(const char *path, struct cg_error *error);
/* A regular file that is open already, read as it stands: compressed bytes are not looked for. The descriptor
 * is the input's from now on, whatever the result. */
struct input *input_open_descriptor(const char *name, int fd, struct cg_error *error);
/* The caller keeps the bytes until input_close(). */
struct input *input_open_bytes(const char *name, const void *bytes, size_t length, struct cg_error *error);
void input_close(struct input *input);

/* From now on tap gets each piece that is read from the source. Before the first input_lines(), of an input
 * that is read as it stands, that is all of it. */
void input_tap(struct input *input, void (*tap)(void *context, const void *bytes, size_t length),
               void *context);

/* Whole lines, each with its line feed (the last one gets one if the stream lacks it), followed by
 * JSON_PADDING readable bytes; valid until the next call. The block holds at least one line and is about 1
 * MiB unless a line is longer. Returns 0 with *length 0 at the end; else the exit status with *error filled.
 */
int input_lines(struct input *input, const char **lines, size_t *length, struct cg_error *error);

/* No line feed stood at the end of the stream (known once input_lines() has given its last block). */
bool input_cut(const struct input *input);
/* Bytes of the decompressed stream so far. */
uint64_t input_bytes(const struct input *input);
/* How far the source itself has been read, and its size (0 when unknown). */
void input_position(const struct input *input, uint64_t *done, uint64_t *total);

#endif
