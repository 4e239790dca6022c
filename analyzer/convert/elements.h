/* A large JSON file, one piece at a time: the elements of its list of events, wherever line feeds stand. */
#ifndef CGTRACE_ANALYZER_CONVERT_ELEMENTS_H
#define CGTRACE_ANALYZER_CONVERT_ELEMENTS_H

#include "analyzer/trace/input.h"

/* A piece is not longer than this, or it is refused; other members of the file that are longer are passed
 * over. */
enum { ELEMENT_MAX = 16 << 20 };

struct elements {
    const char *name; /* of the file, for messages */
    const char *list; /* the member whose elements are wanted; the file may be that list itself */
    /* Takes an element of the list (key: NULL), or the value of another member. The text is one JSON value
     * that was checked, followed by a line feed and JSON_PADDING bytes. 0, or the status of *error. */
    int (*visit)(void *context, const char *key, const char *text, size_t length, struct cg_error *error);
    void *context;
    uint64_t count; /* elements of the list so far */
    bool found;     /* the list is there */
    bool cut;       /* the file ended in the middle */
};

/* Reads the input to its end. Commas too many or too few are overlooked, as viewers of such files do, and a
 * list that is the file need not be closed. 0 or the status of *error: CG_EXIT_INPUT names the element at
 * fault. */
int elements_read(struct elements *elements, struct input *input, struct cg_error *error);

#endif
