/* The run's metadata (doc/spec/evidence.md 4.2), written from the event table. */
#include <string.h>

#include "analyzer/evidence/emit.h"
#include "analyzer/evidence/evidence_private.h"

/* Overview shows lists of up to this many entries whole, and strings of up to so many bytes
 * (doc/spec/cli.md 5.2). */
#define BOUNDED_ROWS  20
#define BOUNDED_BYTES 4096

struct run_writer {
    const struct cg_trace *trace;
    bool bounded;
    const void *of; /* the object whose members are being written */
};

static void run_string(struct json_doc *doc, const struct run_writer *writer, cg_str string)
{
    struct cg_text text = trace_text(writer->trace, string);
    if (!writer->bounded || text.length <= BOUNDED_BYTES) {
        emit_text(doc, text);
        return;
    }
    size_t shown = BOUNDED_BYTES;
    while (shown > 0 && ((unsigned char)text.bytes[shown] & 0xc0) == 0x80)
        shown--;
    doc_string_begin(doc);
    doc_string_add(doc, text.bytes, shown);
    doc_string_add(doc, "\xe2\x80\xa6", 3);
    doc_string_end(doc);
}

/* ---- lists, bounded or whole ---- */

struct run_list {
    const struct run_writer *writer;
    const void *at;
    size_t count, shown;
    void (*emit)(struct json_doc *doc, const struct run_writer *writer, const void *at, size_t row);
};

static void list_rows(struct json_doc *doc, const void *object)
{
    const struct run_list *list = object;
    doc_array(doc);
    for (size_t i = 0; i < list->shown; i++)
        list->emit(doc, list->writer, list->at, i);
    doc_array_end(doc);
}
static void list_displayed(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct run_list *)object)->shown);
}
static void list_total(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct run_list *)object)->count);
}
static void list_truncated(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_bool(doc, true);
}

static bool is_cut(const struct run_writer *writer, size_t count)
{
    return writer->bounded && count > BOUNDED_ROWS;
}

static void run_rows(struct json_doc *doc, struct run_list list)
{
    static const struct json_member bounded_list[] = {{"displayed", list_displayed, NULL},
                                                      {"rows", list_rows, NULL},
                                                      {"total", list_total, NULL},
                                                      {"truncated", list_truncated, NULL}};
    list.shown = is_cut(list.writer, list.count) ? BOUNDED_ROWS : list.count;
    if (list.shown == list.count)
        list_rows(doc, &list);
    else
        doc_members(doc, bounded_list, COUNT_OF(bounded_list), &list);
}

static void string_row(struct json_doc *doc, const struct run_writer *writer, const void *at, size_t row)
{
    run_string(doc, writer, ((const cg_str *)at)[row]);
}

static void run_strings(struct json_doc *doc, const struct run_writer *writer, struct cg_list list)
{
    run_rows(doc, (struct run_list){writer, writer->trace->str_pool + list.first, list.count, 0, string_row});
}

static void pair_row(struct json_doc *doc, const struct run_writer *writer, const void *at, size_t row)
{
    const struct cg_pair *pair = (const struct cg_pair *)at + row;
    doc_object(doc);
    doc_key(doc, "key");
    run_string(doc, writer, pair->key);
    doc_key(doc, "value");
    run_string(doc, writer, pair->value);
    doc_object_end(doc);
}

static void run_map(struct json_doc *doc, const struct run_writer *writer, const struct cg_pair *pairs,
                    size_t count)
{
    if (is_cut(writer, count)) {
        run_rows(doc, (struct run_list){writer, pairs, count, 0, pair_row});
        return;
    }
    doc_object(doc);
    for (size_t i = 0; i < count; i++) {
        struct cg_text key = trace_text(writer->trace, pairs[i].key);
        doc_key_bytes(doc, key.bytes, key.length);
        run_string(doc, writer, pairs[i].value);
    }
    doc_object_end(doc);
}

/* ---- members from the tables ---- */

/* The schema is the packet's own; class lists are left out when empty, the required labels never. */
static bool is_written(const char *wire)
{
    return strcmp(wire, "schema") != 0;
}
static bool is_kept_empty(const char *wire)
{
    return strcmp(wire, "required_semantic_labels") == 0;
}

#define RUN_STR(name, argument)      run_string(doc, writer, of->name)
#define RUN_OPT_STR(name, argument)  run_string(doc, writer, of->name)
#define RUN_U64(name, argument)      doc_u64(doc, of->name)
#define RUN_BOOL(name, argument)     doc_bool(doc, of->name)
#define RUN_ENUM(name, argument)     doc_string(doc, cg_name_##argument[of->name])
#define RUN_STR_LIST(name, argument) run_strings(doc, writer, of->name)
#define RUN_MAP(name, argument)      run_map(doc, writer, of->name, of->name##_count)
#define RUN_OBJECT(name, argument)   run_##argument(doc, writer, &of->name)
#define RUN_OBJECT_LIST(name, argument)                                                                      \
    run_rows(doc, (struct run_list){writer, of->name, of->name##_count, 0, row_##argument})

#define THERE_REQUIRED                     true
#define THERE_DEFAULT                      true
#define THERE_OPTIONAL                     false
#define HAS_STR(name, wire, there)         is_written(wire)
#define HAS_OPT_STR(name, wire, there)     (of->name != CG_ABSENT)
#define HAS_U64(name, wire, there)         true
#define HAS_BOOL(name, wire, there)        true
#define HAS_ENUM(name, wire, there)        true
#define HAS_STR_LIST(name, wire, there)    (of->name.count > 0 || is_kept_empty(wire))
#define HAS_MAP(name, wire, there)         true
#define HAS_OBJECT(name, wire, there)      (there || of->name.present)
#define HAS_OBJECT_LIST(name, wire, there) true

/* Defines emit_run_<TABLE>_<name>() and has_<TABLE>_<name>(); OF is the object's type. */
#define MEMBER_FUNCTIONS(TABLE, OF, name, wire, type, presence, argument)                                    \
    static void emit_##TABLE##_##name(struct json_doc *doc, const void *object)                              \
    {                                                                                                        \
        const struct run_writer *writer = object;                                                            \
        const OF *of = writer->of;                                                                           \
        RUN_##type(name, argument);                                                                          \
    }                                                                                                        \
    static bool has_##TABLE##_##name(const void *object)                                                     \
    {                                                                                                        \
        const OF *of = ((const struct run_writer *)object)->of;                                              \
        (void)of;                                                                                            \
        return HAS_##type(name, wire, THERE_##presence);                                                     \
    }

/* Writes an object of the table. */
#define OBJECT_FUNCTION(TABLE, FIELDS, OF, MEMBER)                                                           \
    static void run_##TABLE(struct json_doc *doc, const struct run_writer *outer, const OF *of)              \
    {                                                                                                        \
        static const struct json_member members[] = {FIELDS(MEMBER)};                                        \
        struct run_writer writer = *outer;                                                                   \
        writer.of = of;                                                                                      \
        doc_members(doc, members, COUNT_OF(members), &writer);                                               \
    }
/* Writes one of a list of them. */
#define ROW_FUNCTION(TABLE, OF)                                                                              \
    static void row_##TABLE(struct json_doc *doc, const struct run_writer *writer, const void *at,           \
                            size_t row)                                                                      \
    {                                                                                                        \
        run_##TABLE(doc, writer, (const OF *)at + row);                                                      \
    }

#define ENTRY_FUNCTIONS(name, wire, type, presence, argument, meaning)                                       \
    MEMBER_FUNCTIONS(GRADIENT_ENTRY, struct CG_OBJECT_GRADIENT_ENTRY, name, wire, type, presence, argument)
#define ENTRY_MEMBER(name, wire, type, presence, argument, meaning)                                          \
    {wire, emit_GRADIENT_ENTRY_##name, has_GRADIENT_ENTRY_##name},
CG_GRADIENT_ENTRY_FIELDS(ENTRY_FUNCTIONS)
OBJECT_FUNCTION(GRADIENT_ENTRY, CG_GRADIENT_ENTRY_FIELDS, struct CG_OBJECT_GRADIENT_ENTRY, ENTRY_MEMBER)
ROW_FUNCTION(GRADIENT_ENTRY, struct CG_OBJECT_GRADIENT_ENTRY)

#define FAMILY_FUNCTIONS(name, wire, type, presence, argument, meaning)                                      \
    MEMBER_FUNCTIONS(GRADIENT_FAMILY, struct CG_OBJECT_GRADIENT_FAMILY, name, wire, type, presence, argument)
#define FAMILY_MEMBER(name, wire, type, presence, argument, meaning)                                         \
    {wire, emit_GRADIENT_FAMILY_##name, has_GRADIENT_FAMILY_##name},
CG_GRADIENT_FAMILY_FIELDS(FAMILY_FUNCTIONS)
OBJECT_FUNCTION(GRADIENT_FAMILY, CG_GRADIENT_FAMILY_FIELDS, struct CG_OBJECT_GRADIENT_FAMILY, FAMILY_MEMBER)
ROW_FUNCTION(GRADIENT_FAMILY, struct CG_OBJECT_GRADIENT_FAMILY)

#define GRADIENT_FUNCTIONS(name, wire, type, presence, argument, meaning)                                    \
    MEMBER_FUNCTIONS(GRADIENT_CONTRACT, struct CG_OBJECT_GRADIENT_CONTRACT, name, wire, type, presence,      \
                     argument)
#define GRADIENT_MEMBER(name, wire, type, presence, argument, meaning)                                       \
    {wire, emit_GRADIENT_CONTRACT_##name, has_GRADIENT_CONTRACT_##name},
CG_GRADIENT_CONTRACT_FIELDS(GRADIENT_FUNCTIONS)
OBJECT_FUNCTION(GRADIENT_CONTRACT, CG_GRADIENT_CONTRACT_FIELDS, struct CG_OBJECT_GRADIENT_CONTRACT,
                GRADIENT_MEMBER)

#define CONTRACT_FUNCTIONS(name, wire, type, presence, argument, meaning)                                    \
    MEMBER_FUNCTIONS(CONTRACT, struct CG_OBJECT_CONTRACT, name, wire, type, presence, argument)
#define CONTRACT_MEMBER(name, wire, type, presence, argument, meaning)                                       \
    {wire, emit_CONTRACT_##name, has_CONTRACT_##name},
CG_CONTRACT_FIELDS(CONTRACT_FUNCTIONS)
OBJECT_FUNCTION(CONTRACT, CG_CONTRACT_FIELDS, struct CG_OBJECT_CONTRACT, CONTRACT_MEMBER)

#define IDENTITY_FUNCTIONS(name, wire, type, presence, argument, meaning)                                    \
    MEMBER_FUNCTIONS(IDENTITY, struct CG_OBJECT_IDENTITY, name, wire, type, presence, argument)
#define IDENTITY_MEMBER(name, wire, type, presence, argument, meaning)                                       \
    {wire, emit_IDENTITY_##name, has_IDENTITY_##name},
CG_IDENTITY_FIELDS(IDENTITY_FUNCTIONS)
OBJECT_FUNCTION(IDENTITY, CG_IDENTITY_FIELDS, struct CG_OBJECT_IDENTITY, IDENTITY_MEMBER)

#define META_FUNCTIONS(name, wire, type, presence, argument, meaning)                                        \
    MEMBER_FUNCTIONS(META, struct cg_run, name, wire, type, presence, argument)
#define META_MEMBER(name, wire, type, presence, argument, meaning) {wire, emit_META_##name, has_META_##name},
CG_META_FIELDS(META_FUNCTIONS)
OBJECT_FUNCTION(META, CG_META_FIELDS, struct cg_run, META_MEMBER)

void emit_provenance(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_PROVENANCE);
        return;
    }
    struct run_writer writer = {evidence->trace, false, NULL};
    run_META(doc, &writer, &evidence->trace->run);
}

void emit_provenance_bounded(struct json_doc *doc, const struct evidence *evidence)
{
    struct run_writer writer = {evidence->trace, true, NULL};
    run_META(doc, &writer, &evidence->trace->run);
}
