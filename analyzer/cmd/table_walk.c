#include "analyzer/cmd/table_walk.h"

#include "analyzer/cmd/document.h"
#include "common/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int text_add(struct text *text, const char *bytes, size_t length)
{
    if (text->room - text->length < length) {
        size_t room = text->room ? text->room : 128;
        while (room - text->length < length)
            room *= 2;
        char *grown = realloc(text->bytes, room);
        if (!grown) return ENOMEM;
        text->bytes = grown;
        text->room = room;
    }
    if (length) memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

void walk_start(struct walk *walk, const struct walk_handler *handler, void *context, bool raw)
{
    static char document[] = "";
    *walk = (struct walk){
        .handler = handler, .context = context, .raw = raw, .root = {.key = document, .label = document}};
    walk->member = &walk->root;
}

void walk_again(struct walk *walk, const struct walk_handler *handler, void *context)
{
    walk->again = true;
    walk->handler = handler;
    walk->context = context;
    walk->depth = 0;
    walk->member = &walk->root;
}

void walk_free(struct walk *walk)
{
    /* Children first, without recursion: go down, free on the way up. */
    struct shape *at = &walk->root;
    while (at) {
        struct shape *child = at->first;
        if (child) {
            at->first = child->next;
            at = child;
            continue;
        }
        struct shape *parent = at->parent;
        free(at->columns);
        if (at != &walk->root) {
            free(at->key);
            free(at->label);
            free(at);
        }
        at = parent;
    }
    free(walk->scratch.bytes); // NOLINT(clang-analyzer-core.NullDereference): there is a walk
    free(walk->cell.bytes);
}

/* The name of a member for people. Keys of the format are words joined by underscores and end in their unit;
 * those of maps are data and stay as they are. */
static char *label_of(const struct shape *parent, const char *key, size_t bare)
{
    size_t length = strlen(key);
    bool data = key_names_map(parent->key);
    char *label = malloc(4 * length + 1);
    if (!label) return NULL;
    utf8_shown(label, 4 * length + 1, key, data ? length : bare);
    for (char *c = label; *c && !data; c++)
        if (*c == '_') *c = ' ';
    return label;
}

static struct shape *new_shape(const struct shape *parent, const char *key, size_t length)
{
    size_t bare;
    struct shape *shape = calloc(1, sizeof *shape);
    if (!shape) return NULL;
    shape->unit = unit_of_key(key, length, &bare);
    /* Members of a map of bytes, and elements of a list, have the unit of the whole. */
    if (shape->unit == UNIT_NONE) shape->unit = parent->unit;
    shape->key = strndup(key, length);
    shape->name = shape->key && key_holds_name(shape->key);
    shape->label = shape->key ? label_of(parent, shape->key, bare) : NULL;
    if (shape->label) {
        shape->label_width = terminal_width(shape->label, strlen(shape->label));
        return shape;
    }
    free(shape->key);
    free(shape);
    return NULL;
}

/* The member of that key, made when it is new; NULL when memory is short. */
static struct shape *child_of(struct shape *parent, const char *key, size_t length)
{
    for (struct shape *child = parent->first; child; child = child->next)
        if (strlen(child->key) == length && memcmp(child->key, key, length) == 0) return child;
    struct shape *child = new_shape(parent, key, length);
    if (!child) return NULL;
    child->parent = parent;
    *(parent->last ? &parent->last->next : &parent->first) = child;
    parent->last = child;
    return child;
}

/* Puts a scalar into walk->scratch as it is shown. */
static int show(struct walk *walk, struct shape *shape, enum json_event event, const char *text,
                size_t length)
{
    struct text *out = &walk->scratch;
    char small[UNIT_TEXT_SIZE];
    out->length = 0;
    if (walk->raw) {
        bool null = event == JSON_EVENT_WORD && text[0] == 'n';
        return text_add(out, text, null ? 0 : length);
    }
    if (event == JSON_EVENT_STRING) {
        int status = text_add(out, NULL, 0);
        if (out->room < 4 * length + 1) {
            char *grown = realloc(out->bytes, 4 * length + 1);
            if (!grown) return ENOMEM;
            out->bytes = grown;
            out->room = 4 * length + 1;
        }
        out->length = utf8_shown(out->bytes, out->room, text, length);
        return status;
    }
    if (event == JSON_EVENT_WORD) {
        const char *word = text[0] == 't' ? "yes" : text[0] == 'f' ? "no" : "-";
        return text_add(out, word, strlen(word));
    }
    char number[64];
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (strpbrk(number, ".e"))
        return text_add(out, small, (size_t)snprintf(small, sizeof small, "%.6g", strtod(number, NULL)));
    shape->number = strtoull(number, NULL, 10);
    return text_add(out, small, unit_text(small, shape->unit, shape->number));
}

static void learn(struct shape *shape, const struct text *text, bool textual)
{
    size_t width = terminal_width(text->bytes, text->length);
    if (width > shape->width) shape->width = width;
    if (textual) shape->textual = true;
}

/* A scalar within a list in a cell: elements are set apart by commas, objects by semicolons. */
static int add_to_cell(struct walk *walk, struct walk_frame *frame)
{
    int status = 0;
    if (walk->cell.length > 0) {
        const char *between = frame->any ? (frame->array ? ", " : " ") : "; ";
        status = text_add(&walk->cell, between, strlen(between));
    }
    frame->any = true;
    return status ? status : text_add(&walk->cell, walk->scratch.bytes, walk->scratch.length);
}

static int on_scalar(struct walk *walk, enum json_event event, const char *text, size_t length)
{
    struct walk_frame *frame = &walk->frames[walk->depth];
    struct shape *shape = frame->array ? frame->shape : walk->member;
    int status = show(walk, shape, event, text, length);
    if (status) return status;
    bool textual = event == JSON_EVENT_STRING;
    if (frame->array && frame->role != WALK_CELL) {
        frame->any = true;
        learn(frame->shape, &walk->scratch, textual);
        return walk->handler->item(walk->context, shape, walk->scratch.bytes, walk->scratch.length);
    }
    shape->scalars++;
    shape->nulls += event == JSON_EVENT_WORD && text[0] == 'n';
    if (frame->role == WALK_CELL) return add_to_cell(walk, frame);
    frame->any = true;
    learn(shape, &walk->scratch, textual);
    if (frame->role == WALK_SECTION && frame->shape->map) /* null: a row without cells */
        return walk->handler->row(walk->context, frame->shape, shape);
    if (frame->role == WALK_SECTION)
        return walk->handler->value(walk->context, shape, walk->scratch.bytes, walk->scratch.length);
    return walk->handler->cell(walk->context, shape, walk->scratch.bytes, walk->scratch.length);
}

/* The role of a container that begins in a frame. */
static enum walk_role role_of(const struct walk_frame *outer, bool array)
{
    switch (outer->role) {
    case WALK_SECTION:
        return array ? WALK_LIST : outer->shape->map ? WALK_ROW : WALK_SECTION;
    case WALK_LIST:
        return array ? WALK_CELL : WALK_ROW;
    case WALK_ROW:
    case WALK_PART:
        return array ? WALK_CELL : WALK_PART;
    case WALK_CELL:
        break;
    }
    return WALK_CELL;
}

static int on_begin(struct walk *walk, bool array)
{
    struct walk_frame *outer = &walk->frames[walk->depth];
    bool in_array = walk->depth > 0 && outer->array;
    struct shape *shape = in_array ? child_of(outer->shape, "", 0) : walk->member;
    if (!shape) return ENOMEM;
    enum walk_role role = walk->depth == 0 ? (array ? WALK_LIST : WALK_SECTION) : role_of(outer, array);
    if (role == WALK_CELL && outer->role != WALK_CELL) walk->cell.length = 0;
    if (walk->depth > 0 && outer->role != WALK_CELL) outer->any = true;
    if (role == WALK_ROW && !walk->again) outer->shape->rows++;
    *(array ? &shape->arrays : &shape->objects) += 1;
    walk->frames[++walk->depth] = (struct walk_frame){.role = role, .array = array, .shape = shape};
    return role == WALK_SECTION ? walk->handler->open(walk->context, shape) : 0;
}

static int on_end(struct walk *walk)
{
    struct walk_frame frame = walk->frames[walk->depth--];
    struct walk_frame *outer = &walk->frames[walk->depth];
    switch (frame.role) {
    case WALK_SECTION:
        if (!frame.any && walk->depth > 0) return walk->handler->empty(walk->context, frame.shape);
        return walk->handler->close(walk->context, frame.shape);
    case WALK_LIST:
        return frame.any ? 0 : walk->handler->empty(walk->context, frame.shape);
    case WALK_ROW:
        return walk->handler->row(walk->context, outer->shape, outer->array ? NULL : frame.shape);
    case WALK_PART:
        return 0;
    case WALK_CELL:
        break;
    }
    if (outer->role == WALK_CELL) return 0;
    learn(frame.shape, &walk->cell, true);
    return walk->handler->cell(walk->context, frame.shape, walk->cell.bytes, walk->cell.length);
}

int walk_event(void *context, enum json_event event, const char *text, size_t length)
{
    struct walk *walk = context;
    switch (event) {
    case JSON_EVENT_OBJECT:
    case JSON_EVENT_ARRAY:
        return on_begin(walk, event == JSON_EVENT_ARRAY);
    case JSON_EVENT_OBJECT_END:
    case JSON_EVENT_ARRAY_END:
        return on_end(walk);
    case JSON_EVENT_KEY:
        walk->member = child_of(walk->frames[walk->depth].shape, text, length);
        return walk->member ? 0 : ENOMEM;
    case JSON_EVENT_STRING:
    case JSON_EVENT_NUMBER:
    case JSON_EVENT_WORD:
        break;
    }
    return on_scalar(walk, event, text, length);
}

/* ---- both passes ---- */

static int no_section(void *context, struct shape *shape)
{
    (void)context, (void)shape;
    return 0;
}
static int no_text(void *context, struct shape *shape, const char *text, size_t length)
{
    (void)context, (void)shape, (void)text, (void)length;
    return 0;
}
static int no_row(void *context, struct shape *shape, const struct shape *name)
{
    (void)context, (void)shape, (void)name;
    return 0;
}
const struct walk_handler walk_learn = {.open = no_section,
                                        .close = no_section,
                                        .value = no_text,
                                        .item = no_text,
                                        .empty = no_section,
                                        .cell = no_text,
                                        .row = no_row};

int walk_document(struct walk *walk, const struct document *document)
{
    struct json_events events;
    json_events_start(&events, walk_event, walk);
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, json_events_sink, &events);
    if (!doc) return ENOMEM;
    (document->people ? document->people : document->emit)(doc, document->object);
    int failure = doc_finish(doc);
    json_events_end(&events);
    return failure;
}
