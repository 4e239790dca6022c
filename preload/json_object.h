/* Syntax check of one JSON object, and its members as they stand in the text (RFC 8259; doc/spec/trace.md 2).
 */
#ifndef CGTRACE_PRELOAD_JSON_OBJECT_H
#define CGTRACE_PRELOAD_JSON_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

enum { JSON_OBJECT_DEPTH = 64 }; /* nested arrays and objects that are allowed */

struct json_member {
    const char *key; /* without quotes, not decoded */
    size_t key_length;
    const char *value;
    size_t value_length;
};

/* Calls each(member, argument) for every member of the object that is all of text, in order. False: text is
 * not one JSON object; *where is then the offset of the defect. each may be NULL. */
bool object_members(const char *text, size_t length, void (*each)(const struct json_member *, void *),
                    void *argument, size_t *where);

#endif
