#include "analyzer/convert/lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/jsonl_text.h"

enum { FLUSH = 64 << 10 };

/* Room for so many more bytes; NULL when memory is short, or was. */
static char *room_for(struct lines *lines, size_t bytes)
{
    if (lines->no_memory || lines->failure) return NULL;
    if (lines->room - lines->used < bytes) {
        size_t larger = 2 * lines->room + bytes + FLUSH;
        char *moved = realloc(lines->buffer, larger);
        if (!moved) {
            lines->no_memory = true;
            return NULL;
        }
        lines->buffer = moved;
        lines->room = larger;
    }
    return lines->buffer + lines->used;
}

static void put(struct lines *lines, const char *bytes, size_t length)
{
    char *out = room_for(lines, length);
    if (!out) return;
    memcpy(out, bytes, length);
    lines->used += length;
}

static void put_string(struct lines *lines, const char *bytes, size_t length)
{
    char *out = room_for(lines, 6 * length + 2);
    if (out) lines->used = (size_t)(jsonl_string(out, bytes, length) - lines->buffer);
}

/* The comma before all members but the first, and the key. */
static void put_key(struct lines *lines, const char *key)
{
    char before = lines->used ? lines->buffer[lines->used - 1] : '{';
    if (before != '{' && before != '[') put(lines, ",", 1);
    if (!key) return;
    put_string(lines, key, strlen(key));
    put(lines, ":", 1);
}

void line_begin(struct lines *lines, const char *kind)
{
    put(lines, "{", 1);
    line_word(lines, "kind", kind);
}

void line_text(struct lines *lines, const char *key, struct cg_text text)
{
    put_key(lines, key);
    put_string(lines, text.bytes, text.length);
}

void line_word(struct lines *lines, const char *key, const char *word)
{
    line_text(lines, key, (struct cg_text){word, strlen(word)});
}

void line_u64(struct lines *lines, const char *key, uint64_t value)
{
    put_key(lines, key);
    char *out = room_for(lines, 20);
    if (out) lines->used = (size_t)(jsonl_u64(out, value) - lines->buffer);
}

void line_raw(struct lines *lines, const char *key, const char *json)
{
    put_key(lines, key);
    put(lines, json, strlen(json));
}

void line_open(struct lines *lines, const char *key, char bracket)
{
    put_key(lines, key);
    put(lines, &bracket, 1);
}

void line_close(struct lines *lines, char bracket)
{
    put(lines, &bracket, 1);
}

static void flush(struct lines *lines)
{
    if (lines->used && !lines->failure && !lines->no_memory)
        lines->failure = lines->sink(lines->context, lines->buffer, lines->used);
    lines->used = 0;
}

void line_end(struct lines *lines)
{
    put(lines, "}\n", 2);
    if (lines->used >= FLUSH) flush(lines);
}

bool lines_finish(struct lines *lines)
{
    flush(lines);
    free(lines->buffer);
    lines->buffer = NULL;
    lines->room = 0;
    return !lines->no_memory && !lines->failure;
}
