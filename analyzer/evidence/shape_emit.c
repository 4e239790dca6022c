/* Writing parts of a checked document again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/shape.h"

/* An object's members where they stand, for doc_members(): one table of emitters serves every shape, as each
 * emitter knows the place of its field. */
struct found {
    struct shape_reader *reader;
    const struct shape *shape;
    const char *value[SHAPE_FIELDS_MAX];
};

static void emit_field(struct json_doc *doc, const struct found *found, size_t i)
{
    const struct shape_field *field = &found->shape->fields[i];
    const char *value = found->value[i];
    if (!value && field->presence == SHAPE_DEFAULT) value = field->initial;
    if (value)
        shape_emit(found->reader, doc, &field->type, value);
    else
        doc_null(doc);
}

static bool has_field(const struct found *found, size_t i)
{
    enum shape_presence presence = found->shape->fields[i].presence;
    if (presence == SHAPE_EMPTY) return found->value[i] && shape_first(found->reader, found->value[i]);
    return found->value[i] || presence != SHAPE_OMITTED;
}

/* doc_members() gives its emitters the object alone, so there is one of them for each place in a shape. */
#define PLACES(P)                                                                                            \
    P(0)                                                                                                     \
    P(1)                                                                                                     \
    P(2)                                                                                                     \
    P(3)                                                                                                     \
    P(4) P(5) P(6) P(7) P(8) P(9) P(10) P(11) P(12) P(13) P(14) P(15) P(16) P(17) P(18) P(19) P(20) P(21)    \
        P(22) P(23)
#define PLACE_FUNCTIONS(i)                                                                                   \
    static void emit_##i(struct json_doc *doc, const void *object)                                           \
    {                                                                                                        \
        emit_field(doc, object, i);                                                                          \
    }                                                                                                        \
    static bool has_##i(const void *object)                                                                  \
    {                                                                                                        \
        return has_field(object, i);                                                                         \
    }
PLACES(PLACE_FUNCTIONS)
#define PLACE_MEMBER(i) {NULL, emit_##i, has_##i},
static const struct json_member place[SHAPE_FIELDS_MAX] = {PLACES(PLACE_MEMBER)};

static void emit_object(struct shape_reader *reader, struct json_doc *doc, const struct shape *shape,
                        const char *object)
{
    struct found found = {.reader = reader, .shape = shape};
    struct json_member members[SHAPE_FIELDS_MAX];
    struct cg_text key;
    for (const char *value = shape_first_pair(reader, object, &key); value;
         value = shape_next_pair(reader, value, &key))
        for (size_t i = 0; i < shape->count; i++)
            if (*value != 'n' && strlen(shape->fields[i].name) == key.length &&
                memcmp(shape->fields[i].name, key.bytes, key.length) == 0)
                found.value[i] = value;
    for (size_t i = 0; i < shape->count; i++) {
        members[i] = place[i];
        members[i].key = shape->fields[i].name;
    }
    doc_members(doc, members, shape->count, &found);
}

static const struct shape *chosen(struct shape_reader *reader, const struct shape_variant *variant,
                                  const char *object)
{
    struct cg_text word = shape_text(reader, shape_member(reader, object, variant->key));
    size_t i = 0;
    while (strlen(variant->words[i]) != word.length ||
           memcmp(variant->words[i], word.bytes, word.length) != 0)
        i++;
    return &variant->shapes[i];
}

struct map_pair {
    struct cg_text key;
    const char *value;
};

/* By key, later ones of equal keys first. */
static int compare_pairs(const void *left, const void *right)
{
    const struct map_pair *a = left, *b = right;
    int order = text_compare(a->key, b->key);
    return order ? order : (a->value < b->value) - (a->value > b->value);
}

static void emit_map(struct shape_reader *reader, struct json_doc *doc, const struct shape_type *type,
                     const char *map)
{
    struct map_pair few[16], *pairs = few;
    size_t count = 0, room = sizeof few / sizeof *few;
    struct cg_text key;
    for (const char *value = shape_first_pair(reader, map, &key); value;
         value = shape_next_pair(reader, value, &key)) {
        if (count == room) {
            struct map_pair *more = realloc(pairs == few ? NULL : pairs, 2 * room * sizeof *more);
            if (!more) {
                doc_fail(doc, ENOMEM);
                break;
            }
            if (pairs == few) memcpy(more, few, sizeof few);
            pairs = more;
            room *= 2;
        }
        pairs[count++] = (struct map_pair){key, value};
    }
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    doc_object(doc);
    for (size_t i = 0; i < count; i++) {
        if (i && text_compare(pairs[i - 1].key, pairs[i].key) == 0) continue;
        doc_key_bytes(doc, pairs[i].key.bytes, pairs[i].key.length);
        shape_emit(reader, doc, type, pairs[i].value);
    }
    doc_object_end(doc);
    if (pairs != few) free(pairs);
}

static void emit_string(struct shape_reader *reader, struct json_doc *doc, const struct shape_type *type,
                        const char *value)
{
    struct cg_text text;
    if (!shape_string(reader, value, &text)) {
        doc_fail(doc, ENOMEM);
    } else if (type->kind == SHAPE_OPEN_ENUM) {
        const char *const *word = type->of;
        while (word[1] && text_compare(text, (struct cg_text){*word, strlen(*word)}) != 0)
            word++;
        doc_string(doc, *word);
    } else {
        doc_string_bytes(doc, text.bytes, text.length);
    }
}

void shape_emit(struct shape_reader *reader, struct json_doc *doc, const struct shape_type *type,
                const char *value)
{
    switch (type->kind) {
    case SHAPE_STRING:
    case SHAPE_ENUM:
    case SHAPE_OPEN_ENUM:
    case SHAPE_DECIMAL:
        emit_string(reader, doc, type, value);
        break;
    case SHAPE_U64:
        doc_u64(doc, shape_u64(reader, value));
        break;
    case SHAPE_F64:
        doc_double(doc, shape_f64(reader, value));
        break;
    case SHAPE_BOOL:
        doc_bool(doc, *value == 't');
        break;
    case SHAPE_OBJECT:
        emit_object(reader, doc, type->of, value);
        break;
    case SHAPE_VARIANT:
        emit_object(reader, doc, chosen(reader, type->of, value), value);
        break;
    case SHAPE_LIST:
        doc_array(doc);
        for (const char *at = shape_first(reader, value); at; at = shape_next(reader, at))
            shape_emit(reader, doc, type->of, at);
        doc_array_end(doc);
        break;
    case SHAPE_MAP:
        emit_map(reader, doc, type->of, value);
        break;
    }
    if (reader->scan.no_memory) doc_fail(doc, ENOMEM);
}
