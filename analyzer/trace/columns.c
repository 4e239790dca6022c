#include "analyzer/trace/columns.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/block.h"
#include "analyzer/trace/columns_table.h"
#include "analyzer/trace/stacks.h"

/* To that many rows, of which those behind the used ones are zero. */
static bool resize(void *array_address, size_t element, size_t used, size_t rows)
{
    void *array, *resized;
    memcpy(&array, array_address, sizeof array);
    resized = block_resize_zeroed(array, used * element, rows * element);
    if (resized == NULL) return false;
    memcpy(array_address, &resized, sizeof resized);
    return true;
}

/* resize_TABLE(): every column of one kind to that many rows. */
#define RESIZE(array)                                               ok = ok && resize(&(array), sizeof *(array), columns->rows, rows);
#define RESIZE_FIELD(name, wire, type, presence, argument, meaning) ARRAYS_##type(RESIZE, columns, name)
#define RESIZE_TABLE(suffix, member, fields, extra_fields)                                                   \
    static bool resize_##member(struct cg_trace *trace, size_t rows, bool extras)                            \
    {                                                                                                        \
        bool ok = true;                                                                                      \
        __typeof__(&trace->member) columns = &trace->member;                                                 \
        fields(RESIZE_FIELD) if (extras)                                                                     \
        {                                                                                                    \
            extra_fields(RESIZE_FIELD)                                                                       \
        }                                                                                                    \
        return ok;                                                                                           \
    }
TABLES(RESIZE_TABLE)

static bool resize_span_ends(struct cg_spans *spans, size_t rows)
{
    return resize(&spans->closed, sizeof *spans->closed, spans->rows, rows) &&
           resize(&spans->duration_ns, sizeof *spans->duration_ns, spans->rows, rows) &&
           resize(&spans->parent, sizeof *spans->parent, spans->rows, rows);
}

void columns_room_init(struct columns_room *room)
{
    *room = (struct columns_room){.lock = PTHREAD_MUTEX_INITIALIZER, .stored = PTHREAD_COND_INITIALIZER};
}

void columns_room_destroy(struct columns_room *room)
{
    pthread_mutex_destroy(&room->lock);
    pthread_cond_destroy(&room->stored);
}

void columns_begin_storing(struct columns_room *room)
{
    pthread_mutex_lock(&room->lock);
    room->storing++;
    pthread_mutex_unlock(&room->lock);
}

void columns_end_storing(struct columns_room *room)
{
    pthread_mutex_lock(&room->lock);
    if (--room->storing == 0) pthread_cond_signal(&room->stored);
    pthread_mutex_unlock(&room->lock);
}

/* What is written is in place: the columns may move. */
static void await_stored(struct columns_room *room)
{
    pthread_mutex_lock(&room->lock);
    while (room->storing > 0)
        pthread_cond_wait(&room->stored, &room->lock);
    pthread_mutex_unlock(&room->lock);
}

static enum columns_answer make_room(struct cg_trace *trace, struct columns_room *room, enum cg_kind kind,
                                     size_t rows, bool extras)
{
    enum { FIRST_ROWS = 256, MOST_ROWS = UINT32_MAX - 1 };
    bool ok = true;
    if (rows >= MOST_ROWS) return COLUMNS_TOO_MANY;
    await_stored(room);
    size_t larger = rows == 0 ? FIRST_ROWS : rows > MOST_ROWS / 2 ? MOST_ROWS : rows * 2;
    switch (kind) {
#define RESIZE_CASE(suffix, member, fields, extra_fields)                                                    \
    case CG_KIND_##suffix:                                                                                   \
        ok = resize_##member(trace, larger, extras);                                                         \
        break;
        TABLES(RESIZE_CASE)
    default:
        break;
    }
    if (ok && kind == CG_KIND_SPAN_START) ok = resize_span_ends(&trace->span, larger);
    if (!ok) return COLUMNS_NO_MEMORY;
    room->of[kind] = larger;
    return COLUMNS_DONE;
}

/* settle_TABLE(): what depends on the order of records. False when memory is short. */
#define SETTLE_STR(name)
#define SETTLE_OPT_STR(name)
#define SETTLE_U64(name)
#define SETTLE_OPT_U64(name)
#define SETTLE_F64(name)
#define SETTLE_OPT_F64(name)
#define SETTLE_BOOL(name)
#define SETTLE_ENUM(name)
#define SETTLE_OPT_ENUM(name)
#define SETTLE_U64_LIST(name)
#define SETTLE_STR_LIST(name)
#define SETTLE_STACK(name)                                                                                   \
    {                                                                                                        \
        uint32_t stack = CG_NONE;                                                                            \
        ok = stacks_take(trace, decoder, value->object, &stack);                                             \
        value->u = stack;                                                                                    \
    }
#define SETTLE_FIELD(name, wire, type, presence, argument, meaning) SETTLE_##type(name) value++;
#define SETTLE_TABLE(suffix, member, fields, extra_fields)                                                   \
    static bool settle_##member(struct cg_trace *trace, const struct decoder *decoder,                       \
                                struct record *record)                                                       \
    {                                                                                                        \
        union value *value = record->value;                                                                  \
        bool ok = true;                                                                                      \
        (void)trace, (void)decoder;                                                                          \
        fields(SETTLE_FIELD) extra_fields(SETTLE_FIELD) return ok;                                           \
    }
TABLES(SETTLE_TABLE)

enum columns_answer columns_claim(struct cg_trace *trace, struct columns_room *room, enum cg_kind kind,
                                  const struct decoder *decoder, struct record *record)
{
    enum columns_answer answer;
    switch (kind) {
#define CLAIM_CASE(suffix, member, fields, extra_fields)                                                     \
    case CG_KIND_##suffix:                                                                                   \
        if (trace->member.rows == room->of[kind] &&                                                          \
            (answer = make_room(trace, room, kind, trace->member.rows, decoder->extras)) != COLUMNS_DONE)    \
            return answer;                                                                                   \
        if (decoder->extras && !settle_##member(trace, decoder, record)) return COLUMNS_NO_MEMORY;           \
        trace->member.rows++;                                                                                \
        break;
        TABLES(CLAIM_CASE)
    default:
        break;
    }
    return COLUMNS_DONE;
}

/* store_TABLE(): the values of a record, which stand in the order of the table, into a row. Rows are zero
 * before, and a zero is not written: pages of a field that nothing is said about stay out of memory, 40 MB of
 * 500 for 1 GB of the mixed trace. */
#define STORE(array, stored)                                                                                 \
    if ((stored) != 0) (array)[row] = (stored);
#define STORE_STR(name)      columns->name[row] = decoder_string(decoder, *value);
#define STORE_OPT_STR(name)  STORE(columns->name, decoder_string(decoder, *value))
#define STORE_U64(name)      STORE(columns->name, value->u)
#define STORE_OPT_U64(name)  STORE(columns->name, value->u) STORE(columns->name##_set, present & 1)
#define STORE_F64(name)      columns->name[row] = value->f;
#define STORE_OPT_F64(name)  columns->name[row] = value->f, columns->name##_set[row] = present & 1;
#define STORE_BOOL(name)     STORE(columns->name, (uint8_t)value->u)
#define STORE_ENUM(name)     STORE(columns->name, (uint8_t)value->u)
#define STORE_OPT_ENUM(name) STORE(columns->name, (uint8_t)value->u)
#define STORE_U64_LIST(name)                                                                                 \
    if (value->numbers != 0) columns->name[row] = decoder_numbers(decoder, *value);
#define STORE_STR_LIST(name)                                                                                 \
    if (value->strings.count != 0) columns->name[row] = decoder_strings(decoder, *value);
#define STORE_STACK(name)                                          columns->name[row] = (uint32_t)value->u;
#define STORE_FIELD(name, wire, type, presence, argument, meaning) STORE_##type(name) value++, present >>= 1;
#define STORE_TABLE(suffix, member, fields, extra_fields)                                                    \
    static void store_##member(struct cg_trace *trace, const struct decoder *decoder,                        \
                               const struct record *record, size_t row)                                      \
    {                                                                                                        \
        __typeof__(&trace->member) columns = &trace->member;                                                 \
        const union value *value = record->value;                                                            \
        uint32_t present = record->present;                                                                  \
        fields(STORE_FIELD) if (decoder->extras)                                                             \
        {                                                                                                    \
            extra_fields(STORE_FIELD)                                                                        \
        }                                                                                                    \
    }
TABLES(STORE_TABLE)

void columns_store(struct cg_trace *trace, enum cg_kind kind, const struct decoder *decoder,
                   const struct record *record, size_t row)
{
    switch (kind) {
#define STORE_CASE(suffix, member, fields, extra_fields)                                                     \
    case CG_KIND_##suffix:                                                                                   \
        store_##member(trace, decoder, record, row);                                                         \
        break;
        TABLES(STORE_CASE)
    default:
        break;
    }
}

/* meta */

#define SET_STR(name)                                             to->name = decoder_string(decoder, *value);
#define SET_OPT_STR(name)                                         to->name = decoder_string(decoder, *value);
#define SET_U64(name)                                             to->name = value->u;
#define SET_BOOL(name)                                            to->name = value->u != 0;
#define SET_ENUM(name)                                            to->name = (uint8_t)value->u;
#define SET_STR_LIST(name)                                        to->name = decoder_strings(decoder, *value);
#define SET_OBJECT(name)                                          ok = ok && (value->object == NULL || set_##name(&to->name, decoder, value->object));
#define SET_OBJECT_LIST(name)                                     ok = ok && (value->objects == NULL || set_##name(to, decoder, value->objects));
#define SET_MAP(name)                                             pairs = value->pairs;
#define SET_FIELD(field, wire, type, presence, argument, meaning) SET_##type(field) value++;

static bool set_expected(struct CG_OBJECT_GRADIENT_CONTRACT *contract, const struct decoder *decoder,
                         const struct record_list *list)
{
    contract->expected = calloc(list->count + 1, sizeof *contract->expected);
    if (contract->expected == NULL) return false;
    for (; contract->expected_count < list->count; contract->expected_count++) {
        struct CG_OBJECT_GRADIENT_ENTRY *to = &contract->expected[contract->expected_count];
        const union value *value = list->records[contract->expected_count].value;
        CG_GRADIENT_ENTRY_FIELDS(SET_FIELD)
    }
    return true;
}

static bool set_families(struct CG_OBJECT_GRADIENT_CONTRACT *contract, const struct decoder *decoder,
                         const struct record_list *list)
{
    contract->families = calloc(list->count + 1, sizeof *contract->families);
    if (contract->families == NULL) return false;
    for (; contract->families_count < list->count; contract->families_count++) {
        struct CG_OBJECT_GRADIENT_FAMILY *to = &contract->families[contract->families_count];
        const union value *value = list->records[contract->families_count].value;
        CG_GRADIENT_FAMILY_FIELDS(SET_FIELD)
    }
    return true;
}

static bool set_gradient_contract(struct CG_OBJECT_GRADIENT_CONTRACT *to, const struct decoder *decoder,
                                  const struct record *record)
{
    const union value *value = record->value;
    bool ok = true;
    to->present = true;
    CG_GRADIENT_CONTRACT_FIELDS(SET_FIELD)
    return ok;
}

static bool set_capture_contract(struct CG_OBJECT_CONTRACT *to, const struct decoder *decoder,
                                 const struct record *record)
{
    const union value *value = record->value;
    bool ok = true;
    to->present = true;
    CG_CONTRACT_FIELDS(SET_FIELD)
    return ok;
}

static bool set_comparison_identity(struct CG_OBJECT_IDENTITY *to, const struct decoder *decoder,
                                    const struct record *record)
{
    const union value *value = record->value;
    to->present = true;
    CG_IDENTITY_FIELDS(SET_FIELD)
    return true;
}

struct tag {
    struct cg_pair pair;
    size_t position;
};

/* Keys in byte order; of equal keys the last one in the text first. */
static int compare_tags(const void *left, const void *right, void *trace)
{
    const struct tag *a = left, *b = right;
    if (a->pair.key == b->pair.key) return a->position < b->position ? 1 : -1;
    return trace_compare(trace, a->pair.key, b->pair.key);
}

static bool set_tags(struct cg_trace *trace, const struct decoder *decoder, const struct pair_list *list)
{
    struct cg_run *run = &trace->run;
    const struct text *texts = decoder->texts.text;
    struct tag *tags = malloc((list->count + 1) * sizeof *tags);
    run->tags = malloc((list->count + 1) * sizeof *run->tags);
    bool ok = tags != NULL && run->tags != NULL;
    if (ok) {
        for (size_t i = 0; i < list->count; i++)
            tags[i] = (struct tag){{texts[list->pairs[i].key].number, texts[list->pairs[i].value].number}, i};
        qsort_r(tags, list->count, sizeof *tags, compare_tags, trace);
        for (size_t i = 0; i < list->count; i++)
            if (i == 0 || tags[i].pair.key != tags[i - 1].pair.key)
                run->tags[run->tags_count++] = tags[i].pair;
    }
    free(tags);
    return ok;
}

bool columns_set_run(struct cg_trace *trace, const struct decoder *decoder, const struct record *record)
{
    struct cg_run *to = &trace->run;
    const union value *value = record->value;
    const struct pair_list *pairs;
    bool ok = true;
    CG_META_FIELDS(SET_FIELD)
    return ok && set_tags(trace, decoder, pairs);
}

/* spans */

struct span_key {
    uint64_t prefix; /* eight bytes of the id after what all ids have in common, in byte order */
    uint32_t row;
};

static int compare_spans(const void *left, const void *right, void *context)
{
    const struct span_key *a = left, *b = right;
    const struct cg_trace *trace = context;
    if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    return trace_compare(trace, trace->span.id[a->row], trace->span.id[b->row]);
}

/* Length of what all ids begin with. */
static size_t common_prefix(const struct cg_trace *trace)
{
    struct cg_text first = trace_text(trace, trace->span.id[0]);
    size_t common = first.length;
    for (size_t i = 1; i < trace->span.rows && common > 0; i++) {
        struct cg_text text = trace_text(trace, trace->span.id[i]);
        if (text.length < common) common = text.length;
        while (common > 0 && memcmp(text.bytes, first.bytes, common) != 0)
            common--;
    }
    return common;
}

/* Zero bytes stand for what is missing: a shorter text that is a prefix comes first or ties, which
 * trace_compare() solves. */
static uint64_t prefix_of(struct cg_text text, size_t common)
{
    uint64_t prefix = 0;
    for (size_t i = common; i < common + 8; i++)
        prefix = prefix << 8 | (i < text.length ? (unsigned char)text.bytes[i] : 0);
    return prefix;
}

#define PERMUTE(array)                                                                                       \
    for (size_t i = 0; i < rows && (array) != NULL; i++)                                                     \
        memcpy((char *)room + i * sizeof *(array), &(array)[keys[i].row], sizeof *(array));                  \
    if ((array) != NULL) memcpy((array), room, rows * sizeof *(array));
#define PERMUTE_FIELD(name, wire, type, presence, argument, meaning) ARRAYS_##type(PERMUTE, spans, name)

static void permute_spans(struct cg_spans *spans, const struct span_key *keys, void *room)
{
    size_t rows = spans->rows;
    CG_SPAN_START_FIELDS(PERMUTE_FIELD)
    CG_SPAN_START_EXTRAS(PERMUTE_FIELD)
    PERMUTE(spans->closed)
    PERMUTE(spans->duration_ns)
}

/* By the prefixes, least byte first; bytes that all keys share cost one pass over the counts. */
static void sort_by_prefix(struct span_key *keys, struct span_key *room, size_t count)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t place[256] = {0}, next = 0;
        for (size_t i = 0; i < count; i++)
            place[keys[i].prefix >> shift & 0xFF]++;
        if (place[keys[0].prefix >> shift & 0xFF] == count) continue;
        for (size_t i = 0; i < 256; i++) {
            size_t here = place[i];
            place[i] = next;
            next += here;
        }
        for (size_t i = 0; i < count; i++)
            room[place[keys[i].prefix >> shift & 0xFF]++] = keys[i];
        memcpy(keys, room, count * sizeof *keys);
    }
}

/* Ids as span:N differ in their first eight bytes behind `span:`, so what is left after the sort by these are
 * runs of equal prefixes. For 12,700 spans that takes
 * 1.7 million instructions, qsort_r() took 5.8. */
static void sort_keys(struct cg_trace *trace, struct span_key *keys, struct span_key *room, size_t count)
{
    sort_by_prefix(keys, room, count);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && keys[end].prefix == keys[begin].prefix;)
            end++;
        if (end - begin > 1) qsort_r(keys + begin, end - begin, sizeof *keys, compare_spans, trace);
    }
}

static bool sort_rows(struct cg_trace *trace)
{
    struct cg_spans *spans = &trace->span;
    if (spans->rows < 2) return true;
    struct span_key *keys = block_resize(NULL, spans->rows * sizeof *keys);
    struct span_key *room = block_resize(NULL, spans->rows * sizeof *room);
    bool ok = keys != NULL && room != NULL, sorted = true;
    size_t common = ok ? common_prefix(trace) : 0;
    for (size_t i = 0; i < spans->rows && ok; i++) {
        keys[i] = (struct span_key){prefix_of(trace_text(trace, spans->id[i]), common), (uint32_t)i};
        sorted = sorted && (i == 0 || compare_spans(&keys[i - 1], &keys[i], trace) < 0);
    }
    if (ok && !sorted) {
        sort_keys(trace, keys, room, spans->rows);
        permute_spans(spans, keys, room);
    }
    block_free(keys);
    block_free(room);
    return ok;
}

bool columns_sort_spans(struct cg_trace *trace)
{
    struct cg_spans *spans = &trace->span;
    if (!sort_rows(trace)) return false;
    size_t strings = (size_t)trace_string_count(trace) + 1;
    if (!resize(&trace->span_of_string, sizeof *trace->span_of_string, strings, strings)) return false;
    trace->span_strings = (uint32_t)strings;
    memset(trace->span_of_string, 0xFF, strings * sizeof *trace->span_of_string); /* CG_NONE */
    for (size_t i = 0; i < spans->rows; i++)
        trace->span_of_string[spans->id[i]] = (uint32_t)i;
    for (size_t i = 0; i < spans->rows; i++)
        spans->parent[i] = trace->span_of_string[spans->parent_id[i]];
    return true;
}

void columns_trim(struct cg_trace *trace, bool extras)
{
    /* A failure to shrink leaves the column as it was. */
#define TRIM_TABLE(suffix, member, fields, extra_fields)                                                     \
    (void)resize_##member(trace, trace->member.rows, extras);
    TABLES(TRIM_TABLE)
    (void)resize_span_ends(&trace->span, trace->span.rows);
}

#define FREE(array)                                               block_free(array);
#define FREE_FIELD(name, wire, type, presence, argument, meaning) ARRAYS_##type(FREE, columns, name)
#define FREE_TABLE(suffix, member, fields, extra_fields)                                                     \
    {                                                                                                        \
        __typeof__(&trace->member) columns = &trace->member;                                                 \
        fields(FREE_FIELD) extra_fields(FREE_FIELD)                                                          \
    }

void columns_free(struct cg_trace *trace)
{
    TABLES(FREE_TABLE)
    block_free(trace->span.closed);
    block_free(trace->span.duration_ns);
    block_free(trace->span.parent);
    free(trace->run.tags);
    free(trace->run.capture_contract.gradient_contract.expected);
    free(trace->run.capture_contract.gradient_contract.families);
    block_free(trace->u64_pool);
    block_free(trace->str_pool);
    block_free(trace->span_of_string);
}
