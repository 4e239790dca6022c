/* Bytes that grow, and the numbers and texts that the page's columns are made of. Failures are sticky: memory
 * that was short once shows in `failed`, and nothing is added any more. */
#ifndef CGTRACE_ANALYZER_VIEWER_BUFFER_H
#define CGTRACE_ANALYZER_VIEWER_BUFFER_H

#include "analyzer/trace/trace.h"

/* Zeroed is empty. */
struct buffer {
    uint8_t *bytes;
    size_t used, room;
    bool failed;
};

void buffer_free(struct buffer *buffer);
/* Makes sure of room for so many bytes more. */
bool buffer_reserve(struct buffer *buffer, size_t more);
void buffer_add(struct buffer *buffer, const void *bytes, size_t length);
/* A json_sink: context is the buffer. */
int buffer_sink(void *context, const char *bytes, size_t length);

/* Seven bits a byte, the lowest first, the eighth set in all but the last (LEB128). */
static inline void buffer_number(struct buffer *buffer, uint64_t value)
{
    enum { LONGEST = 10 };
    if (buffer->room - buffer->used < LONGEST && !buffer_reserve(buffer, LONGEST)) return;
    uint8_t *at = buffer->bytes + buffer->used;
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    buffer->used = (size_t)(at - buffer->bytes);
}
/* The difference between two numbers, small ones of either sign short (zigzag). */
static inline void buffer_step(struct buffer *buffer, uint64_t from, uint64_t to)
{
    uint64_t step = to - from;
    buffer_number(buffer, step << 1 ^ -(step >> 63));
}
/* A text as what it has in common with the one before: length of the common beginning, length of the rest,
 * the rest. *last is the text before and becomes this one. */
void buffer_text(struct buffer *buffer, struct cg_text *last, struct cg_text text);

#endif
