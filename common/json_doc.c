#include "common/json_doc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Documents have fixed shapes about ten levels deep. */
#define DEPTH_MAX 32
#define OUT_BYTES (64 * 1024)

struct bytes {
    char *at;
    size_t length, room;
};

/* A member of an object that is held back: where its text begins (at the comma before it) and its plain key.
 */
struct held_member {
    size_t text, key, key_length, index;
};

struct frame {
    bool array;
    bool held; /* members are collected and sorted when the object ends */
    size_t count;
    size_t hold_start, keys_start, members_start;
};

struct json_doc {
    enum json_style style;
    enum json_order order;
    json_sink *sink;
    void *context;
    int error;
    unsigned depth, held_depth;
    size_t out_length;
    struct bytes hold;    /* text of the outermost held object */
    struct bytes keys;    /* plain keys of all open held objects */
    struct bytes scratch; /* a held object's text while its members are put in order */
    struct held_member *members;
    size_t member_count, member_room;
    struct frame frames[DEPTH_MAX];
    char out[OUT_BYTES];
};

/* ---- bytes ---- */

void doc_fail(struct json_doc *doc, int error)
{
    if (!doc->error) doc->error = error;
}

static bool reserve(struct json_doc *doc, struct bytes *bytes, size_t more)
{
    if (bytes->room - bytes->length >= more) return true;
    size_t room = bytes->room ? bytes->room : 1024;
    while (room - bytes->length < more)
        room *= 2;
    char *at = realloc(bytes->at, room);
    if (!at) {
        doc_fail(doc, ENOMEM);
        return false;
    }
    bytes->at = at;
    bytes->room = room;
    return true;
}

static void append(struct json_doc *doc, struct bytes *bytes, const char *text, size_t length)
{
    if (length && reserve(doc, bytes, length)) {
        memcpy(bytes->at + bytes->length, text, length);
        bytes->length += length;
    }
}

static void to_sink(struct json_doc *doc, const char *text, size_t length)
{
    if (length && !doc->error) {
        int error = doc->sink(doc->context, text, length);
        if (error) doc_fail(doc, error);
    }
}

static void flush(struct json_doc *doc)
{
    to_sink(doc, doc->out, doc->out_length);
    doc->out_length = 0;
}

static void put(struct json_doc *doc, const char *text, size_t length)
{
    if (doc->error) return;
    if (doc->held_depth) {
        append(doc, &doc->hold, text, length);
        return;
    }
    if (length > OUT_BYTES - doc->out_length) {
        flush(doc);
        if (length > OUT_BYTES) {
            to_sink(doc, text, length);
            return;
        }
    }
    memcpy(doc->out + doc->out_length, text, length);
    doc->out_length += length;
}

static void put_line(struct json_doc *doc)
{
    static const char line[1 + 2 * DEPTH_MAX] =
        "\n                                                                ";
    if (doc->style == DOC_PRETTY) put(doc, line, 1 + 2 * (size_t)doc->depth);
}

/* Runs of plain bytes are copied whole. */
static void put_escaped(struct json_doc *doc, const char *bytes, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    size_t run = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        put(doc, bytes + run, i - run);
        run = i + 1;
        static const char named[0x20] = {
            ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
        char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
        if (byte >= 0x20 || named[byte]) {
            escape[1] = byte >= 0x20 ? (char)byte : named[byte];
            put(doc, escape, 2);
        } else {
            put(doc, escape, 6);
        }
    }
    put(doc, bytes + run, length - run);
}

static void put_quoted(struct json_doc *doc, const char *bytes, size_t length)
{
    put(doc, "\"", 1);
    put_escaped(doc, bytes, length);
    put(doc, "\"", 1);
}

/* ---- structure ---- */

struct json_doc *doc_start(enum json_style style, enum json_order order, json_sink *sink, void *context)
{
    struct json_doc *doc = malloc(sizeof *doc);
    if (!doc) return NULL;
    memset(doc, 0, offsetof(struct json_doc, out));
    doc->style = style;
    doc->order = order;
    doc->sink = sink;
    doc->context = context;
    return doc;
}

int doc_finish(struct json_doc *doc)
{
    put(doc, "\n", 1);
    flush(doc);
    int error = doc->error;
    free(doc->hold.at);
    free(doc->keys.at);
    free(doc->scratch.at);
    free(doc->members);
    free(doc);
    return error;
}

/* Before a value: an element of an array stands on a line of its own, a member's key did that already. */
static void before_value(struct json_doc *doc)
{
    if (!doc->depth || !doc->frames[doc->depth - 1].array) return;
    if (doc->frames[doc->depth - 1].count++) put(doc, ",", 1);
    put_line(doc);
}

static void open_frame(struct json_doc *doc, bool array, bool held)
{
    before_value(doc);
    if (doc->depth == DEPTH_MAX) {
        doc_fail(doc, EOVERFLOW);
        return;
    }
    /* A held object has no brace yet: the comma of its first member becomes it (close_held). */
    if (!held) put(doc, array ? "[" : "{", 1);
    doc->held_depth += held;
    doc->frames[doc->depth++] = (struct frame){.array = array,
                                               .held = held,
                                               .hold_start = doc->hold.length,
                                               .keys_start = doc->keys.length,
                                               .members_start = doc->member_count};
}

static int compare_members(const void *left, const void *right, void *keys)
{
    const struct held_member *a = left, *b = right;
    size_t shorter = a->key_length < b->key_length ? a->key_length : b->key_length;
    int order = memcmp((const char *)keys + a->key, (const char *)keys + b->key, shorter);
    if (!order) order = (a->key_length > b->key_length) - (a->key_length < b->key_length);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Puts the members of a held object in order: their texts, each beginning with its comma, are moved as
 * wholes. */
static void order_members(struct json_doc *doc, const struct frame *frame)
{
    struct held_member *members = doc->members + frame->members_start;
    size_t count = frame->count, sorted = 1;
    while (sorted < count && compare_members(&members[sorted - 1], &members[sorted], doc->keys.at) <= 0)
        sorted++;
    if (sorted >= count) return;
    size_t whole = doc->hold.length - frame->hold_start;
    doc->scratch.length = 0;
    append(doc, &doc->scratch, doc->hold.at + frame->hold_start, whole);
    if (doc->error) return;
    size_t *end = malloc(count * sizeof *end);
    if (!end) {
        doc_fail(doc, ENOMEM);
        return;
    }
    for (size_t i = 0; i < count; i++)
        end[i] = i + 1 < count ? members[i + 1].text : doc->hold.length;
    qsort_r(members, count, sizeof *members, compare_members, doc->keys.at);
    char *to = doc->hold.at + frame->hold_start;
    for (size_t i = 0; i < count; i++) {
        size_t length = end[members[i].index] - members[i].text;
        memcpy(to, doc->scratch.at + (members[i].text - frame->hold_start), length);
        to += length;
    }
    free(end);
}

static void close_held(struct json_doc *doc, const struct frame *frame)
{
    if (!doc->error && frame->count) {
        order_members(doc, frame);
        doc->hold.at[frame->hold_start] = '{';
        put_line(doc);
        put(doc, "}", 1);
    } else {
        put(doc, "{}", 2);
    }
    doc->keys.length = frame->keys_start;
    doc->member_count = frame->members_start;
    if (--doc->held_depth == 0) {
        put(doc, doc->hold.at, doc->hold.length);
        doc->hold.length = 0;
    }
}

static void close_frame(struct json_doc *doc)
{
    if (!doc->depth) return; /* too deep, and said so */
    struct frame *frame = &doc->frames[--doc->depth];
    if (frame->held) {
        close_held(doc, frame);
        return;
    }
    if (frame->count) put_line(doc);
    put(doc, frame->array ? "]" : "}", 1);
}

void doc_key_bytes(struct json_doc *doc, const char *bytes, size_t length)
{
    if (!doc->depth || doc->error) return;
    struct frame *frame = &doc->frames[doc->depth - 1];
    if (frame->held) {
        if (doc->member_count == doc->member_room) {
            size_t room = doc->member_room ? 2 * doc->member_room : 64;
            struct held_member *members = realloc(doc->members, room * sizeof *members);
            if (!members) {
                doc_fail(doc, ENOMEM);
                return;
            }
            doc->members = members;
            doc->member_room = room;
        }
        doc->members[doc->member_count++] =
            (struct held_member){doc->hold.length, doc->keys.length, length, frame->count};
        append(doc, &doc->keys, bytes, length);
    }
    if (frame->count++ || frame->held) put(doc, ",", 1);
    put_line(doc);
    put_quoted(doc, bytes, length);
    put(doc, ": ", doc->style == DOC_PRETTY ? 2 : 1);
}

void doc_key(struct json_doc *doc, const char *key)
{
    doc_key_bytes(doc, key, strlen(key));
}

void doc_object(struct json_doc *doc)
{
    open_frame(doc, false, doc->order == DOC_SORTED);
}
void doc_object_end(struct json_doc *doc)
{
    close_frame(doc);
}
void doc_array(struct json_doc *doc)
{
    open_frame(doc, true, false);
}
void doc_array_end(struct json_doc *doc)
{
    close_frame(doc);
}

#define MEMBERS_MAX 64

void doc_members(struct json_doc *doc, const struct json_member *members, size_t count, const void *object)
{
    unsigned char order[MEMBERS_MAX];
    if (count > MEMBERS_MAX) {
        doc_fail(doc, EOVERFLOW);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        if (doc->order == DOC_SORTED)
            for (; at > 0 && strcmp(members[order[at - 1]].key, members[i].key) > 0; at--)
                order[at] = order[at - 1];
        order[at] = (unsigned char)i;
    }
    open_frame(doc, false, false);
    for (size_t i = 0; i < count; i++) {
        const struct json_member *member = &members[order[i]];
        if (member->present && !member->present(object)) continue;
        doc_key(doc, member->key);
        member->emit(doc, object);
    }
    close_frame(doc);
}

/* ---- values ---- */

static void put_value(struct json_doc *doc, const char *text, size_t length)
{
    before_value(doc);
    put(doc, text, length);
}

void doc_null(struct json_doc *doc)
{
    put_value(doc, "null", 4);
}

void doc_bool(struct json_doc *doc, bool value)
{
    put_value(doc, value ? "true" : "false", value ? 4 : 5);
}

/* Decimal digits of value, ending before *end; returns the first. */
static char *digits_before(char *end, unsigned __int128 value)
{
    while (value > UINT64_MAX) {
        *--end = (char)('0' + (int)(value % 10));
        value /= 10;
    }
    uint64_t low = (uint64_t)value;
    do
        *--end = (char)('0' + (int)(low % 10));
    while (low /= 10);
    return end;
}

void doc_u64(struct json_doc *doc, uint64_t value)
{
    char text[20], *first = digits_before(text + sizeof text, value);
    put_value(doc, first, (size_t)(text + sizeof text - first));
}

void doc_u128(struct json_doc *doc, unsigned __int128 value)
{
    char text[41], *first = digits_before(text + 40, value);
    text[40] = '"';
    *--first = '"';
    put_value(doc, first, (size_t)(text + 41 - first));
}

void doc_double(struct json_doc *doc, double value)
{
    char text[33];
    if (!isfinite(value)) {
        doc_null(doc);
        return;
    }
    size_t length = json_double_text(text, value);
    put_value(doc, text, length);
}

void doc_string_bytes(struct json_doc *doc, const char *bytes, size_t length)
{
    before_value(doc);
    put_quoted(doc, bytes, length);
}

void doc_string_begin(struct json_doc *doc)
{
    put_value(doc, "\"", 1);
}
void doc_string_add(struct json_doc *doc, const char *bytes, size_t length)
{
    put_escaped(doc, bytes, length);
}
void doc_string_end(struct json_doc *doc)
{
    put(doc, "\"", 1);
}

void doc_string(struct json_doc *doc, const char *text)
{
    if (text)
        doc_string_bytes(doc, text, strlen(text));
    else
        doc_null(doc);
}

void doc_member_null(struct json_doc *doc, const char *key)
{
    doc_key(doc, key);
    doc_null(doc);
}
void doc_member_bool(struct json_doc *doc, const char *key, bool value)
{
    doc_key(doc, key);
    doc_bool(doc, value);
}
void doc_member_u64(struct json_doc *doc, const char *key, uint64_t value)
{
    doc_key(doc, key);
    doc_u64(doc, value);
}
void doc_member_double(struct json_doc *doc, const char *key, double value)
{
    doc_key(doc, key);
    doc_double(doc, value);
}
void doc_member_string(struct json_doc *doc, const char *key, const char *text)
{
    doc_key(doc, key);
    doc_string(doc, text);
}
void doc_member_bytes(struct json_doc *doc, const char *key, const char *bytes, size_t length)
{
    doc_key(doc, key);
    doc_string_bytes(doc, bytes, length);
}

void doc_member_bool_or_null(struct json_doc *doc, const char *key, bool known, bool value)
{
    if (known)
        doc_member_bool(doc, key, value);
    else
        doc_member_null(doc, key);
}

void doc_member_u64_or_null(struct json_doc *doc, const char *key, bool known, uint64_t value)
{
    if (known)
        doc_member_u64(doc, key, value);
    else
        doc_member_null(doc, key);
}

void doc_member_double_or_null(struct json_doc *doc, const char *key, bool known, double value)
{
    if (known)
        doc_member_double(doc, key, value);
    else
        doc_member_null(doc, key);
}
