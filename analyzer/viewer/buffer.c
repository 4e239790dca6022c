#include "analyzer/viewer/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

bool buffer_reserve(struct buffer *buffer, size_t more)
{
    if (buffer->failed) return false;
    if (buffer->room - buffer->used >= more) return true;
    size_t room = 2 * buffer->room + more + 64;
    uint8_t *moved = realloc(buffer->bytes, room);
    if (moved && room >= ARRAY_LARGE) array_advised(moved, room);
    if (!moved) {
        buffer->failed = true;
        buffer->room = buffer->used; /* so that nothing is written any more */
        return false;
    }
    buffer->bytes = moved;
    buffer->room = room;
    return true;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t length)
{
    if (length == 0 || !buffer_reserve(buffer, length)) return;
    memcpy(buffer->bytes + buffer->used, bytes, length);
    buffer->used += length;
}

int buffer_sink(void *context, const char *bytes, size_t length)
{
    struct buffer *buffer = context;
    buffer_add(buffer, bytes, length);
    return buffer->failed ? ENOMEM : 0;
}

void buffer_text(struct buffer *buffer, struct cg_text *last, struct cg_text text)
{
    size_t common = 0, most = last->length < text.length ? last->length : text.length;
    while (common < most && last->bytes[common] == text.bytes[common])
        common++;
    buffer_number(buffer, common);
    buffer_number(buffer, text.length - common);
    if (text.length > common) buffer_add(buffer, text.bytes + common, text.length - common);
    *last = text;
}
