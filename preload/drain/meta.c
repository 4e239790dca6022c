#include "preload/drain/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/jsonl.h"
#include "common/jsonl_text.h"
#include "preload/file.h"
#include "preload/json_object.h"
#include "preload/record/session.h"
#include "preload/record/unwind.h"
#include "preload/say.h"

#define UNUSED __attribute__((unused))
#define META_KEY(id, wire, type, presence, argument, meaning)                                                \
    static const char meta_##id[] UNUSED = ",\"" wire "\":";
CG_META_FIELDS(META_KEY)
#define CONTRACT_KEY(id, wire, type, presence, argument, meaning)                                            \
    static const char contract_##id[] UNUSED = ",\"" wire "\":";
CG_CONTRACT_FIELDS(CONTRACT_KEY)
#define META_BEGIN(suffix, member, wire, fields, extras, meaning)                                            \
    static const char begin_##member[] UNUSED = "{\"kind\":\"" wire "\"";
CG_KINDS(META_BEGIN)

enum { FILE_LIMIT = 1 << 20 };

/* ---- files ---- */

static const char *file_error(char *error, size_t size, const char *setting, const char *path,
                              const char *what)
{
    size_t used = 0;
    const char *const parts[] = {setting, ": ", path, ": ", what};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strnlen(parts[i], size - 1 - used);
        memcpy(error + used, parts[i], length);
        used += length;
    }
    error[used] = '\0';
    return error;
}

/* A copy of the first bytes of a file, for good; NULL with errno: it cannot be had. Not a mapping of the
 * file: of one that is cut off later pages are gone, also those that were copied. */
static char *copy_of(int fd, size_t length)
{
    char *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int error;

    if (bytes == MAP_FAILED) return NULL;
    error = file_read_from(fd, bytes, length);
    if (!error) return bytes;
    munmap(bytes, length);
    errno = error;
    return NULL;
}

/* The bytes of the file that a setting names; NULL, or an error. */
static const char *read_object(const char *setting, const char *path, struct capture_text *text, char *error,
                               size_t error_size)
{
    struct stat status;
    size_t where;
    char *bytes;
    int fd;

    *text = (struct capture_text){"", 0};
    if (!*path) return NULL;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return file_error(error, error_size, setting, path, say_error(errno));
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size == 0 ||
        status.st_size > FILE_LIMIT) {
        close(fd);
        return file_error(error, error_size, setting, path, "not a file of 1 byte to 1 MiB");
    }
    bytes = copy_of(fd, (size_t)status.st_size);
    if (!bytes) file_error(error, error_size, setting, path, say_error(errno));
    close(fd);
    if (!bytes) return error;
    *text = (struct capture_text){bytes, (size_t)status.st_size};
    if (!object_members(text->bytes, text->length, NULL, NULL, &where))
        return file_error(error, error_size, setting, path, "not one JSON object");
    return NULL;
}

const char *meta_read_files(char *error, size_t error_size)
{
    const char *wrong =
        read_object("CGTRACE_IDENTITY", session.settings.identity, &session.identity, error, error_size);

    return wrong ? wrong
                 : read_object("CGTRACE_CONTRACT", session.settings.contract, &session.contract, error,
                               error_size);
}

/* ---- pieces ---- */

static char *put_string(char *out, const char *text)
{
    return jsonl_string(out, text, strlen(text));
}

static char *put_text(char *out, const char *text)
{
    return jsonl_bytes(out, text, strlen(text));
}

/* A text whose ends of line are white space between tokens. */
static char *put_json(char *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        *out++ = bytes[i] == '\n' || bytes[i] == '\r' ? ' ' : bytes[i];
    return out;
}

/* ---- the contract ---- */

static bool is_key(const struct json_member *member, const char *key_literal)
{
    size_t length = strlen(key_literal) - 4; /* the literal is ,"key": */

    return member->key_length == length && memcmp(member->key, key_literal + 2, length) == 0;
}

#define LEVEL_SCOPE(id)
#define LEVEL_GRADIENT_CONTRACT(id)
#define LEVEL_NONE(id)
#define LEVEL_COVERAGE(id)                                     [META_##id] = contract_##id,
#define LEVEL_KEY(id, wire, type, presence, argument, meaning) LEVEL_##argument(id)
static const char *const level_keys[META_LEVELS] = {CG_CONTRACT_FIELDS(LEVEL_KEY)};

/* What a contract declares about levels. */
struct contract_levels {
    enum cg_value_COVERAGE level[META_LEVELS];
    bool declared[META_LEVELS];
    bool manifest; /* of gradients */
};

/* META_LEVELS: it is another member. */
static int level_of(const struct json_member *member)
{
    int level = 0;

    while (level < META_LEVELS && !is_key(member, level_keys[level]))
        level++;
    return level;
}

static void read_level(const struct json_member *member, void *argument)
{
    struct contract_levels *levels = argument;
    int level = level_of(member);

    if (is_key(member, contract_gradient_contract)) levels->manifest = true;
    if (level == META_LEVELS) return;
    for (int i = 0; i < CG_COVERAGE_COUNT; i++)
        if (member->value_length == strlen(cg_name_COVERAGE[i]) + 2 &&
            memcmp(member->value + 1, cg_name_COVERAGE[i], member->value_length - 2) == 0) {
            levels->level[level] = (enum cg_value_COVERAGE)i;
            levels->declared[level] = true;
        }
}

/* doc/spec/trace.md 4.3: never above what was seen, nor above what is declared. Gradients are complete only
 * by a manifest (11.2). */
static void lower_levels(struct contract_levels *levels, const struct meta_settled *settled)
{
    for (int i = 0; i < META_LEVELS; i++) {
        enum cg_value_COVERAGE limit = levels->declared[i] ? levels->level[i] : settled->undeclared[i];

        levels->level[i] = settled->seen[i] < limit ? settled->seen[i] : limit;
    }
    if (!levels->manifest && levels->level[META_gradients] == CG_COVERAGE_COMPLETE)
        levels->level[META_gradients] = CG_COVERAGE_PARTIAL;
}

/* The members of the caller's contract that recording does not settle. */
struct contract_copy {
    char *out;
    bool scope, labels, manifest;
};

static void copy_member(const struct json_member *member, void *argument)
{
    struct contract_copy *copy = argument;

    if (level_of(member) < META_LEVELS) return;
    if (is_key(member, contract_gradient_contract) && !copy->manifest) return;
    copy->scope |= is_key(member, contract_measurement_scope);
    copy->labels |= is_key(member, contract_required_semantic_labels);
    *copy->out++ = ',';
    *copy->out++ = '"';
    copy->out = put_json(copy->out, member->key, member->key_length);
    *copy->out++ = '"';
    *copy->out++ = ':';
    copy->out = put_json(copy->out, member->value, member->value_length);
}

static char *put_contract(char *out, const struct meta_settled *settled)
{
    const struct capture_text contract = session.run.contract;
    struct contract_levels levels = {.manifest = false};
    struct contract_copy copy = {.out = out};
    char *begin = out;
    size_t where;

    if (contract.length) object_members(contract.bytes, contract.length, read_level, &levels, &where);
    lower_levels(&levels, settled);
    copy.manifest = levels.level[META_gradients] == CG_COVERAGE_COMPLETE;
    if (contract.length) object_members(contract.bytes, contract.length, copy_member, &copy, &where);
    out = copy.out;
    if (!copy.scope) {
        out = jsonl_literal(out, contract_measurement_scope);
        out = put_string(out, cg_name_SCOPE[CG_SCOPE_UNKNOWN]);
    }
    for (int i = 0; i < META_LEVELS; i++) {
        out = put_text(out, level_keys[i]);
        out = put_string(out, cg_name_COVERAGE[levels.level[i]]);
    }
    if (!copy.labels) {
        out = jsonl_literal(out, contract_required_semantic_labels);
        out = jsonl_literal(out, "[]");
    }
    *begin = '{';
    *out++ = '}';
    return out;
}

/* ---- tags, and what the format does not have ---- */

/* key=value,key=value, as the setting has been checked. */
static char *put_tags(char *out, const char *tags)
{
    bool first = true;

    *out++ = '{';
    while (*tags) {
        size_t length = strcspn(tags, ","), key = strcspn(tags, "=,");

        if (!first) *out++ = ',';
        first = false;
        out = jsonl_string(out, tags, key);
        *out++ = ':';
        out = jsonl_string(out, tags + key + 1, length - key - 1);
        tags += length + (tags[length] == ',');
    }
    *out++ = '}';
    return out;
}

/* The members of an object that is not empty, into the one that ends at the cursor. */
static char *add_members(char *out, const char *object, size_t length)
{
    out -= 1;
    if (out[-1] != '{') *out++ = ',';
    return put_json(out, object + 1, length - 1);
}

static char *put_cuda(char *out)
{
    bool first = true;

    out = jsonl_literal(out, ",\"cuda\":{\"devices\":[");
    for (unsigned i = 0; i < SESSION_DEVICES; i++) {
        if (!session.devices[i].known) continue;
        if (!first) *out++ = ',';
        first = false;
        out = jsonl_literal(out, "{\"device\":\"cuda:");
        out = jsonl_u64(out, i);
        out = jsonl_literal(out, "\",\"name\":");
        out = put_string(out, session.devices[i].name);
        out = jsonl_literal(out, ",\"bytes\":");
        out = jsonl_u64(out, session.devices[i].bytes);
        *out++ = '}';
    }
    *out++ = ']';
    if (session.driver) {
        out = jsonl_literal(out, ",\"driver\":");
        out = jsonl_i64(out, session.driver);
    }
    *out++ = '}';
    return out;
}

static char *put_anchor(char *out, const struct cap_anchor *anchor)
{
    out = jsonl_literal(out, "{\"tick\":");
    out = jsonl_u64(out, anchor->tick);
    out = jsonl_literal(out, ",\"monotonic_ns\":");
    out = jsonl_i64(out, anchor->monotonic_ns);
    out = jsonl_literal(out, ",\"realtime_ns\":");
    out = jsonl_i64(out, anchor->realtime_ns);
    out = jsonl_literal(out, ",\"spread_ticks\":");
    out = jsonl_u64(out, anchor->spread_ticks);
    *out++ = '}';
    return out;
}

static char *put_clock(char *out)
{
    const struct cap_clock *clock = &session.header->clock;

    out = jsonl_literal(out, ",\"clock\":{\"source\":");
    out = put_string(out, clock->source ? "tsc" : "monotonic");
    out = jsonl_literal(out, ",\"mult\":");
    out = jsonl_u64(out, clock->mult);
    out = jsonl_literal(out, ",\"shift\":");
    out = jsonl_u64(out, clock->shift);
    out = jsonl_literal(out, ",\"first\":");
    out = put_anchor(out, &session.header->first);
    out = jsonl_literal(out, ",\"last\":");
    out = put_anchor(out, &session.header->last);
    out = jsonl_literal(out, ",\"devices\":");
    out = jsonl_clocks(out, session.header);
    *out++ = '}';
    return out;
}

static char *put_stacks(char *out)
{
    const char *recorded;
    size_t length = settings_word(CG_STACKS_WORDS, session.settings.stacks, &recorded);

    out = jsonl_literal(out, ",\"stacks\":{\"recorded\":");
    out = jsonl_string(out, recorded, length);
    if (session.settings.stacks != CG_STACKS_OFF) {
        out = jsonl_literal(out, ",\"depth\":");
        out = jsonl_u64(out, session.settings.stack_depth);
        out = jsonl_literal(out, ",\"unwinder\":");
        out = put_string(out, unwind_name());
    }
    *out++ = '}';
    return out;
}

static char *put_extras(char *out)
{
    out = jsonl_literal(out,
                        ",\"producer\":{\"name\":\"libcgtrace\",\"version\":\"" CGT_VERSION "\"},\"host\":");
    out = put_string(out, session.host);
    out = jsonl_literal(out, ",\"pid\":");
    out = jsonl_i64(out, session.pid);
    if (session.rank >= 0) {
        out = jsonl_literal(out, ",\"rank\":");
        out = jsonl_i64(out, session.rank);
    }
    out = put_clock(out);
    out = put_stacks(out);
    return put_cuda(out);
}

/* ---- the line ---- */

size_t meta_bound(void)
{
    return 2048 + SESSION_DEVICES * (6 * sizeof session.devices[0].name + 80) + run_bound() +
           jsonl_clocks_bound();
}

/* doc/spec/trace.md 13.7. */
static char *put_correlation(char *out, enum cg_value_PHASE phase)
{
    const struct session_run *run = &session.run;
    bool replaced;

    if (run->correlation.length > 0)
        return jsonl_string(out, run->correlation.bytes, run->correlation.length);
    *out++ = '"';
    out = jsonl_text(out, run->entrypoint, strlen(run->entrypoint), &replaced);
    out = put_text(out, phase == CG_PHASE_TRAIN ? "/update-" : "/inference-");
    out = jsonl_u64(out, run->capture_step);
    *out++ = '"';
    return out;
}

char *meta_write(char *out, const struct meta_settled *settled)
{
    const struct session_run *run = &session.run;

    out = jsonl_literal(out, begin_meta);
    out = jsonl_literal(out, meta_schema);
    out = put_string(out, CG_SCHEMA_TRACE_10);
    out = jsonl_literal(out, meta_run_id);
    out = put_string(out, session.run_id);
    out = jsonl_literal(out, meta_correlation_id);
    out = put_correlation(out, settled->phase);
    out = jsonl_literal(out, meta_entrypoint);
    out = put_string(out, run->entrypoint);
    out = jsonl_literal(out, meta_phase);
    out = put_string(out, cg_name_PHASE[settled->phase]);
    out = jsonl_literal(out, meta_timestamp);
    out = put_string(out, session.timestamp);
    out = jsonl_literal(out, meta_capture_step);
    out = jsonl_u64(out, run->capture_step);
    out = jsonl_literal(out, meta_warmup_steps);
    out = jsonl_u64(out, run->warmup_steps);
    out = jsonl_literal(out, meta_device);
    if (settled->first_device) {
        out = jsonl_literal(out, "\"cuda:");
        out = jsonl_u64(out, settled->first_device - 1);
        *out++ = '"';
    } else {
        out = jsonl_literal(out, "\"cpu\"");
    }
    out = jsonl_literal(out, meta_measured_region_device_synchronized);
    out = put_text(out, settled->synchronised ? "true" : "false");
    out = jsonl_literal(out, meta_timing_mode);
    out = put_string(out, cg_name_TIMING_MODE[CG_TIMING_MODE_HOST]);
    out = jsonl_literal(out, meta_capture_contract);
    out = put_contract(out, settled);
    if (run->identity.length) {
        out = jsonl_literal(out, meta_comparison_identity);
        out = put_json(out, run->identity.bytes, run->identity.length);
    }
    out = jsonl_literal(out, meta_tags);
    out = run->tags.length ? put_json(out, run->tags.bytes, run->tags.length)
                           : put_tags(out, session.settings.tags);
    if (run->more_tags.length > 2) out = add_members(out, run->more_tags.bytes, run->more_tags.length);
    out = put_extras(out);
    if (settled->names) {
        out = jsonl_literal(out, ",\"names\":");
        out = names_write(out);
    }
    *out++ = '}';
    return out;
}
