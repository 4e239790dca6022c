#include "analyzer/cmd/units.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

static bool ends_with(const char *key, size_t length, const char *tail)
{
    size_t tail_length = strlen(tail);
    return length >= tail_length && memcmp(key + length - tail_length, tail, tail_length) == 0;
}

enum unit unit_of_key(const char *key, size_t length, size_t *bare)
{
    *bare = length;
    if (ends_with(key, length, "_ns")) {
        *bare = length - 3;
        return UNIT_NANOSECONDS;
    }
    if (ends_with(key, length, "_bytes")) {
        *bare = length - 6;
        return UNIT_BYTES;
    }
    if (ends_with(key, length, "bytes") || ends_with(key, length, "bytes_at_measured_end") ||
        ends_with(key, length, "live_bytes_by_device") || ends_with(key, length, "live_bytes_by_category"))
        return UNIT_BYTES;
    return UNIT_NONE;
}

bool key_names_map(const char *key)
{
    static const char *const maps[] = {"tags", "live_bytes_by_device", "live_bytes_by_category", "schemas",
                                       "required_reports"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (strcmp(maps[i], key) == 0) return true;
    return false;
}

bool key_holds_name(const char *key)
{
    /* Whole keys, or their last words. */
    static const char *const words[] = {"api",        "device",    "entrypoint", "family", "file",
                                        "host",       "id",        "key",        "label",  "name",
                                        "open_in",    "operation", "owner",      "path",   "pattern",
                                        "raw_report", "root",      "span",       "tensor"};
    size_t length = strlen(key);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t word = strlen(words[i]);
        if (ends_with(key, length, words[i]) && (length == word || key[length - word - 1] == '_'))
            return true;
    }
    return false;
}

size_t unit_text(char text[UNIT_TEXT_SIZE], enum unit unit, uint64_t value)
{
    static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static const char *const times[] = {"ns", "µs", "ms", "s"};
    const char *const *names = unit == UNIT_BYTES ? bytes : times;
    size_t last = unit == UNIT_BYTES ? 6 : 3, step = 0;
    double size = unit == UNIT_BYTES ? 1024 : 1000, scaled = (double)value;
    if (unit == UNIT_NONE) return (size_t)snprintf(text, UNIT_TEXT_SIZE, "%llu", (unsigned long long)value);
    /* What would be rounded up to 1000.0 of one step is 1.000 of the next. */
    while (scaled >= (step == 0 ? size : size - 0.05) && step < last) {
        scaled /= size;
        step++;
    }
    int decimals = step == 0 ? 0 : scaled < 10 ? 3 : scaled < 100 ? 2 : scaled < 1000 ? 1 : 0;
    return (size_t)snprintf(text, UNIT_TEXT_SIZE, "%.*f %s", decimals, scaled, names[step]);
}

/* One character: its bytes, and its columns in *width. */
static size_t character(const char *text, size_t length, size_t *width)
{
    static bool ready;
    if (!ready) ready = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
    unsigned char c = (unsigned char)*text;
    *width = 1;
    if (c < 0x80) return 1;
    size_t bytes = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (bytes > length) bytes = length;
    wchar_t wide;
    mbstate_t state = {0};
    size_t taken = mbrtowc(&wide, text, bytes, &state);
    int columns = taken == (size_t)-1 || taken == (size_t)-2 ? 1 : wcwidth(wide);
    *width = columns < 0 ? 1 : (size_t)columns;
    return bytes;
}

size_t terminal_width(const char *text, size_t length)
{
    size_t columns = 0, width;
    for (size_t i = 0; i < length; columns += width)
        i += character(text + i, length - i, &width);
    return columns;
}

size_t terminal_fit(const char *text, size_t length, size_t columns)
{
    size_t used = 0, width, i = 0;
    while (i < length) {
        size_t bytes = character(text + i, length - i, &width);
        if (used + width > columns) break;
        used += width;
        i += bytes;
    }
    return i;
}

size_t terminal_fit_end(const char *text, size_t length, size_t columns)
{
    size_t left = terminal_width(text, length), width, i = 0;
    while (i < length) {
        size_t bytes = character(text + i, length - i, &width);
        if (left <= columns && width > 0) break;
        left -= width;
        i += bytes;
    }
    return length - i;
}
