/* The values of fields: strings and lists, of which most are the same again and again, enums and numbers. */
#include <stdio.h>
#include <string.h>

#include "analyzer/trace/block.h"
#include "analyzer/trace/decode_internal.h"

/* batches */

bool decode_grow_texts(struct decoder *decoder)
{
    struct texts *texts = &decoder->texts;
    if (block_reserve(&texts->text, &texts->capacity, texts->count, 1, sizeof *texts->text)) return true;
    decode_no_memory(decoder);
    return false;
}

bool decoder_keep_strings(struct decoder *decoder)
{
    size_t kept = 0;
    for (size_t i = 0; i < decoder->string_slot_count; i++) {
        struct slot *slot = decoder->string_slots[i];
        slot->listed = slot->member != NO_MATCH;
        if (!slot->listed) continue;
        struct text text = {.number = decoder->last_texts.text[slot->value.string].number};
        if ((slot->value.string = add_text(decoder, text)) == 0) return false;
        decoder->string_slots[kept++] = slot;
    }
    decoder->string_slot_count = kept;
    return true;
}

/* The texts that the batch begins with are known from the one before. */
static bool resolve_texts(struct texts *texts, struct cg_strings *strings)
{
    enum { GROUP = 32 };
    cg_str candidates[GROUP];
    for (size_t begin = 1, end = 1; begin < texts->count; begin = end) {
        struct text *text = texts->text + begin;
        size_t count = texts->count - begin < GROUP ? texts->count - begin : GROUP;
        end = begin + count;
        size_t later = texts->count - end < GROUP ? texts->count - end : GROUP;
        for (size_t i = 0; i < later; i++)
            strings_prefetch(strings, text[count + i].hash);
        for (size_t i = 0; i < count; i++)
            candidates[i] = strings_candidate(strings, text[i].hash);
        for (size_t i = 0; i < count; i++)
            strings_prefetch_text(strings, candidates[i]);
        for (size_t i = 0; i < count; i++) {
            if (text[i].number != CG_ABSENT) continue;
            if (strings_is(strings, candidates[i], text[i].bytes, text[i].length))
                text[i].number = candidates[i];
            else if ((text[i].number =
                          strings_intern(strings, text[i].hash, text[i].bytes, text[i].length)) == CG_ABSENT)
                return false;
        }
    }
    return true;
}

bool decoder_resolve(struct decoder *decoder, struct interned *interned)
{
    if (!resolve_texts(&decoder->texts, interned->strings)) return false;
    for (; decoder->lists_resolved < decoder->list_count; decoder->lists_resolved++) {
        struct decoded_list *list = &decoder->lists[decoder->lists_resolved];
        if (!interned_numbers(interned, decoder->u64_pool + list->here.first, list->here.count,
                              &list->interned))
            return false;
    }
    if (!interned_reserve(interned, decoder->str_count)) return false;
    decoder->str_first = interned->str_count;
    for (size_t i = 0; i < decoder->str_count; i++)
        interned->str_pool[interned->str_count++] = decoder->texts.text[decoder->str_pool[i]].number;
    return true;
}

const char *decode_copy(struct decoder *decoder, const char *bytes, size_t length)
{
    char *copy = decode_allocate(decoder, length + 1);
    if (copy == NULL) return decode_no_memory(decoder);
    return memcpy(copy, bytes, length);
}

/* values */

const char *decode_unusual_string(struct decoder *decoder, const char *at, uint32_t *string)
{
    const char *bytes;
    size_t length;
    const char *end = json_string(&decoder->scan, at, &bytes, &length);
    if (end == NULL) return decode_scan_failed(decoder);
    if (bytes == decoder->scan.scratch && (bytes = decode_copy(decoder, bytes, length)) == NULL) return NULL;
    *string = decode_text(decoder, bytes, length);
    return *string != 0 ? end : NULL;
}

const char *decode_f64(struct decoder *decoder, const char *at, double *value)
{
    struct json_number number;
    if (*at != '-' && (unsigned char)(*at - '0') > 9) return decode_wrong_type(decoder, at, "a number");
    at = json_number(&decoder->scan, at, &number);
    if (at == NULL) return scanned(decoder, at);
    *value = number.f;
    return at;
}

const char *decode_bool(struct decoder *decoder, const char *at, uint64_t *value)
{
    *value = *at == 't';
    const char *end = *value ? json_literal(at, "true") : json_literal(at, "false");
    return end != NULL ? end : decode_wrong_type(decoder, at, "true or false");
}

static const char *unknown_value(struct decoder *decoder, const char *at, const struct values *values)
{
    char list[128] = "";
    size_t used = 0;
    for (unsigned i = 0; i < values->count && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", values->names[i]);
    return decode_fail(decoder, at, "expected one of: %s", list);
}

const char *decode_enum(struct decoder *decoder, const char *at, const struct values *values,
                        const struct pattern *patterns, uint64_t *value)
{
    for (unsigned i = 0; i < values->count; i++) {
        if (pattern_here(&patterns[i], at)) {
            *value = i;
            return at + patterns[i].length;
        }
    }
    /* An escape in it, or unknown. */
    const char *bytes;
    size_t length;
    if (__builtin_expect(*at != '"', 0)) return decode_wrong_type(decoder, at, "a string");
    const char *end = json_string(&decoder->scan, at, &bytes, &length);
    if (end == NULL) return scanned(decoder, end);
    for (unsigned i = 0; i < values->count; i++) {
        if (values->lengths[i] == length && memcmp(values->names[i], bytes, length) == 0) {
            *value = i;
            return end;
        }
    }
    return unknown_value(decoder, at, values);
}

static const char *add_list(struct decoder *decoder, const char *at, struct cg_list here, uint64_t *position)
{
    *position = 0;
    if (here.count == 0) return at;
    if (!block_reserve(&decoder->lists, &decoder->list_capacity, decoder->list_count, 1,
                       sizeof *decoder->lists))
        return decode_no_memory(decoder);
    *position = decoder->list_count;
    decoder->lists[decoder->list_count++] = (struct decoded_list){.here = here};
    return at;
}

const char *decode_u64_list(struct decoder *decoder, const char *at, uint64_t *position)
{
    bool more;
    const char *begin = at;
    size_t first = decoder->u64_count;
    if ((at = list_begins(decoder, at, '[', ']', &more)) == NULL) return NULL;
    while (more) {
        if (!block_reserve(&decoder->u64_pool, &decoder->u64_capacity, decoder->u64_count, 1,
                           sizeof *decoder->u64_pool))
            return decode_no_memory(decoder);
        if ((at = decode_u64(decoder, at, &decoder->u64_pool[decoder->u64_count])) == NULL) return NULL;
        decoder->u64_count++;
        if ((at = list_goes_on(decoder, at, ']', &more)) == NULL) return NULL;
    }
    struct cg_list here = {(uint32_t)first, (uint32_t)(decoder->u64_count - first)};
    if (add_list(decoder, at, here, position) == NULL) return NULL;
    unsigned length;
    struct list_memo *memo = list_memo(decoder, begin, &length);
    if (length != 0) {
        memcpy(memo->text, begin, LIST_TEXT);
        memo->list = (uint32_t)*position;
    }
    return at;
}

const char *decode_str_list(struct decoder *decoder, const char *at, struct cg_list *list)
{
    bool more;
    size_t first = decoder->str_count;
    if ((at = list_begins(decoder, at, '[', ']', &more)) == NULL) return NULL;
    while (more) {
        if (!block_reserve(&decoder->str_pool, &decoder->str_capacity, decoder->str_count, 1,
                           sizeof *decoder->str_pool))
            return decode_no_memory(decoder);
        if ((at = decode_string(decoder, at, &decoder->str_pool[decoder->str_count])) == NULL) return NULL;
        decoder->str_count++;
        if ((at = list_goes_on(decoder, at, ']', &more)) == NULL) return NULL;
    }
    *list = (struct cg_list){(uint32_t)first, (uint32_t)(decoder->str_count - first)};
    return at;
}

const char *decode_key(struct decoder *decoder, const char *at, const char **bytes, size_t *length)
{
    if (*at != '"') return decode_fail(decoder, at, "expected a key in quotes");
    at = json_string(&decoder->scan, at, bytes, length);
    if (at == NULL) return scanned(decoder, at);
    at = json_space(at);
    if (*at != ':') return decode_fail(decoder, at, "expected ':' after the key");
    return json_space(at + 1);
}

const char *decode_map(struct decoder *decoder, const char *at, struct pair_list **map)
{
    bool more;
    struct pair_list *list = *map = decode_allocate(decoder, sizeof *list);
    if (list == NULL) return decode_no_memory(decoder);
    if ((at = list_begins(decoder, at, '{', '}', &more)) == NULL) return NULL;
    while (more) {
        const char *bytes;
        size_t length;
        if (list->count == list->capacity) {
            size_t capacity = list->capacity * 2 + 16;
            struct text_pair *pairs = decode_allocate(decoder, capacity * sizeof *pairs);
            if (pairs == NULL) return decode_no_memory(decoder);
            if (list->count > 0) memcpy(pairs, list->pairs, list->count * sizeof *pairs);
            list->pairs = pairs;
            list->capacity = capacity;
        }
        struct text_pair *pair = &list->pairs[list->count];
        if ((at = decode_key(decoder, at, &bytes, &length)) == NULL) return NULL;
        if (bytes == decoder->scan.scratch && (bytes = decode_copy(decoder, bytes, length)) == NULL)
            return NULL;
        if ((pair->key = decode_text(decoder, bytes, length)) == 0) return NULL;
        if ((at = decode_string(decoder, at, &pair->value)) == NULL) return NULL;
        list->count++;
        if ((at = list_goes_on(decoder, at, '}', &more)) == NULL) return NULL;
    }
    return at;
}
