#include "analyzer/convert/elements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_scan.h"

enum { CHUNK = 256 << 10, KEY_MAX = 256 };

enum state {
    AT_START,
    IN_OBJECT, /* before a key */
    AT_COLON,
    AT_VALUE,
    IN_LIST, /* before an element */
    IN_PIECE,
    AT_END,
};

struct reader {
    struct elements *elements;
    struct cg_error *error;
    struct json_scan scan;
    enum state state, after; /* after: where a piece leads to */
    bool list_is_file;
    unsigned marked; /* bytes of a byte order mark */
    char key[KEY_MAX];

    char *piece; /* the value that is being read */
    size_t used, room;
    bool too_long;
    unsigned depth;
    bool in_string, escaped, scalar;
};

/* ---- pieces ---- */

static bool keep(struct reader *reader, const char *bytes, size_t length)
{
    if (reader->too_long) return true;
    if (reader->used + length > ELEMENT_MAX) {
        reader->too_long = true;
        reader->used = 0;
        return true;
    }
    if (reader->room - reader->used < length + JSON_PADDING + 1) {
        size_t larger = 2 * (reader->used + length) + JSON_PADDING + 1;
        char *moved = realloc(reader->piece, larger);
        if (!moved) return false;
        reader->piece = moved;
        reader->room = larger;
    }
    memcpy(reader->piece + reader->used, bytes, length);
    reader->used += length;
    return true;
}

static void begin_piece(struct reader *reader, enum state after)
{
    reader->state = IN_PIECE;
    reader->after = after;
    reader->used = 0;
    reader->too_long = reader->in_string = reader->escaped = reader->scalar = false;
    reader->depth = 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* How much of the bytes belongs to the piece; *whole when it is complete with them. A number or word ends
 * before what follows it. */
static size_t piece_length(struct reader *reader, const char *bytes, size_t length, bool *whole)
{
    *whole = false;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (reader->in_string) {
            if (reader->escaped)
                reader->escaped = false;
            else if (c == '\\')
                reader->escaped = true;
            else if (c == '"')
                reader->in_string = false;
            else
                continue;
            if (reader->in_string || reader->depth > 0) continue;
            *whole = true;
            return i + 1;
        }
        if (reader->scalar) {
            if (c != ',' && c != ']' && c != '}' && !is_space(c)) continue;
            *whole = true;
            return i;
        }
        if (c == '"')
            reader->in_string = true;
        else if (c == '{' || c == '[')
            reader->depth++;
        else if ((c == '}' || c == ']') && reader->depth > 0 && --reader->depth == 0) {
            *whole = true;
            return i + 1;
        } else if (reader->depth == 0)
            reader->scalar = true;
    }
    return length;
}

/* ---- what pieces are ---- */

static int fault(const struct reader *reader, const char *what)
{
    const struct elements *elements = reader->elements;
    if (reader->after == IN_LIST)
        return cg_fail(reader->error, CG_EXIT_INPUT, "%s: event %" PRIu64 ": %s", elements->name,
                       elements->count + 1, what);
    return cg_fail(reader->error, CG_EXIT_INPUT, "%s: member '%s': %s", elements->name, reader->key, what);
}

/* Line feeds between tokens become blanks; one in a string is not JSON, and ends the scan. */
static int check(struct reader *reader)
{
    bool in_string = false;
    for (size_t i = 0; i < reader->used; i++) {
        char c = reader->piece[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (c == '\n' && !in_string)
            reader->piece[i] = ' ';
    }
    reader->piece[reader->used] = '\n';
    memset(reader->piece + reader->used + 1, 0, JSON_PADDING - 1);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what the scan holds goes with the reader
    const char *end = json_skip_value(&reader->scan, reader->piece, 0);
    if (end && json_space(end) == reader->piece + reader->used) return 0;
    if (reader->scan.no_memory) return cg_out_of_memory(reader->error);
    return fault(reader, end ? "something follows the value" : reader->scan.fault);
}

static int take_key(struct reader *reader)
{
    const char *bytes;
    size_t length;
    int status = check(reader);
    if (status != 0) return status;
    if (*reader->piece != '"' || !json_string(&reader->scan, reader->piece, &bytes, &length))
        return cg_fail(reader->error, CG_EXIT_INPUT, "%s: no key where one must stand",
                       reader->elements->name);
    if (length >= KEY_MAX) length = KEY_MAX - 1;
    memcpy(reader->key, bytes, length);
    reader->key[length] = '\0';
    return 0;
}

static int take_piece(struct reader *reader)
{
    struct elements *elements = reader->elements;
    bool element = reader->after == IN_LIST;
    if (reader->after == AT_COLON) return take_key(reader);
    if (reader->too_long) return element ? fault(reader, "it is longer than 16 MiB") : 0;
    int status = check(reader);
    if (status == 0)
        status = elements->visit(elements->context, element ? NULL : reader->key, reader->piece, reader->used,
                                 reader->error);
    elements->count += element;
    return status;
}

/* ---- between pieces ---- */

/* Looks at one byte that is in no piece; *taken when it is done with. */
static int step(struct reader *reader, char c, bool *taken)
{
    *taken = true;
    if (is_space(c) || (c == ',' && (reader->state == IN_OBJECT || reader->state == IN_LIST))) return 0;
    switch (reader->state) {
    case AT_START:
        if (reader->marked < 3 && c == "\xEF\xBB\xBF"[reader->marked]) { /* a byte order mark */
            reader->marked++;
            return 0;
        }
        reader->list_is_file = c == '[';
        if (c != '{' && c != '[') break;
        reader->state = c == '{' ? IN_OBJECT : IN_LIST;
        reader->elements->found = c == '[';
        return 0;
    case IN_OBJECT:
        if (c == '}')
            reader->state = AT_END;
        else
            begin_piece(reader, AT_COLON), *taken = false;
        return 0;
    case AT_COLON:
        if (c != ':') break;
        reader->state = AT_VALUE;
        return 0;
    case AT_VALUE:
        if (c == '[' && strcmp(reader->key, reader->elements->list) == 0)
            reader->state = IN_LIST, reader->elements->found = true;
        else
            begin_piece(reader, IN_OBJECT), *taken = false;
        return 0;
    case IN_LIST:
        if (c == ']')
            reader->state = reader->list_is_file ? AT_END : IN_OBJECT;
        else
            begin_piece(reader, IN_LIST), *taken = false;
        return 0;
    case IN_PIECE:
    case AT_END:
        break;
    }
    return cg_fail(reader->error, CG_EXIT_INPUT, "%s: not JSON as expected, after %" PRIu64 " events",
                   reader->elements->name, reader->elements->count);
}

static int take_bytes(struct reader *reader, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        int status = 0;
        if (reader->state == IN_PIECE) {
            bool whole;
            size_t part = piece_length(reader, bytes + at, length - at, &whole);
            if (!keep(reader, bytes + at, part)) return cg_out_of_memory(reader->error);
            at += part;
            if (!whole) continue;
            status = take_piece(reader);
            reader->state = reader->after;
        } else {
            bool taken;
            status = step(reader, bytes[at], &taken);
            at += taken;
        }
        if (status != 0) return status;
    }
    return 0;
}

int elements_read(struct elements *elements, struct input *input, struct cg_error *error)
{
    struct reader reader = {.elements = elements, .error = error};
    char *chunk = malloc(CHUNK);
    size_t got = 1;
    int status = chunk ? 0 : cg_out_of_memory(error);
    while (status == 0 && got > 0) {
        status = input_read(input, chunk, CHUNK, &got, error);
        if (status == 0) status = take_bytes(&reader, chunk, got);
    }
    elements->cut = reader.state != AT_END && !(reader.state == IN_LIST && reader.list_is_file);
    if (status == 0 && reader.state == AT_START)
        status = cg_fail(error, CG_EXIT_INPUT, "%s: it is empty", elements->name);
    json_scan_free(&reader.scan);
    free(reader.piece);
    free(chunk);
    return status;
}
