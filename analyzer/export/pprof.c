/* pprof's profile, gzip-compressed (github.com/google/pprof, proto/profile.proto): a sample for each stack.
 */
#include <errno.h>
#include <string.h>

#include "analyzer/export/gzip.h"
#include "analyzer/export/proto.h"
#include "analyzer/export/stacks_of.h"

/* Numbers of fields in profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5 };
enum { PROFILE_STRING_TABLE = 6, PROFILE_DEFAULT_SAMPLE_TYPE = 14 };
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION_ID = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };

/* What is counted, and what it is weighed by, with its unit. */
static const struct {
    const char *count, *weight, *unit;
} value_names[EXPORT_WEIGHT_COUNT] = {
    [EXPORT_WEIGHT_TIME] = {"calls", "time", "nanoseconds"},
    [EXPORT_WEIGHT_DEVICE_TIME] = {"intervals", "device_time", "nanoseconds"},
    [EXPORT_WEIGHT_BYTES] = {"alloc_objects", "alloc_space", "bytes"},
};

struct pprof {
    struct export_job *job;
    struct stack_tree *tree;
    struct gzip gzip;
    struct buffer field, inner, innermost; /* one of the profile's fields, and messages in it */
};

/* The number of a text in the profile's table of strings, which is the tree's; 0 when memory is short. */
static uint64_t string_number(struct pprof *made, const char *text)
{
    return strings_intern(made->tree->names, strings_hash(text, strlen(text)), text, strlen(text));
}

/* Adds made->inner as a field of the profile, and empties it. */
static int put_field(struct pprof *made, uint32_t field)
{
    made->field.used = 0;
    proto_bytes(&made->field, field, made->inner.bytes, made->inner.used);
    made->inner.used = 0;
    if (made->field.failed || made->inner.failed || made->innermost.failed) return ENOMEM;
    return gzip_write(&made->gzip, (const char *)made->field.bytes, made->field.used);
}

static int put_type(struct pprof *made, const char *type, const char *unit)
{
    uint64_t type_number = string_number(made, type), unit_number = string_number(made, unit);
    if (!type_number || !unit_number) return ENOMEM;
    proto_number(&made->inner, VALUE_TYPE_TYPE, type_number);
    proto_number(&made->inner, VALUE_TYPE_UNIT, unit_number);
    return put_field(made, PROFILE_SAMPLE_TYPE);
}

/* Values are signed. */
static uint64_t clamp(uint64_t value)
{
    return value < INT64_MAX ? value : INT64_MAX;
}

/* Locations stand innermost first; a name's number is that of its location and function too. */
static int put_sample(struct pprof *made, uint32_t number)
{
    const struct stack_node *node = &made->tree->nodes[number];
    made->innermost.used = 0;
    for (uint32_t at = number; at != CG_NONE; at = made->tree->nodes[at].above)
        buffer_number(&made->innermost, made->tree->nodes[at].name);
    proto_bytes(&made->inner, SAMPLE_LOCATION_ID, made->innermost.bytes, made->innermost.used);
    made->innermost.used = 0;
    buffer_number(&made->innermost, clamp(node->count));
    buffer_number(&made->innermost, clamp(node->weight));
    proto_bytes(&made->inner, SAMPLE_VALUE, made->innermost.bytes, made->innermost.used);
    made->job->records++;
    return put_field(made, PROFILE_SAMPLE);
}

static int put_function(struct pprof *made, cg_str name)
{
    made->innermost.used = 0;
    proto_number(&made->innermost, LINE_FUNCTION_ID, name);
    proto_number(&made->inner, LOCATION_ID, name);
    proto_bytes(&made->inner, LOCATION_LINE, made->innermost.bytes, made->innermost.used);
    int failure = put_field(made, PROFILE_LOCATION);
    if (failure) return failure;
    proto_number(&made->inner, FUNCTION_ID, name);
    proto_number(&made->inner, FUNCTION_NAME, name);
    return put_field(made, PROFILE_FUNCTION);
}

static int put_string(struct pprof *made, cg_str string)
{
    struct cg_text text = strings_text(made->tree->names, string);
    buffer_add(&made->inner, text.bytes, text.length);
    return put_field(made, PROFILE_STRING_TABLE);
}

static int put_profile(struct pprof *made)
{
    /* Names of stacks come before those of units: interning the latter adds to the end. */
    cg_str names = made->tree->names->count;
    int failure = put_type(made, value_names[made->job->weight].count, "count");
    if (!failure)
        failure = put_type(made, value_names[made->job->weight].weight, value_names[made->job->weight].unit);
    for (uint32_t node = 0; node < made->tree->count && !failure; node++)
        if (made->tree->nodes[node].count) failure = put_sample(made, node);
    for (cg_str name = 1; name <= names && !failure; name++)
        failure = put_function(made, name);
    /* The table begins with the empty string. */
    for (cg_str string = 0; string <= made->tree->names->count && !failure; string++)
        failure = put_string(made, string);
    if (failure) return failure;
    made->field.used = 0;
    proto_number(&made->field, PROFILE_DEFAULT_SAMPLE_TYPE,
                 string_number(made, value_names[made->job->weight].weight));
    return gzip_write(&made->gzip, (const char *)made->field.bytes, made->field.used);
}

static int write_pprof(struct export_job *job)
{
    struct stack_tree tree;
    struct pprof made = {.job = job, .tree = &tree};
    int failure = stack_tree_start(&tree) && stacks_of(job, &tree) ? 0 : ENOMEM;
    if (!failure) failure = gzip_start(&made.gzip, job->sink, job->context);
    if (!failure) {
        failure = put_profile(&made);
        if (failure) made.gzip.failure = failure;
        failure = gzip_end(&made.gzip);
    }
    buffer_free(&made.field);
    buffer_free(&made.inner);
    buffer_free(&made.innermost);
    stack_tree_free(&tree);
    return failure;
}

static const char *const losses[] = {
    "sums alone: no times, no order, no threads beside one another",
    "one weight and how often: host time counts what no span or operation within takes, device time and "
    "bytes "
    "count in full",
    "with host time, what overlaps on a thread without nesting stands on a thread of its own",
    "functions are names: no addresses, modules, files or lines but those in the names",
    "operations without a time are left out",
    NULL,
};
const struct export_format export_pprof = {
    .name = "pprof",
    .about = "a gzip-compressed profile for pprof",
    .weighed = true,
    .losses = losses,
    .write = write_pprof,
};
