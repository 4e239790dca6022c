#include "analyzer/evidence/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 4096

struct text_chunk {
    struct text_chunk *next;
    size_t used, room;
    char bytes[];
};

/* Room for length bytes and a NUL. */
static char *arena_room(struct text_arena *arena, size_t length)
{
    struct text_chunk *chunk = arena->chunks;
    if (!chunk || chunk->room - chunk->used <= length) {
        size_t room = length < CHUNK_BYTES ? CHUNK_BYTES : length + 1;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk) return NULL;
        *chunk = (struct text_chunk){arena->chunks, 0, room};
        arena->chunks = chunk;
    }
    char *at = chunk->bytes + chunk->used;
    chunk->used += length + 1;
    at[length] = 0;
    return at;
}

struct cg_text arena_text(struct text_arena *arena, const char *bytes, size_t length)
{
    char *at = arena_room(arena, length);
    if (at && length) memcpy(at, bytes, length);
    return (struct cg_text){at, at ? length : 0};
}

struct cg_text arena_string(struct text_arena *arena, const char *string)
{
    return arena_text(arena, string, strlen(string));
}

struct cg_text arena_printf(struct text_arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *at = length < 0 ? NULL : arena_room(arena, (size_t)length);
    if (at) vsnprintf(at, (size_t)length + 1, format, again);
    va_end(again);
    return (struct cg_text){at, at ? (size_t)length : 0};
}

void arena_free(struct text_arena *arena)
{
    for (struct text_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    arena->chunks = NULL;
}

#define NAME_BYTES 80

const char *text_name(struct cg_text name, char buffer[TEXT_NAME_SIZE])
{
    size_t shown = name.length;
    if (shown > NAME_BYTES) {
        shown = NAME_BYTES;
        while (shown > 0 && ((unsigned char)name.bytes[shown] & 0xc0) == 0x80)
            shown--;
    }
    char *to = buffer;
    for (size_t i = 0; i < shown; i++) {
        unsigned char byte = (unsigned char)name.bytes[i];
        if (byte < 0x20 || byte == 0x7f)
            to += sprintf(to, "\\x%02x", byte);
        else {
            if (byte == '"' || byte == '\\') *to++ = '\\';
            *to++ = (char)byte;
        }
    }
    strcpy(to, shown < name.length ? "..." : "");
    return buffer;
}

int text_compare(struct cg_text a, struct cg_text b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter ? memcmp(a.bytes, b.bytes, shorter) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}
