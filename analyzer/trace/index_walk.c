#include "analyzer/trace/index_walk.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/trace/columns_table.h"
#include "analyzer/trace/index.h"
#include "analyzer/trace/index_check.h"
#include "analyzer/trace/stacks.h"
#include "analyzer/trace/strings.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- what the arrays mean ---- */

#define FIELD_TEXT(name, wire, type, presence, argument, meaning) #name ":" #type ":" #argument ";"
#define TABLE_TEXT(suffix, member, fields, extra_fields)                                                     \
#member "{" fields(FIELD_TEXT) extra_fields(FIELD_TEXT) "}"
#define VALUE_TEXT(name, suffix, wire)     wire ","
#define VALUES_TEXT(name, values, initial) #name "{" values(VALUE_TEXT) "}"

uint64_t trace_index_layout(void)
{
    static const char text[] =
        CGT_VERSION TABLES(TABLE_TEXT) CG_META_FIELDS(FIELD_TEXT) CG_CONTRACT_FIELDS(FIELD_TEXT)
            CG_IDENTITY_FIELDS(FIELD_TEXT) CG_GRADIENT_CONTRACT_FIELDS(FIELD_TEXT) CG_ENUMS(VALUES_TEXT);
    const uint64_t sizes[] = {XXH3_64bits(text, sizeof text), sizeof(struct cg_trace),
                              sizeof(struct cg_strings), sizeof(struct cg_stacks)};

    return XXH3_64bits(sizes, sizeof sizes);
}

/* ---- the walk ---- */

#define STRUCTS(T)                                                                                           \
    T(char, 1)                                                                                               \
    T(double, 8)                                                                                             \
    T(struct cg_list, 2 * sizeof(uint32_t))                                                                  \
    T(struct cg_pair, 2 * sizeof(cg_str))                                                                    \
    T(struct CG_OBJECT_GRADIENT_ENTRY, 3 * sizeof(cg_str))                                                   \
    T(struct CG_OBJECT_GRADIENT_FAMILY,                                                                      \
      sizeof(cg_str) + sizeof(enum cg_value_EXPECTATION) + sizeof(uint64_t))                                 \
    T(struct stack, sizeof(cg_str) + sizeof(bool) + 3 + sizeof(struct cg_list))                              \
    T(struct cg_frame, 3 * sizeof(cg_str) + 3 * sizeof(uint32_t) + sizeof(uint64_t))                         \
    T(struct cg_source, 3 * sizeof(cg_str) + sizeof(uint32_t))
STRUCTS(INDEX_ASSERT)
#define ELEMENT_SIZE(array) INDEX_ELEMENT_SIZE(array, STRUCTS)

struct walk {
    index_visitor *visit;
    void *context;
    const char *table;
    size_t rows;
    bool extra, going;
};

static void visit(struct walk *walk, const char *name, const char *more, void *at, size_t element,
                  enum index_check check, unsigned most)
{
    struct index_slot slot = {.at = at,
                              .element = element,
                              .count = walk->rows,
                              .check = check,
                              .most = (uint8_t)most,
                              .extra = walk->extra};

    snprintf(slot.name, sizeof slot.name, "%s.%s%s", walk->table, name, more);
    walk->going = walk->going && walk->visit(walk->context, &slot);
}

#define SLOT(name, more, check, most)                                                                        \
    visit(walk, #name, #more, &columns->name##more, ELEMENT_SIZE(columns->name##more), check, most);
#define SLOTS_STR(name, argument)                            SLOT(name, , INDEX_REQUIRED_STRING, 0)
#define SLOTS_OPT_STR(name, argument)                        SLOT(name, , INDEX_STRING, 0)
#define SLOTS_U64(name, argument)                            SLOT(name, , INDEX_ANY, 0)
#define SLOTS_OPT_U64(name, argument)                        SLOT(name, , INDEX_ANY, 0) SLOT(name, _set, INDEX_BYTE, 1)
#define SLOTS_F64(name, argument)                            SLOT(name, , INDEX_ANY, 0)
#define SLOTS_OPT_F64(name, argument)                        SLOT(name, , INDEX_ANY, 0) SLOT(name, _set, INDEX_BYTE, 1)
#define SLOTS_BOOL(name, argument)                           SLOT(name, , INDEX_BYTE, 1)
#define SLOTS_ENUM(name, argument)                           SLOT(name, , INDEX_BYTE, CG_##argument##_COUNT - 1)
#define SLOTS_OPT_ENUM(name, argument)                       SLOT(name, , INDEX_BYTE, CG_##argument##_COUNT)
#define SLOTS_U64_LIST(name, argument)                       SLOT(name, , INDEX_U64_LIST, 0)
#define SLOTS_STR_LIST(name, argument)                       SLOT(name, , INDEX_STR_LIST, 0)
#define SLOTS_STACK(name, argument)                          SLOT(name, , INDEX_STACK, 0)
#define SLOTS(name, wire, type, presence, argument, meaning) SLOTS_##type(name, argument)
#define WALK_TABLE(suffix, member, fields, extra_fields)                                                     \
    static void walk_##member(struct walk *walk, struct cg_trace *trace)                                     \
    {                                                                                                        \
        __typeof__(&trace->member) columns = &trace->member;                                                 \
        walk->table = #member;                                                                               \
        walk->rows = columns->rows;                                                                          \
        walk->extra = false;                                                                                 \
        fields(SLOTS) walk->extra = true;                                                                    \
        extra_fields(SLOTS) walk->extra = false;                                                             \
    }
TABLES(WALK_TABLE)

static void one(struct walk *walk, const char *name, void *at, size_t element, size_t count,
                enum index_check check)
{
    walk->rows = count;
    visit(walk, name, "", at, element, check, 0);
}
#define ONE(name, array, count, check) one(walk, name, &(array), ELEMENT_SIZE(array), count, check)

static void walk_rest(struct walk *walk, struct cg_trace *trace)
{
    struct cg_spans *columns = &trace->span;
    struct CG_OBJECT_GRADIENT_CONTRACT *gradients = &trace->run.capture_contract.gradient_contract;

    walk->table = "span";
    walk->rows = columns->rows;
    SLOT(closed, , INDEX_BYTE, 1)
    SLOT(duration_ns, , INDEX_ANY, 0)
    SLOT(parent, , INDEX_SPAN, 0)
    walk->table = "trace";
    ONE("u64_pool", trace->u64_pool, trace->u64_count, INDEX_ANY);
    ONE("str_pool", trace->str_pool, trace->str_count, INDEX_REQUIRED_STRING);
    ONE("span_of_string", trace->span_of_string, trace->span_strings, INDEX_SPAN);
    ONE("tags", trace->run.tags, trace->run.tags_count, INDEX_ANY);
    ONE("gradients", gradients->expected, gradients->expected_count, INDEX_ANY);
    ONE("families", gradients->families, gradients->families_count, INDEX_ANY);
}

bool index_walk_columns(struct cg_trace *trace, index_visitor *visitor, void *context)
{
    struct walk walk = {.visit = visitor, .context = context, .going = true};

#define WALK_CALL(suffix, member, fields, extra_fields) walk_##member(&walk, trace);
    TABLES(WALK_CALL)
    walk_rest(&walk, trace);
    return walk.going;
}

bool index_walk_strings(struct cg_strings *strings, index_visitor *visitor, void *context)
{
    struct walk start = {.visit = visitor, .context = context, .going = true, .table = "strings"},
                *walk = &start;

    ONE("bytes", strings->bytes, strings->used, INDEX_ANY);
    ONE("offset", strings->offset, (size_t)strings->count + 1, INDEX_ANY);
    ONE("numbers", strings->numbers, strings->slot_mask + 1, INDEX_ANY);
    return start.going;
}

bool index_walk_stacks(struct cg_stacks *stacks, index_visitor *visitor, void *context)
{
    struct walk start = {.visit = visitor, .context = context, .going = true, .table = "stacks"},
                *walk = &start;

    ONE("stacks", stacks->stacks, stacks->count, INDEX_ANY);
    ONE("of_string", stacks->of_string, stacks->string_capacity, INDEX_STACK);
    ONE("frame_pool", stacks->frame_pool, stacks->pool_count, INDEX_FRAME);
    ONE("frames", stacks->frames, stacks->frame_count, INDEX_ANY);
    ONE("sources", stacks->sources, stacks->source_count, INDEX_ANY);
    return start.going;
}

bool index_walk(struct cg_trace *trace, index_visitor *visitor, void *context)
{
    return index_walk_strings(trace->strings, visitor, context) &&
           (!trace->stacks || index_walk_stacks(trace->stacks, visitor, context)) &&
           index_walk_columns(trace, visitor, context);
}

/* ---- the run ---- */

static bool good_string(const struct cg_trace *trace, cg_str string)
{
    return string != CG_ABSENT && string <= trace->strings->count;
}

static bool good_optional(const struct cg_trace *trace, cg_str string)
{
    return string <= trace->strings->count;
}

static bool good_list(const struct cg_trace *trace, struct cg_list list)
{
    return (uint64_t)list.first + list.count <= trace->str_count;
}

static bool good_pairs(const struct cg_trace *trace, const struct cg_pair *pairs, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good = good && good_string(trace, pairs[i].key) && good_string(trace, pairs[i].value);
    return good;
}

#define GOOD_STR(name, argument)     good = good && good_string(trace, object->name);
#define GOOD_OPT_STR(name, argument) good = good && good_optional(trace, object->name);
#define GOOD_U64(name, argument)
#define GOOD_BOOL(name, argument)     good = good && index_flag(&object->name);
#define GOOD_ENUM(name, argument)     good = good && (unsigned)object->name < CG_##argument##_COUNT;
#define GOOD_STR_LIST(name, argument) good = good && good_list(trace, object->name);
#define GOOD_OBJECT(name, argument)                                                                          \
    good = good && index_flag(&object->name.present) &&                                                      \
           (!object->name.present || good_##argument(trace, &object->name));
#define GOOD_OBJECT_LIST(name, argument)                                                                     \
    for (size_t i = 0; i < object->name##_count; i++)                                                        \
        good = good && good_##argument(trace, &object->name[i]);
#define GOOD_MAP(name, argument)                            good = good && good_pairs(trace, object->name, object->name##_count);
#define GOOD(name, wire, type, presence, argument, meaning) GOOD_##type(name, argument)
#define GOOD_FUNCTION(name, type, fields)                                                                    \
    static bool good_##name(const struct cg_trace *trace, const type *object)                                \
    {                                                                                                        \
        bool good = true;                                                                                    \
        fields(GOOD) return good;                                                                            \
    }
GOOD_FUNCTION(GRADIENT_ENTRY, struct CG_OBJECT_GRADIENT_ENTRY, CG_GRADIENT_ENTRY_FIELDS)
GOOD_FUNCTION(GRADIENT_FAMILY, struct CG_OBJECT_GRADIENT_FAMILY, CG_GRADIENT_FAMILY_FIELDS)
GOOD_FUNCTION(GRADIENT_CONTRACT, struct CG_OBJECT_GRADIENT_CONTRACT, CG_GRADIENT_CONTRACT_FIELDS)
GOOD_FUNCTION(IDENTITY, struct CG_OBJECT_IDENTITY, CG_IDENTITY_FIELDS)
GOOD_FUNCTION(CONTRACT, struct CG_OBJECT_CONTRACT, CG_CONTRACT_FIELDS)
GOOD_FUNCTION(run, struct cg_run, CG_META_FIELDS)

bool index_check_run(const struct cg_trace *trace)
{
    const struct cg_terminal *terminal = &trace->terminal;

    return good_run(trace, &trace->run) && (unsigned)terminal->outcome < CG_OUTCOME_COUNT &&
           good_optional(trace, terminal->reason) && terminal->timestamp_ns >= trace->latest_host_ns;
}
