/* Checks of what a caller gives. */
#include <string.h>

#include "common/utf8.h"
#include "preload/api/api.h"

void api_take(void *own, size_t own_size, const void *given, size_t given_size)
{
    size_t known = given_size < own_size ? given_size : own_size;

    memcpy(own, given, known);
    memset((char *)own + known, 0, own_size - known);
}

int api_needs(const char *text, size_t limit)
{
    size_t length;

    if (!text) return CGTRACE_E_NULL;
    length = strnlen(text, limit + 1);
    if (length > limit) return CGTRACE_E_TOO_BIG;
    return utf8_blank(text, length) ? CGTRACE_E_BLANK : CGTRACE_OK;
}

uint32_t api_known_slowly(const char *text, size_t limit)
{
    uint32_t number = record_text_known(text), head;

    if (!number || (signed char)*text <= ' ') return 0;
    memcpy(&head, session.strings + (uint64_t)number * 8, sizeof head);
    return CAP_STRING_LENGTH(head) <= limit ? number : 0;
}

int api_allows(const char *text, size_t limit)
{
    return text ? api_needs(text, limit) : CGTRACE_OK;
}

int api_shape(const uint64_t *shape, size_t rank)
{
    if (rank > CGTRACE_RANK_MAX) return CGTRACE_E_TOO_BIG;
    return rank > 0 && !shape ? CGTRACE_E_NULL : CGTRACE_OK;
}

bool api_numbers(const struct api_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *texts[i].number = texts[i].text ? record_text(texts[i].text) : 0;
        if (texts[i].text && !*texts[i].number) return false;
    }
    return true;
}
