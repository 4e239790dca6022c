#include "analyzer/trace/schema.h"

#define LENGTH(name, suffix, wire)     sizeof wire - 1,
#define LENGTHS(name, values, initial) static const uint8_t lengths_##name[] = {values(LENGTH)};
#define VALUES(name, values, initial)                                                                        \
    [VALUES_##name] = {cg_name_##name, lengths_##name, CG_##name##_COUNT, CG_##name##_##initial},
CG_ENUMS(LENGTHS)
const struct values schema_values[VALUES_COUNT] = {CG_ENUMS(VALUES)};

#define KIND_NAME(suffix, member, wire, fields, extras, meaning)   wire,
#define KIND_LENGTH(suffix, member, wire, fields, extras, meaning) sizeof wire - 1,
static const char *const kind_names[] = {CG_KINDS(KIND_NAME)};
static const uint8_t kind_lengths[] = {CG_KINDS(KIND_LENGTH)};
const struct values schema_kinds = {kind_names, kind_lengths, CG_KIND_COUNT, 0};

#define ARGUMENT_NONE(argument)        0
#define ARGUMENT_STR(argument)         0
#define ARGUMENT_OPT_STR(argument)     0
#define ARGUMENT_U64(argument)         0
#define ARGUMENT_OPT_U64(argument)     0
#define ARGUMENT_F64(argument)         0
#define ARGUMENT_OPT_F64(argument)     0
#define ARGUMENT_BOOL(argument)        0
#define ARGUMENT_U64_LIST(argument)    0
#define ARGUMENT_STR_LIST(argument)    0
#define ARGUMENT_MAP(argument)         0
#define ARGUMENT_ENUM(argument)        VALUES_##argument
#define ARGUMENT_OPT_ENUM(argument)    VALUES_##argument
#define ARGUMENT_STACK(argument)       OBJECT_##argument
#define ARGUMENT_OBJECT(argument)      OBJECT_##argument
#define ARGUMENT_OBJECT_LIST(argument) OBJECT_##argument
#define FIELD(name, wire, type, presence, argument, meaning)                                                 \
    {wire, sizeof wire - 1, TYPE_##type, PRESENCE_##presence, ARGUMENT_##type(argument)},

#define RECORD_FIELDS(suffix, member, wire, fields, extras, meaning)                                         \
    static const struct field member##_fields[] = {fields(FIELD) extras(FIELD)};                             \
    _Static_assert(sizeof member##_fields / sizeof(struct field) <= SCHEMA_MAX_FIELDS, "mask too narrow");
CG_KINDS(RECORD_FIELDS)

static const struct field contract_fields[] = {CG_CONTRACT_FIELDS(FIELD)};
static const struct field identity_fields[] = {CG_IDENTITY_FIELDS(FIELD)};
static const struct field gradient_contract_fields[] = {CG_GRADIENT_CONTRACT_FIELDS(FIELD)};
static const struct field gradient_entry_fields[] = {CG_GRADIENT_ENTRY_FIELDS(FIELD)};
static const struct field gradient_family_fields[] = {CG_GRADIENT_FAMILY_FIELDS(FIELD)};
static const struct field stack_fields[] = {CG_STACK_FIELDS(FIELD)};
static const struct field frame_fields[] = {CG_FRAME_FIELDS(FIELD)};
static const struct field source_fields[] = {CG_SOURCE_FIELDS(FIELD)};

#define SCHEMA(wire, fields)                                                                                 \
    {                                                                                                        \
        wire, sizeof fields / sizeof *fields, fields                                                         \
    }
#define RECORD(suffix, member, wire, fields, extras, meaning)                                                \
    [OBJECT_##suffix] = SCHEMA(wire, member##_fields),

const struct object_schema schema_objects[OBJECT_COUNT] = {
    CG_KINDS(RECORD)[OBJECT_CONTRACT] = SCHEMA("capture_contract", contract_fields),
    [OBJECT_IDENTITY] = SCHEMA("comparison_identity", identity_fields),
    [OBJECT_GRADIENT_CONTRACT] = SCHEMA("gradient_contract", gradient_contract_fields),
    [OBJECT_GRADIENT_ENTRY] = SCHEMA("gradient_contract.expected", gradient_entry_fields),
    [OBJECT_GRADIENT_FAMILY] = SCHEMA("gradient_contract.families", gradient_family_fields),
    [OBJECT_STACK] = SCHEMA("stack", stack_fields),
    [OBJECT_FRAME] = SCHEMA("stack.frames", frame_fields),
    [OBJECT_SOURCE] = SCHEMA("stack.frames.source", source_fields),
};
