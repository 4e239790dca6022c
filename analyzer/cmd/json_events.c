#include "analyzer/cmd/json_events.h"

#include <errno.h>
#include <stdlib.h>

void json_events_start(struct json_events *events, json_event_handler *handler, void *context)
{
    *events = (struct json_events){.handler = handler, .context = context};
}

void json_events_end(struct json_events *events)
{
    free(events->text);
    events->text = NULL;
}

static int keep(struct json_events *events, char c)
{
    if (events->length == events->room) {
        size_t room = events->room ? 2 * events->room : 256;
        char *text = realloc(events->text, room);
        if (!text) return ENOMEM;
        events->text = text;
        events->room = room;
    }
    events->text[events->length++] = c;
    return 0;
}

static int scalar(struct json_events *events, enum json_event event)
{
    size_t length = events->length;
    events->length = 0;
    events->state = JSON_BETWEEN;
    return events->handler(events->context, event, events->text, length);
}

static int container(struct json_events *events, char c)
{
    if (c == '{' || c == '[') {
        if (events->depth + 1 == sizeof events->objects) return EOVERFLOW;
        events->objects[++events->depth] = c == '{';
        events->key = c == '{';
        return events->handler(events->context, c == '{' ? JSON_EVENT_OBJECT : JSON_EVENT_ARRAY, NULL, 0);
    }
    events->depth--;
    return events->handler(events->context, c == '}' ? JSON_EVENT_OBJECT_END : JSON_EVENT_ARRAY_END, NULL, 0);
}

static int between(struct json_events *events, char c)
{
    switch (c) {
    case ' ':
    case '\n':
        return 0;
    case '{':
    case '[':
    case '}':
    case ']':
        return container(events, c);
    case ',':
        events->key = events->objects[events->depth];
        return 0;
    case ':':
        events->key = false;
        return 0;
    case '"':
        events->state = JSON_IN_STRING;
        return 0;
    default:
        events->state = JSON_IN_PLAIN;
        return keep(events, c);
    }
}

static int escaped(struct json_events *events, char c)
{
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    events->state = JSON_IN_STRING;
    if (c == 'u') {
        events->state = JSON_IN_CODE;
        events->code = events->digits = 0;
        return 0;
    }
    for (size_t i = 0; names[i]; i++)
        if (names[i] == c) return keep(events, values[i]);
    return keep(events, c);
}

/* The writer escapes in this form only what is below 0x20. */
static int code(struct json_events *events, char c)
{
    unsigned digit = (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    events->code = events->code * 16 + digit;
    if (++events->digits < 4) return 0;
    events->state = JSON_IN_STRING;
    return keep(events, (char)events->code);
}

static int plain(struct json_events *events, char c)
{
    if (c != ',' && c != '}' && c != ']' && c != '\n' && c != ' ') return keep(events, c);
    bool word = events->text[0] == 't' || events->text[0] == 'f' || events->text[0] == 'n';
    int status = scalar(events, word ? JSON_EVENT_WORD : JSON_EVENT_NUMBER);
    return status ? status : between(events, c);
}

int json_events_sink(void *context, const char *bytes, size_t length)
{
    struct json_events *events = context;
    int status = 0;
    for (size_t i = 0; i < length && status == 0; i++) {
        char c = bytes[i];
        switch (events->state) {
        case JSON_BETWEEN:
            status = between(events, c);
            break;
        case JSON_IN_STRING:
            if (c == '"')
                status = scalar(events, events->key ? JSON_EVENT_KEY : JSON_EVENT_STRING);
            else if (c == '\\')
                events->state = JSON_IN_ESCAPE;
            else
                status = keep(events, c);
            break;
        case JSON_IN_ESCAPE:
            status = escaped(events, c);
            break;
        case JSON_IN_CODE:
            status = code(events, c);
            break;
        case JSON_IN_PLAIN:
            status = plain(events, c);
            break;
        }
    }
    return status;
}
