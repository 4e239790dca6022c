/* What a caller declares about its run, checked (doc/spec/trace.md 12) and written as JSON for the first
 * line. */
#include <string.h>
#include <sys/mman.h>

#include "common/event_table.h"
#include "common/hash256.h"
#include "common/jsonl_text.h"
#include "preload/api/api.h"
#include "preload/api/id_table.h"
#include "preload/unnoticed.h"

#define UNUSED                                                    __attribute__((unused))
#define KEYS(prefix, id, wire)                                    static const char prefix##_##id[] UNUSED = "\"" wire "\":";
#define IDENTITY_KEY(id, wire, type, presence, argument, meaning) KEYS(identity, id, wire)
#define CONTRACT_KEY(id, wire, type, presence, argument, meaning) KEYS(contract, id, wire)
#define GRADIENT_KEY(id, wire, type, presence, argument, meaning) KEYS(gradient, id, wire)
#define ENTRY_KEY(id, wire, type, presence, argument, meaning)    KEYS(entry, id, wire)
#define FAMILY_KEY(id, wire, type, presence, argument, meaning)   KEYS(family, id, wire)
CG_IDENTITY_FIELDS(IDENTITY_KEY)
CG_CONTRACT_FIELDS(CONTRACT_KEY)
CG_GRADIENT_CONTRACT_FIELDS(GRADIENT_KEY)
CG_GRADIENT_ENTRY_FIELDS(ENTRY_KEY)
CG_GRADIENT_FAMILY_FIELDS(FAMILY_KEY)

enum { JSON_LIMIT = 512 << 10 };

/* ---- writing ---- */

void api_json_free(struct api_json *json)
{
    ERRNO_KEPT;

    if (json->bytes) munmap(json->bytes, json->room);
    *json = (struct api_json){0};
}

static bool room(struct api_json *json, size_t bytes)
{
    size_t wanted = json->room ? json->room : 4096;
    void *grown;
    ERRNO_KEPT;

    while (wanted < json->length + bytes)
        wanted *= 2;
    if (json->full || wanted > 2 * JSON_LIMIT) return !(json->full = true);
    if (wanted == json->room) return true;
    grown = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED) return !(json->full = true);
    if (json->bytes) {
        memcpy(grown, json->bytes, json->length);
        munmap(json->bytes, json->room);
    }
    json->bytes = grown;
    json->room = wanted;
    return true;
}

static void put(struct api_json *json, const char *text)
{
    size_t length = strlen(text);

    if (!room(json, length)) return;
    memcpy(json->bytes + json->length, text, length);
    json->length += length;
}

/* Between two members or items: not behind what opens the object or the list. */
static void put_comma(struct api_json *json)
{
    if (json->length > 0 && json->bytes[json->length - 1] != '{' && json->bytes[json->length - 1] != '[')
        put(json, ",");
}

static void put_string(struct api_json *json, const char *text)
{
    if (!room(json, 6 * strlen(text) + 2)) return;
    json->length = (size_t)(jsonl_string(json->bytes + json->length, text, strlen(text)) - json->bytes);
}

static void put_text(struct api_json *json, const char *key, const char *text)
{
    if (!text) return;
    put_comma(json);
    put(json, key);
    put_string(json, text);
}

static void put_number(struct api_json *json, const char *key, uint64_t value)
{
    char digits[21];

    *jsonl_u64(digits, value) = '\0';
    put_comma(json);
    put(json, key);
    put(json, digits);
}

static void put_texts(struct api_json *json, const char *key, const char *const *texts, size_t count)
{
    put_comma(json);
    put(json, key);
    put(json, "[");
    for (size_t i = 0; i < count; i++) {
        put_comma(json);
        put_string(json, texts[i]);
    }
    put(json, "]");
}

/* The object is whole: gives it, or says why not. */
static int finish(struct api_json *json)
{
    put(json, "}");
    if (!json->full && json->length <= JSON_LIMIT) return CGTRACE_OK;
    int result = json->length > JSON_LIMIT || json->room >= JSON_LIMIT ? CGTRACE_E_TOO_BIG : CGTRACE_E_FULL;
    api_json_free(json);
    return result;
}

/* ---- identity and tags ---- */

static int check_identity(const struct cgtrace_identity_info *info)
{
    const char *const needed[] = {info->workload_id, info->model_id,  info->config_id,   info->data_id,
                                  info->seed_policy, info->precision, info->device_state};
    const char *const allowed[] = {info->implementation_id, info->pair_id};
    int result = info->physical_batch && info->accumulation_steps ? CGTRACE_OK : CGTRACE_E_IDENTITY;

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        result = api_either(result, api_needs(needed[i], CGTRACE_TEXT_MAX));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        result = api_either(result, api_allows(allowed[i], CGTRACE_TEXT_MAX));
    return result == CGTRACE_E_NULL || result == CGTRACE_E_BLANK ? CGTRACE_E_IDENTITY : result;
}

int api_identity_json(struct api_json *json, const struct cgtrace_identity_info *info)
{
    int result = check_identity(info);

    *json = (struct api_json){0};
    if (result != CGTRACE_OK) return result;
    put(json, "{");
    put_text(json, identity_implementation_id, info->implementation_id);
    put_text(json, identity_workload_id, info->workload_id);
    put_text(json, identity_model_id, info->model_id);
    put_text(json, identity_config_id, info->config_id);
    put_text(json, identity_data_id, info->data_id);
    put_text(json, identity_seed_policy, info->seed_policy);
    put_number(json, identity_physical_batch, info->physical_batch);
    put_number(json, identity_accumulation_steps, info->accumulation_steps);
    put_text(json, identity_precision, info->precision);
    put_text(json, identity_device_state, info->device_state);
    put_text(json, identity_pair_id, info->pair_id);
    return finish(json);
}

int api_tags_json(struct api_json *json, const struct cgtrace_tag_info *tags, size_t count)
{
    int result = CGTRACE_OK;

    *json = (struct api_json){0};
    if (count > 0 && !tags) return CGTRACE_E_NULL;
    for (size_t i = 0; i < count && result == CGTRACE_OK; i++) {
        result = api_needs(tags[i].key, CGTRACE_TEXT_MAX);
        if (result == CGTRACE_OK && !tags[i].value) result = CGTRACE_E_NULL;
        if (result == CGTRACE_OK && strnlen(tags[i].value, CGTRACE_TEXT_MAX + 1) > CGTRACE_TEXT_MAX)
            result = CGTRACE_E_TOO_BIG;
    }
    if (result != CGTRACE_OK) return result;
    put(json, "{");
    for (size_t i = 0; i < count; i++) {
        put_comma(json);
        put_string(json, tags[i].key);
        put(json, ":");
        put_string(json, tags[i].value);
    }
    return finish(json);
}

/* ---- the contract's labels ---- */

static int check_texts(const char *const *texts, size_t count)
{
    if (count > 0 && !texts) return CGTRACE_E_NULL;
    for (size_t i = 0; i < count; i++) {
        int result = api_needs(texts[i], CGTRACE_TEXT_MAX);

        if (result == CGTRACE_OK && !jsonl_valid(texts[i], strlen(texts[i]))) result = CGTRACE_E_LABELS;
        if (result != CGTRACE_OK) return result == CGTRACE_E_BLANK ? CGTRACE_E_LABELS : result;
    }
    return CGTRACE_OK;
}

/* How often a text is in a list. Lists of labels are short. */
static size_t times(const char *const *texts, size_t count, const char *text)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += strcmp(texts[i], text) == 0;
    return found;
}

/* The classes together name each required label once, and nothing else. */
static bool partition(const struct cgtrace_contract_info *info)
{
    if (info->gpu_count + info->cpu_count == 0) return true;
    for (size_t i = 0; i < info->required_count; i++)
        if (times(info->gpu_labels, info->gpu_count, info->required_labels[i]) +
                times(info->cpu_labels, info->cpu_count, info->required_labels[i]) !=
            1)
            return false;
    return info->gpu_count + info->cpu_count == info->required_count;
}

static int check_labels(const struct cgtrace_contract_info *info)
{
    int result = check_texts(info->required_labels, info->required_count);

    result = api_either(result, check_texts(info->gpu_labels, info->gpu_count));
    result = api_either(result, check_texts(info->cpu_labels, info->cpu_count));
    if (result != CGTRACE_OK) return result;
    for (size_t i = 0; i < info->required_count; i++)
        if (times(info->required_labels, info->required_count, info->required_labels[i]) != 1)
            return CGTRACE_E_LABELS;
    return partition(info) ? CGTRACE_OK : CGTRACE_E_LABELS;
}

/* ---- the gradient manifest (doc/spec/trace.md 11.2) ---- */

/* The digest is of the bytes that are written: so no text in it may be one that is mended. */
static int check_needed(const char *text)
{
    int result = api_needs(text, CGTRACE_TEXT_MAX);

    if (result == CGTRACE_OK && !jsonl_valid(text, strlen(text))) result = CGTRACE_E_GRADIENTS;
    return result == CGTRACE_E_BLANK ? CGTRACE_E_GRADIENTS : result;
}

/* Keys once each; every family declared. */
static int check_entries(const struct cgtrace_contract_info *info)
{
    struct id_table seen = {.entry_bytes = sizeof(struct id_key)};
    int result = CGTRACE_OK;

    for (size_t i = 0; i < info->entry_count && result == CGTRACE_OK; i++) {
        const struct cgtrace_gradient_entry *entry = &info->entries[i];
        bool declared = false;

        result = api_either(check_needed(entry->root),
                            api_either(check_needed(entry->key), check_needed(entry->family)));
        if (result != CGTRACE_OK) break;
        struct id_key key = api_parameter_key(entry->root, entry->key);

        for (size_t k = 0; k < info->family_count; k++)
            declared |= strcmp(info->families[k].family, entry->family) == 0;
        if (!declared || id_table_find(&seen, key))
            result = CGTRACE_E_GRADIENTS;
        else if (!id_table_add(&seen, &key))
            result = CGTRACE_E_FULL;
    }
    id_table_empty(&seen);
    return result;
}

static bool good_minimum(const struct cgtrace_gradient_family *family, size_t entries)
{
    if (family->expectation == CGTRACE_EXPECT_INACTIVE) return family->min_present == 0;
    return family->min_present >= 1 && family->min_present <= entries;
}

static int check_families(const struct cgtrace_contract_info *info)
{
    for (size_t i = 0; i < info->family_count; i++) {
        const struct cgtrace_gradient_family *family = &info->families[i];
        size_t entries = 0;

        for (size_t k = 0; k < i; k++)
            if (strcmp(family->family, info->families[k].family) == 0) return CGTRACE_E_GRADIENTS;
        for (size_t k = 0; k < info->entry_count; k++)
            entries += strcmp(info->entries[k].family, family->family) == 0;
        if ((unsigned)family->expectation > CGTRACE_EXPECT_DATA_CONDITIONAL) return CGTRACE_E_VALUE;
        if (entries == 0 || !good_minimum(family, entries)) return CGTRACE_E_GRADIENTS;
    }
    return CGTRACE_OK;
}

static int check_gradients(const struct cgtrace_contract_info *info)
{
    int result = CGTRACE_OK;

    if ((info->entry_count > 0 && !info->entries) || (info->family_count > 0 && !info->families))
        return CGTRACE_E_NULL;
    if ((info->gradients == CGTRACE_LEVEL_COMPLETE) != (info->entry_count > 0) ||
        (info->entry_count > 0) != (info->family_count > 0))
        return CGTRACE_E_GRADIENTS;
    for (size_t i = 0; i < info->family_count && result == CGTRACE_OK; i++)
        result = check_needed(info->families[i].family);
    result = result == CGTRACE_OK ? check_entries(info) : result;
    return result == CGTRACE_OK ? check_families(info) : result;
}

/* doc/spec/trace.md 4.5. */
static void digest_text(struct hash256 *hash, const char *text)
{
    uint64_t length = strlen(text);
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> (8 * i));
    hash256_add(hash, bytes, sizeof bytes);
    hash256_add(hash, text, length);
}

static void put_digest(struct api_json *json, const struct cgtrace_contract_info *info)
{
    static const char head[] = "candle-graph/gradient-manifest/1", prefix[] = "sha256:";
    unsigned char digest[HASH256_BYTES];
    char text[sizeof prefix + 2 * HASH256_BYTES] = "sha256:";
    struct hash256 hash;

    hash256_start(&hash);
    hash256_add(&hash, head, sizeof head);
    for (size_t i = 0; i < info->entry_count; i++) {
        digest_text(&hash, info->entries[i].root);
        digest_text(&hash, info->entries[i].key);
        digest_text(&hash, info->entries[i].family);
    }
    hash256_finish(&hash, digest);
    *jsonl_hex_bytes(text + sizeof prefix - 1, (const char *)digest, sizeof digest) = '\0';
    put_text(json, gradient_manifest_sha256, text);
}

static void put_manifest(struct api_json *json, const struct cgtrace_contract_info *info)
{
    put_comma(json);
    put(json, contract_gradient_contract);
    put(json, "{");
    put_digest(json, info);
    put_comma(json);
    put(json, gradient_expected);
    put(json, "[");
    for (size_t i = 0; i < info->entry_count; i++) {
        put_comma(json);
        put(json, "{");
        put_text(json, entry_root, info->entries[i].root);
        put_text(json, entry_key, info->entries[i].key);
        put_text(json, entry_family, info->entries[i].family);
        put(json, "}");
    }
    put(json, "],");
    put(json, gradient_families);
    put(json, "[");
    for (size_t i = 0; i < info->family_count; i++) {
        put_comma(json);
        put(json, "{");
        put_text(json, family_family, info->families[i].family);
        put_text(json, family_expectation, cg_name_EXPECTATION[info->families[i].expectation]);
        put_number(json, family_min_present, info->families[i].min_present);
        put(json, "}");
    }
    put(json, "]}");
}

/* ---- the contract ---- */

_Static_assert((int)CGTRACE_LEVEL_NONE == 1 + (int)CG_COVERAGE_NONE &&
                   (int)CGTRACE_LEVEL_COMPLETE == 1 + (int)CG_COVERAGE_COMPLETE &&
                   (int)CGTRACE_SCOPE_PRODUCTION_EQUIVALENT == (int)CG_SCOPE_PRODUCTION_EQUIVALENT &&
                   (int)CGTRACE_EXPECT_DATA_CONDITIONAL == (int)CG_EXPECTATION_DATA_CONDITIONAL,
               "values as in the event table");

int api_contract_json(struct api_json *json, const struct cgtrace_contract_info *info)
{
    const struct {
        const char *key;
        enum cgtrace_level level;
    } levels[] = {{contract_operations, info->operations},
                  {contract_activations, info->activations},
                  {contract_tensors, info->tensors},
                  {contract_gradients, info->gradients},
                  {contract_logical_memory, info->logical_memory},
                  {contract_physical_memory, info->physical_memory},
                  {contract_device_timing, info->device_timing}};
    int result = CGTRACE_OK;

    *json = (struct api_json){0};
    if ((unsigned)info->scope > CGTRACE_SCOPE_PRODUCTION_EQUIVALENT) return CGTRACE_E_VALUE;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if ((unsigned)levels[i].level > CGTRACE_LEVEL_COMPLETE) return CGTRACE_E_VALUE;
    result = api_either(check_labels(info), check_gradients(info));
    if (result != CGTRACE_OK) return result;
    put(json, "{");
    put_text(json, contract_measurement_scope, cg_name_SCOPE[info->scope]);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (levels[i].level) put_text(json, levels[i].key, cg_name_COVERAGE[levels[i].level - 1]);
    if (info->entry_count > 0) put_manifest(json, info);
    put_texts(json, contract_required_semantic_labels, info->required_labels, info->required_count);
    if (info->gpu_count > 0)
        put_texts(json, contract_gpu_expected_semantic_labels, info->gpu_labels, info->gpu_count);
    if (info->cpu_count > 0)
        put_texts(json, contract_cpu_only_semantic_labels, info->cpu_labels, info->cpu_count);
    return finish(json);
}
