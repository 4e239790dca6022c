/* Writes the JSON Schema of a line of a trace (draft 2020-12) from the event table to standard output.
 *
 * It says what a line must be to be read. Extra fields have no type in it, since none is a reason to reject;
 * what holds between lines (order, spans that nest, storages) no schema can say: cg-analyze summary
 * --require-valid. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/event_table.h"

struct field {
    const char *wire, *type, *presence, *argument, *meaning;
};
#define FIELD(id, wire, type, presence, argument, meaning) {wire, #type, #presence, #argument, meaning},
#define FIELDS(name, list)                                 static const struct field name[] = {list(FIELD){NULL, NULL, NULL, NULL, NULL}};

/* The objects in records, by the argument of their fields. */
#define OBJECTS(O)                                                                                           \
    O(CONTRACT, contract, CG_CONTRACT_FIELDS)                                                                \
    O(IDENTITY, identity, CG_IDENTITY_FIELDS)                                                                \
    O(GRADIENT_CONTRACT, gradient_contract, CG_GRADIENT_CONTRACT_FIELDS)                                     \
    O(GRADIENT_ENTRY, gradient_entry, CG_GRADIENT_ENTRY_FIELDS)                                              \
    O(GRADIENT_FAMILY, gradient_family, CG_GRADIENT_FAMILY_FIELDS)
#define OBJECT_FIELDS(argument, name, fields) FIELDS(object_##name, fields)
OBJECTS(OBJECT_FIELDS)
#define KIND_FIELDS(suffix, member, wire, fields, extras, meaning)                                           \
    FIELDS(fields_##member, fields) FIELDS(extras_##member, extras)
CG_KINDS(KIND_FIELDS)

static const struct words {
    const char *name;
    const char *const *values;
    unsigned count;
} words[] = {
#define WORDS(name, values, initial) {#name, cg_name_##name, CG_##name##_COUNT},
    CG_ENUMS(WORDS)};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Texts of the tables are ASCII without control characters. */
static void put_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void put_words(const char *name, bool null)
{
    fputs("\"enum\": [", stdout);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (unsigned k = 0; is(words[i].name, name) && k < words[i].count; k++)
            printf("%s\"%s\"", k ? ", " : "", words[i].values[k]);
    fputs(null ? ", null]" : "]", stdout);
}

static const char *reference(const char *argument)
{
#define REFERENCE(name, member, fields)                                                                      \
    if (is(argument, #name)) return #member;
    OBJECTS(REFERENCE)
    return NULL;
}

#define U64_SCHEMA "\"minimum\": 0, \"maximum\": 18446744073709551615"

static void put_type(const struct field *field, bool null)
{
    const char *type = field->type + (strncmp(field->type, "OPT_", 4) == 0 ? 4 : 0);
    const char *or_null = null ? ", \"null\"]" : "]";

    if (is(type, "STR"))
        printf("\"type\": [\"string\"%s", or_null);
    else if (is(type, "U64"))
        printf("\"type\": [\"integer\"%s, " U64_SCHEMA, or_null);
    else if (is(type, "F64"))
        printf("\"type\": [\"number\"%s", or_null);
    else if (is(type, "BOOL"))
        printf("\"type\": [\"boolean\"%s", or_null);
    else if (is(type, "ENUM"))
        put_words(field->argument, null);
    else if (is(type, "STR_LIST"))
        fputs("\"type\": \"array\", \"items\": {\"type\": \"string\"}", stdout);
    else if (is(type, "U64_LIST"))
        fputs("\"type\": \"array\", \"items\": {\"type\": \"integer\", " U64_SCHEMA "}", stdout);
    else if (is(type, "MAP"))
        fputs("\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"}", stdout);
    else if (is(type, "OBJECT"))
        printf(null ? "\"anyOf\": [{\"$ref\": \"#/$defs/%s\"}, {\"type\": \"null\"}]"
                    : "\"$ref\": \"#/$defs/%s\"",
               reference(field->argument));
    else
        printf("\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/%s\"}", reference(field->argument));
}

static void put_properties(const struct field *field, bool *first)
{
    for (; field->wire; field++) {
        bool extra = is(field->presence, "EXTRA"), call = is(field->presence, "IF_CALL");
        bool data = is(field->presence, "IF_DATA");
        printf("%s\n        \"%s\": {\"description\": ", *first ? "" : ",", field->wire);
        put_text(field->meaning);
        *first = false;
        if (!extra && !call && !data) {
            fputs(", ", stdout);
            put_type(field, is(field->presence, "OPTIONAL"));
        }
        putchar('}');
    }
}

static void put_required(const struct field *field, const char *presence, const char *first)
{
    for (; field->wire; field++)
        if (is(field->presence, presence)) {
            printf("%s\"%s\"", first, field->wire);
            first = ", ";
        }
}

/* What an edge of one edge_kind must have; the fields of the other are passed over. */
static void put_edge(const struct field *fields, const char *word, const char *presence)
{
    bool first = true;

    printf("{\"if\": {\"properties\": {\"edge_kind\": {\"const\": \"%s\"}}}, \"then\": {\"required\": [",
           word);
    put_required(fields, presence, "");
    fputs("], \"properties\": {", stdout);
    for (; fields->wire; fields++) {
        if (!is(fields->presence, presence)) continue;
        printf("%s\"%s\": {", first ? "" : ", ", fields->wire);
        put_type(fields, false);
        putchar('}');
        first = false;
    }
    fputs("}}}", stdout);
}

static void put_record(const char *wire, const char *meaning, const struct field *fields,
                       const struct field *extras, bool edge)
{
    bool first = false;

    printf(",\n    \"%s\": {\n      \"description\": ", wire);
    put_text(meaning);
    printf(",\n      \"type\": \"object\",\n      \"properties\": {\n        \"kind\": {\"const\": \"%s\"}",
           wire);
    put_properties(fields, &first);
    put_properties(extras, &first);
    fputs("\n      },\n      \"required\": [\"kind\"", stdout);
    put_required(fields, "REQUIRED", ", ");
    putchar(']');
    if (edge) {
        fputs(",\n      \"allOf\": [\n        ", stdout);
        put_edge(fields, cg_name_EDGE_KIND[CG_EDGE_KIND_CALL], "IF_CALL");
        fputs(",\n        ", stdout);
        put_edge(fields, cg_name_EDGE_KIND[CG_EDGE_KIND_DATA], "IF_DATA");
        fputs("\n      ]", stdout);
    }
    fputs("\n    }", stdout);
}

static void put_object(const char *name, const struct field *fields, const char *comma)
{
    bool first = true;

    printf("%s\n    \"%s\": {\n      \"type\": \"object\",\n      \"properties\": {", comma, name);
    put_properties(fields, &first);
    fputs("\n      },\n      \"required\": [", stdout);
    put_required(fields, "REQUIRED", "");
    fputs("]\n    }", stdout);
}

int main(void)
{
    const char *comma = "";

    puts("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": "
         "\"" CG_SCHEMA_TRACE_10
         "\",\n  \"description\": \"A line of a trace. What holds between lines is not said here.\",\n"
         "  \"type\": \"object\",\n  \"required\": [\"kind\"],\n  \"oneOf\": [");
#define PUT_REFERENCE(suffix, member, wire, fields, extras, meaning)                                         \
    printf("%s    {\"$ref\": \"#/$defs/" wire "\"}", CG_KIND_##suffix == 0 ? "" : ",\n");
    CG_KINDS(PUT_REFERENCE)
    fputs("\n  ],\n  \"$defs\": {", stdout);
#define PUT_OBJECT(argument, name, fields)                                                                   \
    put_object(#name, object_##name, comma);                                                                 \
    comma = ",";
    OBJECTS(PUT_OBJECT)
#define PUT_RECORD(suffix, member, wire, fields, extras, meaning)                                            \
    put_record(wire, meaning, fields_##member, extras_##member, CG_KIND_##suffix == CG_KIND_EDGE);
    CG_KINDS(PUT_RECORD)
    puts("\n  }\n}");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
