/* Pickles of plain data: none, numbers, texts, lists, tuples, dictionaries. What would import, call or build
 * anything is refused, so nothing of the file ever runs. */
#ifndef CGTRACE_ANALYZER_CONVERT_PICKLE_H
#define CGTRACE_ANALYZER_CONVERT_PICKLE_H

#include "analyzer/trace/trace.h"

enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_LIST,
    PICKLE_DICT
};

/* A value; others name it by its number. Tuples are lists. Texts point into the file. A dictionary's items
 * are keys and values in turn. A list may hold itself. */
struct pickle_value {
    uint8_t type; /* enum pickle_type */
    bool negative;
    uint32_t count, room; /* items */
    union {
        uint64_t number; /* of an integer, its magnitude; of a bool, 0 or 1 */
        double real;
        struct cg_text text;
        uint32_t *items;
    };
};
struct pickle {
    struct pickle_value *values;
    size_t count, room;
    uint32_t root;
};

/* Reads protocols 2 to 5. Memory is linear in length. 0, or CG_EXIT_INPUT with the byte and what stands
 * there. The bytes must outlive the pickle. */
int pickle_read(const char *name, const void *bytes, size_t length, struct pickle *pickle,
                struct cg_error *error);
void pickle_free(struct pickle *pickle);

/* The value of a key in a dictionary; CG_NONE when it is none, or has no such key. Records have few keys: no
 * more than the last 64 are looked at, so that many references to a large dictionary cost nothing. */
uint32_t pickle_member(const struct pickle *pickle, uint32_t dict, const char *key);

#endif
