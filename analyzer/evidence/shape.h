/* Shapes of stored JSON documents: checking them against a table, and writing them again member by member.
 *
 * A document stays text. shape_check() goes over it once and refuses what doc/spec/cli.md 1.5 refuses;
 * afterwards parts of it are found, read and written by their places. Unknown members are dropped when a part
 * is written again, missing defaults are filled in, and maps are sorted. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_SHAPE_H
#define CGTRACE_ANALYZER_EVIDENCE_SHAPE_H

#include "analyzer/evidence/text.h"
#include "common/json_doc.h"
#include "common/json_scan.h"

enum shape_kind {
    SHAPE_STRING,
    SHAPE_U64,
    SHAPE_F64,
    SHAPE_BOOL,
    SHAPE_ENUM,      /* of: NULL-ended list of words */
    SHAPE_OPEN_ENUM, /* of: the same; any other word is read as the last one */
    SHAPE_DECIMAL,   /* a string of 1 to 39 digits, at most 2^128-1 */
    SHAPE_OBJECT,    /* of: struct shape */
    SHAPE_VARIANT,   /* of: struct shape_variant */
    SHAPE_LIST,      /* of: struct shape_type of the elements */
    SHAPE_MAP        /* of: struct shape_type of the values */
};
struct shape_type {
    enum shape_kind kind;
    const void *of;
};

enum shape_presence {
    SHAPE_REQUIRED, /* missing and null are refused */
    SHAPE_DEFAULT,  /* missing: the default is written; null is refused */
    SHAPE_OMITTED,  /* missing and null: left out */
    SHAPE_EMPTY,    /* a list; missing and empty: left out; null is refused */
    SHAPE_NULLABLE  /* missing and null: null */
};
struct shape_field {
    const char *name;
    struct shape_type type;
    enum shape_presence presence;
    const char *initial; /* SHAPE_DEFAULT: JSON text, a line feed and JSON_PADDING readable bytes */
};
struct shape {
    const struct shape_field *fields; /* in declared order */
    size_t count;                     /* at most SHAPE_FIELDS_MAX */
};
#define SHAPE_FIELDS_MAX 24

/* An object whose shape is told by a string member of it. */
struct shape_variant {
    const char *key;
    const char *const *words; /* NULL-ended, one for each shape */
    const struct shape *shapes;
};

/* The reader: a document in memory, in which line feeds were replaced (shape_open()). */
struct shape_reader {
    struct json_scan scan;
    const char *at;   /* where it stands */
    const char *name; /* of the document, for messages */
    const char *begin, *end;
    struct text_arena arena; /* decoded strings that had escapes */
    unsigned depth;
    const char *path[16]; /* members on the way to the value at hand; NULL for an element */
    char fault[160];      /* what is wrong there, when the scanner has not said it */
};

/* Takes over nothing; bytes[length] and JSON_PADDING - 1 bytes more must be writable and live as long as the
 * reader. Line feeds become carriage returns (white space to the scanner, and not allowed in strings either),
 * one line feed ends the text. */
void shape_open(struct shape_reader *reader, const char *name, char *bytes, size_t length);
void shape_close(struct shape_reader *reader);

/* Is the whole document one value of this type? Else CG_EXIT_INPUT, with a line that names the document, the
 * byte, the member and the defect; CG_EXIT_IO when memory is short. */
int shape_check(struct shape_reader *reader, const struct shape_type *type, struct cg_error *error);

/* Is the whole document one JSON value, whatever its shape? */
int shape_check_any(struct shape_reader *reader, struct cg_error *error);

/* ---- after the check ---- */

/* The value of a member of the object at this place; NULL when missing or null. */
const char *shape_member(struct shape_reader *reader, const char *object, const char *name);
/* The document's value. */
const char *shape_document(struct shape_reader *reader);
/* Iteration over a list: the first element, then the one after each; NULL at the end. */
const char *shape_first(struct shape_reader *reader, const char *list);
const char *shape_next(struct shape_reader *reader, const char *element);
/* Iteration over a map; *key is set too. */
const char *shape_first_pair(struct shape_reader *reader, const char *map, struct cg_text *key);
const char *shape_next_pair(struct shape_reader *reader, const char *value, struct cg_text *key);

/* Values; NULL gives an absent text, 0 and false. Texts live as long as the reader. */
struct cg_text shape_text(struct shape_reader *reader, const char *value);
uint64_t shape_u64(struct shape_reader *reader, const char *value);
bool shape_bool(const char *value);
double shape_f64(struct shape_reader *reader, const char *value);
/* A string of the moment: valid until the next call. False when memory is short. */
bool shape_string(struct shape_reader *reader, const char *value, struct cg_text *text);

/* Writes the value again. */
void shape_emit(struct shape_reader *reader, struct json_doc *doc, const struct shape_type *type,
                const char *value);

#endif
