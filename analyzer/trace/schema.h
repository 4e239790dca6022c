/* The event table as data: what the decoder knows of each kind of record and each object in meta. */
#ifndef CGTRACE_ANALYZER_TRACE_SCHEMA_H
#define CGTRACE_ANALYZER_TRACE_SCHEMA_H

#include "analyzer/trace/trace.h"

enum field_type {
    TYPE_STR,
    TYPE_OPT_STR,
    TYPE_U64,
    TYPE_OPT_U64,
    TYPE_F64,
    TYPE_OPT_F64,
    TYPE_BOOL,
    TYPE_ENUM,
    TYPE_OPT_ENUM,
    TYPE_U64_LIST,
    TYPE_STR_LIST,
    TYPE_STACK,
    TYPE_OBJECT,
    TYPE_OBJECT_LIST,
    TYPE_MAP
};
enum field_presence {
    PRESENCE_REQUIRED,
    PRESENCE_DEFAULT,
    PRESENCE_OPTIONAL,
    PRESENCE_IF_CALL,
    PRESENCE_IF_DATA,
    PRESENCE_EXTRA
};

struct field {
    const char *key;
    uint8_t key_length, type, presence;
    uint8_t argument; /* enum value_set of ENUM, enum object_id of OBJECT, OBJECT_LIST and STACK */
};

/* An enum's values on the wire; its value is the index. */
enum value_set {
#define CG_VALUE_SET(name, values, initial) VALUES_##name,
    CG_ENUMS(CG_VALUE_SET)
#undef CG_VALUE_SET
        VALUES_COUNT
};
struct values {
    const char *const *names;
    const uint8_t *lengths;
    uint8_t count, initial; /* initial: the value when the field is missing */
};
extern const struct values schema_values[VALUES_COUNT];
extern const struct values schema_kinds; /* enum cg_kind */

/* The records by their kind, then the objects inside meta and stacks. */
enum object_id {
#define CG_OBJECT_ID(suffix, member, wire, fields, extras, meaning) OBJECT_##suffix,
    CG_KINDS(CG_OBJECT_ID)
#undef CG_OBJECT_ID
        OBJECT_CONTRACT,
    OBJECT_IDENTITY,
    OBJECT_GRADIENT_CONTRACT,
    OBJECT_GRADIENT_ENTRY,
    OBJECT_GRADIENT_FAMILY,
    OBJECT_STACK,
    OBJECT_FRAME,
    OBJECT_SOURCE,
    OBJECT_COUNT
};
/* Places of an operation's fields in its record. */
enum op_field {
#define OP_FIELD(name, wire, type, presence, argument, meaning) OP_FIELD_##name,
    CG_OP_FIELDS(OP_FIELD) CG_OP_EXTRAS(OP_FIELD)
#undef OP_FIELD
};
struct object_schema {
    const char *name;
    uint8_t count; /* of fields, the extras last */
    const struct field *fields;
};
extern const struct object_schema schema_objects[OBJECT_COUNT];

/* No object has more fields than a bit mask has bits. */
enum { SCHEMA_MAX_FIELDS = 32 };

#endif
