#include "tests/fuzz/mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The input, and the state of rand_r(). */
struct text {
    uint8_t *bytes;
    size_t length, room;
    unsigned seed;
};
struct piece {
    size_t at, length;
};

static size_t below(struct text *text, size_t limit)
{
    return limit ? (size_t)rand_r(&text->seed) % limit : 0;
}

/* Any line, with its line feed. */
static struct piece any_line(struct text *text)
{
    size_t at = below(text, text->length);
    while (at > 0 && text->bytes[at - 1] != '\n')
        at--;
    const uint8_t *end = memchr(text->bytes + at, '\n', text->length - at);
    return (struct piece){at, end ? (size_t)(end + 1 - text->bytes) - at : text->length - at};
}

/* The first text or number behind any place that stands as a member's value; without its quotes. */
static bool any_value(struct text *text, struct piece *value)
{
    const uint8_t *end = text->bytes + text->length, *at = text->bytes + below(text, text->length), *begin;
    for (; (at = memchr(at, ':', (size_t)(end - at))); at++) {
        begin = at + 1;
        bool quoted = begin < end && *begin == '"';
        if (quoted) begin++;
        for (at = begin; at < end && (quoted ? *at != '"' : strchr("+-.0123456789eE", *at) && *at); at++)
            ;
        if (at >= end) return false;
        *value = (struct piece){(size_t)(begin - text->bytes), (size_t)(at - begin)};
        if (quoted || at > begin) return true;
    }
    return false;
}

/* Puts a copy of these bytes in the place of a piece, if there is room. */
static void replace(struct text *text, struct piece piece, const void *bytes, size_t length)
{
    size_t behind = piece.at + piece.length;
    if (text->length - piece.length + length > text->room) return;
    char *copy = malloc(length + 1);
    if (!copy) abort();
    memcpy(copy, bytes, length);
    memmove(text->bytes + piece.at + length, text->bytes + behind, text->length - behind);
    memcpy(text->bytes + piece.at, copy, length);
    text->length = text->length - piece.length + length;
    free(copy);
}

static void move_line(struct text *text, bool keep)
{
    struct piece line = any_line(text), to = any_line(text);
    to.length = 0;
    replace(text, to, text->bytes + line.at, line.length);
    if (keep) return;
    if (line.at >= to.at) line.at += line.length;
    if (line.at + line.length <= text->length) replace(text, line, "", 0);
}

static void change_value(struct text *text)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "64",
                                          "100",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "1e300",
                                          "9223372036854775808",
                                          "18446744073709551615",
                                          "-1",
                                          "0.5",
                                          "1e-9",
                                          "null",
                                          "true",
                                          "[]",
                                          "{}"};
    struct piece value, other;
    if (!any_value(text, &value)) return;
    bool quoted = text->bytes[value.at - 1] == '"';
    const char *number = numbers[below(text, sizeof numbers / sizeof *numbers)];
    if (!quoted && below(text, 2))
        replace(text, value, number, strlen(number));
    else if (any_value(text, &other) && (text->bytes[other.at - 1] == '"') == quoted)
        replace(text, value, text->bytes + other.at, other.length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned seed)
{
    struct text text = {bytes, length, room, seed};
    unsigned way = (unsigned)below(&text, 8);
    if (length == 0 || way < 2) return LLVMFuzzerMutate(bytes, length, room);
    if (way == 2)
        move_line(&text, true);
    else if (way == 3)
        move_line(&text, false);
    else if (way == 4)
        replace(&text, any_line(&text), "", 0);
    else
        change_value(&text);
    return text.length;
}
