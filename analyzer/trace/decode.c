#include "analyzer/trace/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/block.h"
#include "analyzer/trace/decode_internal.h"
#include "analyzer/trace/shapes.h"

static const struct pattern never = {.mask = NO_MATCH};
static const char no_text[PATTERN_MAX]; /* no string to compare with, but bytes to read */

struct allocation {
    struct allocation *next;
    max_align_t bytes[];
};

/* faults */

const char *decode_fail(struct decoder *decoder, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(decoder->fault.text, sizeof decoder->fault.text, format, arguments);
    va_end(arguments);
    decoder->fault.at = at;
    decoder->fault.field = decoder->field;
    return NULL;
}

const char *decode_scan_failed(struct decoder *decoder)
{
    decoder->fault.no_memory = decoder->scan.no_memory;
    return decode_fail(decoder, decoder->scan.fault_at, "%s", decoder->scan.fault);
}

const char *decode_no_memory(struct decoder *decoder)
{
    decoder->fault.no_memory = true;
    return decode_fail(decoder, NULL, "out of memory");
}

const char *decode_wrong_type(struct decoder *decoder, const char *at, const char *expected)
{
    return decode_fail(decoder, at, "expected %s, found %s", expected, json_found(at));
}

/* memory */

void *decode_allocate(struct decoder *decoder, size_t size)
{
    struct allocation *made = calloc(1, sizeof *made + size);
    if (made == NULL) return NULL;
    made->next = decoder->allocations;
    decoder->allocations = made;
    decoder->allocated += size;
    return made->bytes;
}

static void free_allocations(struct decoder *decoder)
{
    while (decoder->allocations != NULL) {
        struct allocation *next = decoder->allocations->next;
        free(decoder->allocations);
        decoder->allocations = next;
    }
    decoder->allocated = 0;
}

/* layouts */

static struct pattern pattern_of(const char *head, const char *text, const char *tail)
{
    struct pattern pattern = never;
    char whole_text[PATTERN_MAX + 1] = "";
    int whole = snprintf(whole_text, sizeof whole_text, "%s%s%s", head, text, tail);
    if (whole > PATTERN_MAX) return pattern;
    memcpy(pattern.text, whole_text, (size_t)whole);
    pattern.mask = mask_of((size_t)whole);
    pattern.length = (unsigned)whole;
    return pattern;
}

static void patterns_init(struct pattern *patterns, const struct values *values, const char *head)
{
    for (unsigned i = 0; i < values->count; i++)
        patterns[i] = pattern_of(head, values->names[i], "\"");
}

static enum action action_of(const struct field *field, bool extras)
{
    if (field->presence == PRESENCE_EXTRA && !extras && !decoder_watches(field)) return ACTION_SKIP;
    switch ((enum field_type)field->type) {
    case TYPE_STR:
    case TYPE_OPT_STR:
        return ACTION_STR;
    case TYPE_U64:
    case TYPE_OPT_U64:
        return ACTION_U64;
    case TYPE_ENUM:
        return ACTION_ENUM;
    case TYPE_U64_LIST:
        return ACTION_U64_LIST;
    case TYPE_BOOL:
    case TYPE_OPT_ENUM:
        return ACTION_KEEP;
    default:
        return ACTION_OTHER;
    }
}

static void layout_init(struct layout *layout, const struct object_schema *schema, bool call, bool data,
                        bool extras)
{
    layout->schema = schema;
    for (unsigned i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];
        uint32_t bit = UINT32_C(1) << i;
        bool conditional =
            (field->presence == PRESENCE_IF_CALL && call) || (field->presence == PRESENCE_IF_DATA && data);
        bool foreign =
            !conditional && (field->presence == PRESENCE_IF_CALL || field->presence == PRESENCE_IF_DATA);
        struct slot *slot = &layout->slot[i];
        slot->key = slot->member = NO_MATCH;
        slot->next = NOT_LINKED;
        slot->action = (uint8_t)action_of(field, extras);
        slot->values = field->argument;
        if (!foreign) layout->known |= bit;
        if (conditional || field->presence == PRESENCE_REQUIRED) layout->required |= bit;
        if (field->type == TYPE_ENUM && schema_values[field->argument].initial != 0) layout->defaults |= bit;
        if (field->presence != PRESENCE_EXTRA) layout->single |= bit;
        if (extras || field->presence != PRESENCE_EXTRA) layout->stored |= bit;
    }
    layout->slot[OBJECT_END] = (struct slot){.text = "}", .member = NO_MATCH, .key = 1, .key_length = 1};
    layout->slot[LIST_HEAD].next = OBJECT_END;
}

unsigned layout_field(const struct layout *layout, const char *key, size_t length)
{
    for (unsigned i = 0; i < layout->schema->count; i++) {
        const struct field *field = &layout->schema->fields[i];
        if (field->key_length == length && memcmp(field->key, key, length) == 0)
            return layout->known >> i & 1 ? i : NO_FIELD;
    }
    return NO_FIELD;
}

/* AVX2 compares a member at once, adds up all digits of a number, and holds lines against their shape
 * (shapes.h); AVX-512 takes half the steps for that. */
enum vectors { VECTORS_PORTABLE, VECTORS_AVX2, VECTORS_AVX512 };
static enum vectors widest = VECTORS_AVX512;

bool trace_limit_vectors(const char *word)
{
    static const char *const words[] = {"portable", "avx2", "avx512"};

    for (int i = VECTORS_PORTABLE; i <= VECTORS_AVX512; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        widest = (enum vectors)i;
        return true;
    }
    return false;
}

static record_decoder *fastest_decoder(bool narrow)
{
#ifdef __x86_64__
    if (!narrow && widest >= VECTORS_AVX512 && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return decode_record_avx512;
    if (widest >= VECTORS_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        return decode_record_avx2;
#endif
    (void)narrow;
    return decode_record_as;
}

bool decoder_init(struct decoder *decoder, const struct cg_load_options *options)
{
    bool extras = options->extras;
    enum { FIRST_TEXTS = 256 };
    *decoder = (struct decoder){.extras = extras};
    decoder->decode_record = options->portable ? decode_record_as : fastest_decoder(options->narrow);
    decoder->layouts = block_zeroed(LAYOUT_COUNT * sizeof *decoder->layouts);
    decoder->patterns = calloc((VALUES_COUNT + 1) * VALUES_MAX, sizeof *decoder->patterns);
    decoder->starts = calloc(CG_KIND_COUNT, sizeof *decoder->starts);
    decoder->kind_memos = calloc(1U << KIND_MEMO_BITS, sizeof *decoder->kind_memos);
    decoder->string_slots = calloc(LAYOUT_COUNT * SCHEMA_MAX_FIELDS, sizeof(struct slot *));
    decoder->list_memos = calloc(1U << LIST_MEMO_BITS, sizeof *decoder->list_memos);
    if (decoder->layouts == NULL || decoder->patterns == NULL || decoder->starts == NULL ||
        decoder->kind_memos == NULL || decoder->string_slots == NULL || decoder->list_memos == NULL ||
        !block_reserve(&decoder->texts.text, &decoder->texts.capacity, 0, FIRST_TEXTS, sizeof(struct text)) ||
        !block_reserve(&decoder->last_texts.text, &decoder->last_texts.capacity, 0, FIRST_TEXTS,
                       sizeof(struct text)) ||
        !block_reserve(&decoder->lists, &decoder->list_capacity, 0, 1, sizeof *decoder->lists))
        return false;
    decoder->lists[0] = (struct decoded_list){0}; /* what an absent list refers to */
    decoder->list_count = decoder->lists_resolved = 1;
    for (unsigned i = 0; i < VALUES_COUNT; i++)
        patterns_init(decoder->patterns + i * VALUES_MAX, &schema_values[i], "\"");
    patterns_init(decoder->patterns + VALUES_COUNT * VALUES_MAX, &schema_kinds, "\"");
    patterns_init(decoder->starts, &schema_kinds, "{\"kind\":\"");
    for (unsigned i = 0; i < OBJECT_COUNT; i++)
        layout_init(&decoder->layouts[i], &schema_objects[i], true, false, extras);
    layout_init(&decoder->layouts[LAYOUT_EDGE_DATA], &schema_objects[OBJECT_EDGE], false, true, extras);
    return true;
}

void decoder_free(struct decoder *decoder)
{
    free_allocations(decoder);
    block_free(decoder->layouts);
    block_free(decoder->shapes);
    free(decoder->patterns);
    free(decoder->starts);
    free(decoder->kind_memos);
    free(decoder->string_slots);
    free(decoder->list_memos);
    block_free(decoder->lists);
    block_free(decoder->u64_pool);
    block_free(decoder->str_pool);
    block_free(decoder->texts.text);
    block_free(decoder->last_texts.text);
    json_scan_free(&decoder->scan);
}

/* The lists of the batches before, when there are many: what was learned of them is learned again. */
static void forget_lists(struct decoder *decoder)
{
    enum { LISTS_MOST = 1 << 13, NUMBERS_MOST = 1 << 16 };
    if (decoder->list_count <= LISTS_MOST && decoder->u64_count <= NUMBERS_MOST) return;
    decoder->list_count = decoder->lists_resolved = 1;
    decoder->u64_count = 0;
    memset(decoder->list_memos, 0, sizeof *decoder->list_memos << LIST_MEMO_BITS);
    for (struct layout *layout = decoder->layouts; layout < decoder->layouts + LAYOUT_COUNT; layout++)
        for (unsigned i = 0; i < SCHEMA_MAX_FIELDS; i++)
            if (layout->slot[i].action == ACTION_U64_LIST) layout->slot[i].member = NO_MATCH;
}

bool decoder_begin(struct decoder *decoder)
{
    struct texts before = decoder->texts;
    decoder->batch++;
    free_allocations(decoder);
    forget_lists(decoder);
    decoder->str_count = 0;
    decoder->texts = decoder->last_texts;
    decoder->last_texts = before;
    decoder->texts.text[0] = (struct text){0}; /* what an absent string refers to */
    decoder->texts.count = 1;
    decoder->last_string.text = no_text;
    decoder->last_string.mask = NO_MATCH;
    /* A small trace has one batch, and is read in less time than these take to be made. */
    if (decoder->batch > 1 && decoder->shapes == NULL && decoder->decode_record != decode_record_as) {
        decoder->shapes = block_zeroed((sizeof *decoder->shapes * SHAPE_WAYS) << SHAPE_BITS);
        if (decoder->shapes == NULL) {
            decode_no_memory(decoder);
            return false;
        }
    }
    return decoder_keep_strings(decoder);
}
