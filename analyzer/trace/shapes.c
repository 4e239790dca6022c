#include "analyzer/trace/shapes.h"

#include <float.h>
#include <string.h>

/* A line on its way to a shape. */
struct learning {
    struct decoder *decoder;
    const struct shape *before; /* of lines as long; NULL: there is none */
    struct shape *shape;
    const struct layout *layout;
    const char *line;
    const struct record *record;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What was as it is now in the lines before is taken for something that stays. */
static bool changes(const struct learning *learning, const char *begin, const char *end)
{
    const struct shape *before = learning->before;
    if (before == NULL) return false;
    for (size_t at = (size_t)(begin - learning->line); at < (size_t)(end - learning->line); at++)
        if (before->above[at] != 0 || before->low[at] != (unsigned char)learning->line[at]) return true;
    return false;
}

/* Other digits may stand there: the number has as many again, and no zero in front. */
static void allow_digits(const struct learning *learning, const char *begin, const char *end)
{
    struct shape *shape = learning->shape;
    size_t first = (size_t)(begin - learning->line), length = (size_t)(end - begin);
    if (!changes(learning, begin, end)) return;
    memset(shape->low + first, '0', length);
    memset(shape->above + first, 9, length);
    if (length == 1) return;
    shape->low[first] = '1';
    shape->above[first] = 8;
}

/* Between the quotes other plain text may stand. */
static void allow_text(const struct learning *learning, const char *begin, const char *end)
{
    struct shape *shape = learning->shape;
    size_t first = (size_t)(begin - learning->line), length = (size_t)(end - begin);
    if (!changes(learning, begin, end)) return;
    memset(shape->low + first, ' ', length);
    memset(shape->above + first, 0x7F - ' ', length);
    for (size_t at = first; at < first + length; at++)
        shape->plain[at / 64] |= UINT64_C(1) << at % 64;
}

static bool add_part(const struct learning *learning, struct shape_parts *parts, unsigned field,
                     const char *begin, const char *end)
{
    if (parts->count == SHAPE_PARTS) return false;
    parts->part[parts->count++] = (struct shape_part){
        .at = (uint16_t)(begin - learning->line), .length = (uint16_t)(end - begin), .field = (uint8_t)field};
    return true;
}

/* Behind the digits at begin; NULL where they are only part of a number. */
static const char *whole_number(const char *begin)
{
    const char *end = begin;
    while (is_digit(*end))
        end++;
    return end == begin || *end == '.' || (*end | 0x20) == 'e' ? NULL : end;
}

/* Numbers and texts in a value that nobody reads. A number with a sign, a point or an exponent stays as it
 * is, and so does one with so many digits that others may be beyond the range of a double. */
static void allow_any(const struct learning *learning, const char *at, const char *end)
{
    while (at < end) {
        const char *behind = at + 1;
        if (*at == '"') {
            behind = json_plain_run(at + 1);
            if (*behind == '"') {
                allow_text(learning, at + 1, behind);
            } else {
                while (*behind != '"')
                    behind += *behind == '\\' ? 2 : 1;
            }
            behind++;
        } else if (*at == '-' || is_digit(*at)) {
            const char *number = whole_number(at);
            while (is_digit(*behind) || *behind == '.' || (*behind | 0x20) == 'e' || *behind == '+' ||
                   *behind == '-')
                behind++;
            if (number != NULL && number - at <= DBL_MAX_10_EXP) allow_digits(learning, at, number);
        }
        at = behind;
    }
}

/* The value of a field. False when a line like this one must be parsed each time: what the value stands for
 * is of one batch. */
static bool learn_value(const struct learning *learning, unsigned field, const char *at, const char *end)
{
    enum { DIGITS_MOST = 16 };
    const char *number = whole_number(at);
    struct shape *shape = learning->shape;
    bool changing = changes(learning, at, end);
    switch ((enum action)learning->layout->slot[field].action) {
    case ACTION_STR:
        if (*at != '"') return true;
        if (json_plain_run(at + 1) != end - 1) return false;
        allow_text(learning, at + 1, end - 1);
        return add_part(learning, changing ? &shape->strings : &shape->same_strings, field, at, end);
    case ACTION_U64:
        if (number != end || end - at > DIGITS_MOST) return true;
        if (!changing) return true;
        allow_digits(learning, at, end);
        return add_part(learning, &shape->numbers, field, at, end);
    case ACTION_U64_LIST:
        if (learning->record->value[field].numbers == 0) return true;
        allow_any(learning, at, end);
        return add_part(learning, changing ? &shape->lists : &shape->same_lists, field, at, end);
    case ACTION_SKIP:
        allow_any(learning, at, end);
        return true;
    case ACTION_ENUM:
    case ACTION_KEEP:
        return true;
    case ACTION_OTHER:
        break;
    }
    const struct field *known = &learning->layout->schema->fields[field];
    return known->type == TYPE_F64 || known->type == TYPE_OPT_F64 ||
           (learning->record->present >> field & 1) == 0;
}

/* The members from the opening brace on, which are without defect. Of an extra field that comes twice the
 * last one counts: such a line is parsed each time. */
static bool learn_members(const struct learning *learning)
{
    uint32_t seen = 0;
    const char *at = json_space(json_space(learning->line) + 1);
    while (*at != '}') {
        const char *key, *end;
        size_t length;
        at = decode_key(learning->decoder, at, &key, &length);
        if (at == NULL || (end = json_skip_value(&learning->decoder->scan, at, 1)) == NULL) return false;
        unsigned field = layout_field(learning->layout, key, length);
        if (field != NO_FIELD) {
            if (seen >> field & 1 || !learn_value(learning, field, at, end)) return false;
            seen |= UINT32_C(1) << field;
        } else if (length != 4 || memcmp(key, "kind", 4) != 0) {
            allow_any(learning, at, end);
        }
        at = json_space(end);
        if (*at == ',') at = json_space(at + 1);
    }
    return true;
}

static void learn(const struct learning *learning, size_t length, size_t end, enum cg_kind kind)
{
    struct shape *shape = learning->shape;
    *shape = (struct shape){0};
    memset(shape->above, 0xFF, sizeof shape->above);
    memcpy(shape->low, learning->line, length);
    memset(shape->above, 0, length);
    if (!learn_members(learning)) return;
    shape->kind = (uint8_t)kind;
    shape->values = schema_objects[kind].count;
    shape->end = (uint16_t)end;
    shape->present = learning->record->present;
    memcpy(shape->value, learning->record->value, schema_objects[kind].count * sizeof *shape->value);
    shape->length = (uint16_t)length;
}

void shape_missed(struct decoder *decoder, struct shape *shapes, const struct layout *layout,
                  const char *line, const char *end, enum cg_kind kind, const struct record *record)
{
    enum { WORTH_IT = 16, PATIENCE_MOST = 63 };
    size_t length = (size_t)((const char *)rawmemchr(end, '\n') - line) + 1;
    if (length > SHAPE_TEXT) return;
    struct shape *least = shapes, learned;
    char copy[SHAPE_TEXT + JSON_PADDING];
    struct learning learning = {
        .decoder = decoder, .shape = &learned, .layout = layout, .line = copy, .record = record};
    for (struct shape *shape = shapes; shape < shapes + SHAPE_WAYS; shape++) {
        shape->hits -= shape->hits / 8; /* what was useful long ago goes */
        if (shape->hits < least->hits) least = shape;
        if (shape->length == length) learning.before = shape;
    }
    if (least->wait > 0) {
        least->wait--;
        return;
    }
    unsigned patience = least->hits >= WORTH_IT ? 0 : least->patience * 2U + 1;
    /* What is mapped may change meanwhile; what is learned does not. */
    memcpy(copy, line, length);
    memset(copy + length - 1, '\n', sizeof copy - length + 1);
    learn(&learning, length, (size_t)(end - line), kind);
    *least = learned;
    least->patience = least->wait = (uint8_t)(patience < PATIENCE_MOST ? patience : PATIENCE_MOST);
}
