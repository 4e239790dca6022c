#include "analyzer/viewer/names.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/trace/block.h"

bool names_start(struct names *names, const struct cg_trace *trace)
{
    *names = (struct names){
        .trace = trace, .number = block_zeroed(((size_t)trace_string_count(trace) + 1) * sizeof(uint32_t))};
    return names->number && array_room(&names->order, 0, &names->capacity, sizeof *names->order);
}

void names_free(struct names *names)
{
    block_free(names->number);
    free(names->order);
    *names = (struct names){0};
}

uint32_t names_use(struct names *names, cg_str string)
{
    if (string == CG_ABSENT || !names->order) return 0;
    if (names->number[string]) return names->number[string];
    if (!array_room(&names->order, names->count, &names->capacity, sizeof *names->order)) {
        free(names->order);
        names->order = NULL;
        return 0;
    }
    names->order[names->count++] = string;
    return names->number[string] = (uint32_t)names->count;
}

void names_cut(struct names *names, size_t count)
{
    while (names->order && names->count > count)
        names->number[names->order[--names->count]] = 0;
}

struct cg_text text_beginning(struct cg_text text, size_t most)
{
    if (text.length <= most) return text;
    while (most > 0 && ((uint8_t)text.bytes[most] & 0xc0) == 0x80)
        most--;
    return (struct cg_text){text.bytes, most};
}

bool names_pack(const struct names *names, struct parts *parts)
{
    struct buffer columns[2] = {0};
    struct cg_text last = {0};
    for (size_t i = 0; i < names->count; i++) {
        struct cg_text text = trace_text(names->trace, names->order[i]);
        buffer_text(&columns[0], &last, text_beginning(text, NAME_BYTES_MAX));
        buffer_number(&columns[1], text.length > NAME_BYTES_MAX ? text.length : 0);
    }
    return names->order && parts_add_columns(parts, "names", columns, 2);
}
