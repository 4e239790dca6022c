/* libFuzzer: where the frames of a stack stand in any line, held against jansson where that takes the line.
 */
#define json_string jansson_string /* the scanner has one too, which is meant below */
#include <jansson.h>
#undef json_string
#include <stdlib.h>
#include <string.h>

#include "analyzer/symbolize/frames.h"
#include "common/json_scan.h"
#include "tests/fuzz/files.h"

/* begin NULL: none were found. Deep texts are refused where jansson takes them, and so is a byte of 0, which
 * jansson (2.14) passes over behind a number. */
static void compare(const char *line, size_t length, const char *begin, const char *end)
{
    json_t *record = memchr(line, 0, length) ? NULL : json_loadb(line, length, JSON_ALLOW_NUL, NULL);
    json_t *expected = json_object_get(json_object_get(record, "stack"), "frames"), *found = NULL;
    size_t deep = 0;
    for (size_t i = 0; i < length; i++)
        deep += line[i] == '{' || line[i] == '[';
    if (begin) found = json_loadb(begin, (size_t)(end - begin), JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    if (record && deep < JSON_MAX_DEPTH / 2 && !!expected != !!found) abort();
    if (expected && found && !json_equal(expected, found)) abort();
    json_decref(found);
    json_decref(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *line = calloc(1, length + 1 + JSON_PADDING);
    const char *begin, *end;
    if (!line) abort();
    memcpy(line, bytes, length);
    for (size_t i = 0; i < length; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[length] = '\n';
    bool any = frames_in(line, &begin, &end);
    if (any && (begin < line || begin >= end || end > line + length)) abort();
    compare(line, length, any ? begin : NULL, end);
    free(line);
    return 0;
}
