/* Writes cgtrace-trace(5) (mdoc) from the event table to standard output. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/capture.h"
#include "common/event_table.h"
#include "man/mdoc.h"

struct field {
    const char *wire, *type, *presence, *argument, *meaning;
};
#define FIELD(id, wire, type, presence, argument, meaning) {wire, #type, #presence, #argument, meaning},
#define END_OF_FIELDS                                                                                        \
    {                                                                                                        \
        NULL, NULL, NULL, NULL, NULL                                                                         \
    }

#define KIND_FIELDS(suffix, member, wire, fields, extras, meaning)                                           \
    static const struct field fields_##member[] = {fields(FIELD) extras(FIELD) END_OF_FIELDS};
CG_KINDS(KIND_FIELDS)
static const struct field graph_fields[] = {CG_OP_GRAPH_EXTRAS(FIELD) END_OF_FIELDS};

/* What the recorder adds to the first and to the last record, in the order in which it is written. */
#define META_EXTRAS(F)                                                                                       \
    F(producer, "producer", OBJECT, EXTRA, NONE, "name and version of what wrote the trace")                 \
    F(host, "host", OPT_STR, EXTRA, NONE, "name of the machine")                                             \
    F(pid, "pid", OPT_U64, EXTRA, NONE, "process")                                                           \
    F(rank, "rank", OPT_U64, EXTRA, NONE, "rank that a launcher gave the process")                           \
    F(clock, "clock", OBJECT, EXTRA, NONE,                                                                   \
      "its source, mult and shift: nanoseconds are ticks * mult >> shift; first and last: tick, "            \
      "monotonic_ns, realtime_ns and spread_ticks, the clocks read together; devices: for each clock_id, "   \
      "moments device_ns, host_ns and uncertainty_ns that tie the device's clock to the host's")             \
    F(stacks, "stacks", OBJECT, EXTRA, NONE,                                                                 \
      "recorded: whose stacks (alloc, all or off), depth: frames kept at most, unwinder: what walked them")  \
    F(cuda, "cuda", OBJECT, EXTRA, NONE,                                                                     \
      "devices: device, name and bytes of each; driver: its CUDA version")                                   \
    F(names, "names", OBJECT_LIST, EXTRA, NONE,                                                              \
      "kind, id and name of what the program gave names to: threads, devices, streams and others")           \
    F(converted, "converted", OBJECT, EXTRA, NONE,                                                           \
      "of a trace that cg-analyze convert made: file and form of what it was made from")
#define TERMINAL_EXTRAS(F)                                                                                   \
    F(lost, "lost", OBJECT, EXTRA, NONE,                                                                     \
      "records that found no room: total, without_ring, not_written, and threads, by thread")                \
    F(coverage, "coverage", OBJECT, EXTRA, NONE,                                                             \
      "for each family of records seen, recorded and lost; device_timing and not_covered")                   \
    F(overhead_ns, "overhead_ns", OPT_U64, EXTRA, NONE,                                                      \
      "host time that recording cost, with the opening of the capture, an estimate")                         \
    F(end, "end", STR, EXTRA, NONE, "what ended the capture: exit, a signal, the region, recovery, ...")
static const struct field meta_extras[] = {META_EXTRAS(FIELD) END_OF_FIELDS};
static const struct field terminal_extras[] = {TERMINAL_EXTRAS(FIELD) END_OF_FIELDS};

/* Further lists of fields for a kind; NULL: none. */
static const struct field *more_fields(enum cg_kind kind)
{
    return kind == CG_KIND_OP         ? graph_fields
           : kind == CG_KIND_META     ? meta_extras
           : kind == CG_KIND_TERMINAL ? terminal_extras
                                      : NULL;
}

#define OBJECTS(O)                                                                                           \
    O(CONTRACT, contract, CG_CONTRACT_FIELDS,                                                                \
      "capture_contract: what the producer declares to have recorded")                                       \
    O(IDENTITY, identity, CG_IDENTITY_FIELDS, "comparison_identity: what makes runs comparable")             \
    O(GRADIENT_CONTRACT, gradient_contract, CG_GRADIENT_CONTRACT_FIELDS, "gradient_contract")                \
    O(GRADIENT_ENTRY, gradient_entry, CG_GRADIENT_ENTRY_FIELDS, "an entry of expected")                      \
    O(GRADIENT_FAMILY, gradient_family, CG_GRADIENT_FAMILY_FIELDS, "an entry of families")                   \
    O(STACK, stack, CG_STACK_FIELDS, "stack: the calls that led to a record")                                \
    O(FRAME, frame, CG_FRAME_FIELDS, "an entry of frames")                                                   \
    O(SOURCE, source, CG_SOURCE_FIELDS, "an entry of source")
#define OBJECT_FIELDS(name, member, fields, title)                                                           \
    static const struct field object_##member[] = {fields(FIELD) END_OF_FIELDS};
OBJECTS(OBJECT_FIELDS)

static const struct words {
    const char *name;
    const char *const *values;
    unsigned count, initial;
} words[] = {
#define WORDS(name, values, initial) {#name, cg_name_##name, CG_##name##_COUNT, CG_##name##_##initial},
    CG_ENUMS(WORDS)};

static const char *const texts[][2] = {
    {"STR", "string"},
    {"OPT_STR", "string"},
    {"U64", "integer"},
    {"OPT_U64", "integer"},
    {"F64", "number"},
    {"OPT_F64", "number"},
    {"BOOL", "boolean"},
    {"ENUM", "word"},
    {"OPT_ENUM", "word"},
    {"U64_LIST", "list of integers"},
    {"STR_LIST", "list of strings"},
    {"STACK", "object"},
    {"OBJECT", "object"},
    {"OBJECT_LIST", "list of objects"},
    {"MAP", "object"},
    {"REQUIRED", "required"},
    {"DEFAULT", "may be missing"},
    {"OPTIONAL", "optional"},
    {"IF_CALL", "of call edges alone"},
    {"IF_DATA", "of data edges alone"},
    {"EXTRA", "extra"},
};

static const char *text_of(const char *constant)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i][0], constant) == 0) return texts[i][1];
    return constant;
}

static void put_words(const struct field *field)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].name, field->argument) != 0) continue;
        puts("One of");
        for (unsigned k = 0; k < words[i].count; k++)
            printf(".Ql %s%s\n", words[i].values[k],
                   k + 1 < words[i].count                    ? " ,"
                   : strcmp(field->presence, "DEFAULT") == 0 ? " ;"
                                                             : " .");
        if (strcmp(field->presence, "DEFAULT") == 0)
            printf("when it is missing,\n.Ql %s .\n", words[i].values[words[i].initial]);
    }
}

static void put_fields(const struct field *field)
{
    for (; field && field->wire; field++) {
        printf(".It Va %s Pq %s , %s\n", field->wire, text_of(field->type), text_of(field->presence));
        mdoc_sentence(stdout, field->meaning);
        put_words(field);
    }
}

static void put_title(const char *text)
{
    fputs(".Ss ", stdout);
    puts(text);
}

static void put_kind(enum cg_kind kind, const char *wire, const char *meaning, const struct field *fields)
{
    put_title(wire);
    mdoc_sentence(stdout, meaning);
    puts(".Bl -tag -width Ds");
    put_fields(fields);
    put_fields(more_fields(kind));
    puts(".El");
}

static void put_object(const char *title, const struct field *fields)
{
    put_title(title);
    puts(".Bl -tag -width Ds");
    put_fields(fields);
    puts(".El");
}

#define ITEM(suffix, wire, meaning) {wire, meaning},
#define WIRE(suffix, wire)          {wire, NULL},
#define NODE(wire)                  {wire, NULL},
struct item {
    const char *wire, *meaning;
};
static const struct item gaps[] = {CAP_GAPS(ITEM)};
static const struct item untimed[] = {
    CAP_UNTIMEDS(ITEM){"unread", "their events were never read, since the program died"}};
static const struct item memory_kinds[] = {CAP_MEMORY_KINDS(WIRE)};
static const struct item end_reasons[] = {CAP_END_REASONS(WIRE)};
static const struct item node_types[] = {CAP_NODE_TYPES(NODE)};

static void put_items(const char *title, const char *about, const struct item *items, size_t count)
{
    put_title(title);
    mdoc_text(stdout, about, strlen(about));
    puts(items->meaning ? ".Bl -tag -width Ds" : ".Bl -item -compact -offset indent");
    for (size_t i = 0; i < count; i++) {
        if (items[i].meaning) {
            printf(".It Li %s\n", items[i].wire);
            mdoc_sentence(stdout, items[i].meaning);
        } else {
            printf(".It\n.Ql %s\n", items[i].wire);
        }
    }
    puts(".El");
}
#define PUT_ITEMS(title, about, items) put_items(title, about, items, sizeof(items) / sizeof *(items))

static const char head[] =
    ".\\\" Made from the event table; see man/trace.c.\n.Dd " MDOC_DATE "\n.Dt CGTRACE-TRACE 5\n.Os\n"
    ".Sh NAME\n.Nm cgtrace-trace\n.Nd trace of a CUDA program, candle-graph/trace/10\n.Sh DESCRIPTION\n"
    "A trace is a text of lines, each one JSON object with a field\n.Va kind .\n"
    "The first line is of kind\n.Ql meta ,\nthe last one of kind\n.Ql terminal .\n"
    "Spans nest: each is ended before the one around it, and every span that began has ended.\n.Pp\n"
    "Times whose name ends in\n.Va _ns\nare nanoseconds since the session began, on the host's clock;\n"
    "those of a\n.Ql device_interval\nare on the device clock that it names.\n"
    "Integers are unsigned and have up to 64 bits.\n"
    "Extra fields are not part of the format: readers may pass over them, and none is needed to\n"
    "accept a trace.\n"
    "An optional field that is missing and one that is null mean the same.\n"
    "Fields that no table names are passed over.\n.Pp\n"
    "Traces may be compressed with gzip or zstd.\n"
    "The schema candle-graph/trace/9 is read, too; it has no\n.Ql tensor_stats .\n.Sh KINDS OF RECORDS";

int main(void)
{
    mdoc_page(stdout, head);
#define PUT_KIND(suffix, member, wire, fields, extras, meaning)                                              \
    put_kind(CG_KIND_##suffix, wire, meaning, fields_##member);
    CG_KINDS(PUT_KIND)
    puts(".Sh OBJECTS");
#define PUT_OBJECT(name, member, fields, title) put_object(title, object_##member);
    OBJECTS(PUT_OBJECT)
    puts(".Sh WORDS OF THE RECORDER");
    PUT_ITEMS("memory_kind", "Kinds of memory:", memory_kinds);
    PUT_ITEMS("end_reason", "Why a storage ended; an ordinary free is not written:", end_reasons);
    PUT_ITEMS("nodes", "Types of a graph's nodes:", node_types);
    PUT_ITEMS("coverage.not_covered", "What passed unseen, counted:", gaps);
    PUT_ITEMS("coverage.device_timing",
              "Objects timed, untimed and cost_ns: how much work of devices has its time, "
              "why the rest has none, and the host time that timing cost. Reasons in untimed:",
              untimed);
    puts(".Sh FILES\n.Bl -tag -width Ds\n.It Pa share/cgtrace/trace.schema.json\nThe JSON Schema of a line, "
         "where "
         "this is installed.\n.El\n"
         ".Sh EXAMPLES\nA launch:\n.Bd -literal -offset indent\n"
         "{\"kind\":\"op\",\"span_id\":\"span:2\",\"op_name\":\"scale\",\"inputs\":[],\n"
         " \"shape\":[],\"dtype\":\"unknown\",\"device\":\"cuda:0\",\"duration_ns\":170,\n"
         " \"timestamp_ns\":21747148,\"input_dense_bytes\":0,\"tid\":22047,\n"
         " \"api\":\"cuLaunchKernel\",\"correlation\":27,\"grid\":[64,1,1],\n"
         " \"block\":[256,1,1],\"shared_bytes\":0,\"stream_id\":\"stream:1\"}\n.Ed\n"
         ".Sh SEE ALSO\n.Xr cg-analyze 1 ,\n.Xr cgtrace 1 ,\n.Xr libcgtrace 3 ,\n.Xr cgtrace-bundle 5 ,\n"
         ".Xr cgtrace-capture 5 ,\n.Xr cgtrace 7");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
