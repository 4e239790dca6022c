/* libFuzzer: any bytes as the JSON object of CGTRACE_IDENTITY or CGTRACE_CONTRACT, held against jansson: what
 * one takes the other takes, but for numbers and depths that only the other has limits for. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "preload/json_object.h"
#include "tests/fuzz/files.h"

struct seen {
    const char *begin, *end;
    size_t members;
};

static void take(const struct json_member *member, void *argument)
{
    struct seen *seen = argument;
    if (member->key < seen->begin || member->key + member->key_length >= member->value ||
        member->value_length == 0 || member->value + member->value_length > seen->end)
        abort();
    seen->begin = member->value + member->value_length;
    seen->members++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    /* A copy of just these bytes: a read behind them is seen. */
    char *text = malloc(length + !length);
    json_error_t fault;
    size_t where = SIZE_MAX;
    if (!text) abort();
    memcpy(text, bytes, length);
    struct seen seen = {text, text + length, 0};
    bool good = object_members(text, length, take, &seen, &where);
    json_t *object = json_loadb(text, length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &fault);
    if (where > length || (good && where != length)) abort();
    if (good && !object && json_error_code(&fault) != json_error_numeric_overflow &&
        json_error_code(&fault) != json_error_null_byte_in_key)
        abort();
    if (good && object && (!json_is_object(object) || json_object_size(object) > seen.members)) abort();
    /* Behind a number jansson (2.14) passes over a byte of 0. */
    if (!good && json_is_object(object) && !memchr(text, 0, length)) {
        size_t deep = 0;
        for (size_t i = 0; i < length; i++)
            deep += text[i] == '{' || text[i] == '[';
        if (deep <= JSON_OBJECT_DEPTH) abort();
    }
    json_decref(object);
    free(text);
    return 0;
}
