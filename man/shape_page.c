#include "man/shape_page.h"

#include <stdio.h>
#include <string.h>

#include "common/event_table.h"
#include "man/evidence_members.h"
#include "man/mdoc.h"

static const struct member {
    const char *name, *meaning;
} members[] = {
#define MEMBER(name, meaning) {name, meaning},
    EVIDENCE_MEMBERS(MEMBER)
/* Behind ours: the first of a name counts. */
#define FIELD(id, wire, type, presence, argument, meaning) {wire, meaning},
        CG_META_FIELDS(FIELD) CG_IDENTITY_FIELDS(FIELD) CG_CONTRACT_FIELDS(FIELD)
            CG_GRADIENT_CONTRACT_FIELDS(FIELD) CG_GRADIENT_ENTRY_FIELDS(FIELD)
                CG_GRADIENT_FAMILY_FIELDS(FIELD) CG_TENSOR_FIELDS(FIELD) CG_TENSOR_STATS_FIELDS(FIELD)
                    CG_GRADIENT_FIELDS(FIELD) CG_DEVICE_MEMORY_FIELDS(FIELD) CG_EDGE_FIELDS(FIELD)};

/* The meaning of parent.name, or of name wherever it stands. */
static const char *meaning_of(const char *parent, const char *name)
{
    char whole[128];

    snprintf(whole, sizeof whole, "%s.%s", parent, name);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            if (strcmp(members[i].name, pass == 0 ? whole : name) == 0) return members[i].meaning;
    fprintf(stderr, "evidence_members.h does not say what %s is\n", whole);
    return NULL;
}

static const char *type_of(const struct shape_type *type)
{
    static const char *const names[] = {[SHAPE_STRING] = "string",
                                        [SHAPE_U64] = "integer",
                                        [SHAPE_F64] = "number",
                                        [SHAPE_BOOL] = "boolean",
                                        [SHAPE_ENUM] = "word",
                                        [SHAPE_OPEN_ENUM] = "word",
                                        [SHAPE_DECIMAL] = "string of digits",
                                        [SHAPE_OBJECT] = "object",
                                        [SHAPE_VARIANT] = "object",
                                        [SHAPE_LIST] = "list",
                                        [SHAPE_MAP] = "map"};

    return names[type->kind];
}

static const char *presence_of(const struct shape_field *field)
{
    static const char *const names[] = {[SHAPE_REQUIRED] = "",
                                        [SHAPE_DEFAULT] = "; may be missing in older packets",
                                        [SHAPE_OMITTED] = "; left out when there is none",
                                        [SHAPE_EMPTY] = "; left out when empty",
                                        [SHAPE_NULLABLE] = "; null when there is none"};

    return names[field->presence];
}

/* The type of an element of lists and maps. */
static const struct shape_type *element_of(const struct shape_type *type)
{
    while (type->kind == SHAPE_LIST || type->kind == SHAPE_MAP)
        type = type->of;
    return type;
}

static void put_words(const char *const *word)
{
    puts(word[1] ? "One of" : "Always");
    for (; *word; word++)
        printf(".Ql %s%s\n", *word, word[1] ? " ," : " .");
}

static const char *top;
static bool put_shape(const char *path, const char *name, const struct shape_field *fields, size_t count);

/* The objects that the fields hold, each as a section of its own behind the one that names them. */
static bool put_inner(const char *path, const struct shape_field *fields, size_t count)
{
    bool whole = true;

    for (size_t i = 0; i < count; i++) {
        const struct shape_type *type = element_of(&fields[i].type);
        const struct shape_variant *variant = type->of;
        const struct shape *shape = type->of;
        char inner[256];
        if (type->kind != SHAPE_OBJECT && type->kind != SHAPE_VARIANT) continue;
        snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", fields[i].name);
        if (type->kind == SHAPE_OBJECT) {
            whole &= put_shape(inner, fields[i].name, shape->fields, shape->count);
            continue;
        }
        for (size_t k = 0; variant->words[k]; k++) {
            char title[300];
            if (k > 0 && variant->shapes[k].fields == variant->shapes[k - 1].fields) continue;
            snprintf(title, sizeof title, "%s (%s %s)", inner, variant->key, variant->words[k]);
            whole &= put_shape(title, fields[i].name, variant->shapes[k].fields, variant->shapes[k].count);
        }
    }
    return whole;
}

static bool put_shape(const char *path, const char *name, const struct shape_field *fields, size_t count)
{
    /* Said once: the same object at several places. */
    static const struct shape_field *known[64];
    static const char *where[64];
    static size_t known_count;
    bool whole = true;

    printf(".Ss %s\n", path);
    for (size_t i = 0; i < known_count; i++)
        if (known[i] == fields) {
            printf("As\n.Va %s .\n", where[i]);
            return true;
        }
    if (known_count == sizeof known / sizeof *known) return false;
    known[known_count] = fields;
    if (!(where[known_count] = strdup(path))) return false;
    known_count++;
    puts(".Bl -tag -width Ds");
    for (size_t i = 0; i < count; i++) {
        const struct shape_type *element = element_of(&fields[i].type);
        const char *meaning = meaning_of(name, fields[i].name);
        bool of = element != &fields[i].type;
        printf(".It Va %s Pq %s%s%s%s\n", fields[i].name, type_of(&fields[i].type), of ? " of " : "",
               of ? type_of(element) : "", presence_of(&fields[i]));
        if (meaning) mdoc_sentence(stdout, meaning);
        whole &= meaning != NULL;
        if (element->kind == SHAPE_ENUM || element->kind == SHAPE_OPEN_ENUM) put_words(element->of);
    }
    puts(".El");
    return whole & put_inner(strcmp(path, top) == 0 ? "" : path, fields, count);
}

bool shape_page(const char *name, const struct shape_type *type)
{
    const struct shape *shape = type->of;

    top = name;
    return put_shape(name, name, shape->fields, shape->count);
}
