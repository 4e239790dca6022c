/* Reads back a JSON document while it is being written: a sink of common/json_doc.h that turns the text into
 * events. Tables and CSV are made from these, so every format shows the same facts. The text comes from our
 * own writer and is taken to be well formed. */
#ifndef CGTRACE_ANALYZER_CMD_JSON_EVENTS_H
#define CGTRACE_ANALYZER_CMD_JSON_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

enum json_event {
    JSON_EVENT_OBJECT,
    JSON_EVENT_OBJECT_END,
    JSON_EVENT_ARRAY,
    JSON_EVENT_ARRAY_END,
    JSON_EVENT_KEY,
    JSON_EVENT_STRING, /* text decoded */
    JSON_EVENT_NUMBER, /* text as written */
    JSON_EVENT_WORD    /* true, false or null */
};

/* Takes one event; text and length only for the last four, valid during the call. 0, or an errno value that
 * ends the document. */
typedef int json_event_handler(void *context, enum json_event event, const char *text, size_t length);

struct json_events {
    json_event_handler *handler;
    void *context;
    char *text; /* the scalar being read */
    size_t length, room;
    enum { JSON_BETWEEN, JSON_IN_STRING, JSON_IN_ESCAPE, JSON_IN_CODE, JSON_IN_PLAIN } state;
    bool key; /* in an object, where a key is next */
    unsigned code, digits;
    unsigned depth;
    bool objects[64]; /* by depth: an object, not an array */
};

/* Nothing to free before the first byte; json_events_end() after the last. */
void json_events_start(struct json_events *events, json_event_handler *handler, void *context);
int json_events_sink(void *events, const char *bytes, size_t length);
void json_events_end(struct json_events *events);

#endif
