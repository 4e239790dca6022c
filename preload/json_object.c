#include "preload/json_object.h"

#include <stdint.h>
#include <string.h>

#include "common/jsonl_text.h"

struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

static bool take(struct cursor *c, char expected)
{
    skip_space(c);
    if (c->at == c->end || *c->at != expected) return false;
    c->at++;
    return true;
}

static int hex4(const char *at)
{
    int value = 0;

    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The part of an escape behind the backslash. */
static bool escape(struct cursor *c)
{
    if (c->at == c->end) return false;
    if (*c->at != 'u') return *c->at && strchr("\"\\/bfnrt", *c->at++) != NULL;
    if (c->end - c->at < 5) return false;
    int code = hex4(c->at + 1);
    c->at += 5;
    if (code < 0 || (code >= 0xdc00 && code < 0xe000)) return false;
    if (code < 0xd800 || code >= 0xe000) return true;
    if (c->end - c->at < 6 || c->at[0] != '\\' || c->at[1] != 'u') return false;
    code = hex4(c->at + 2);
    c->at += 6;
    return code >= 0xdc00 && code < 0xe000;
}

static bool string(struct cursor *c)
{
    const char *begin;

    if (!take(c, '"')) return false;
    for (begin = c->at; c->at < c->end && *c->at != '"';) {
        if ((unsigned char)*c->at < 0x20) return false;
        if (*c->at++ == '\\' && !escape(c)) return false;
    }
    if (c->at == c->end) return false;
    if (!jsonl_valid(begin, (size_t)(c->at - begin))) return false;
    c->at++;
    return true;
}

static bool digits(struct cursor *c)
{
    const char *begin = c->at;

    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > begin;
}

static bool number(struct cursor *c)
{
    if (c->at < c->end && *c->at == '-') c->at++;
    if (c->at < c->end && *c->at == '0')
        c->at++;
    else if (!digits(c))
        return false;
    if (c->at < c->end && *c->at == '.' && (c->at++, !digits(c))) return false;
    if (c->at < c->end && (*c->at | 32) == 'e') {
        c->at++;
        if (c->at < c->end && (*c->at == '+' || *c->at == '-')) c->at++;
        return digits(c);
    }
    return true;
}

static bool word(struct cursor *c, const char *text)
{
    size_t length = strlen(text);

    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0) return false;
    c->at += length;
    return true;
}

static bool scalar(struct cursor *c)
{
    switch (*c->at) {
    case '"':
        return string(c);
    case 't':
        return word(c, "true");
    case 'f':
        return word(c, "false");
    case 'n':
        return word(c, "null");
    default:
        return number(c);
    }
}

/* One value; `open` holds the closing brackets that are awaited. */
static bool value(struct cursor *c)
{
    char open[JSON_OBJECT_DEPTH];
    unsigned depth = 0;

    for (;;) {
        skip_space(c);
        if (c->at == c->end) return false;
        if (*c->at == '{' || *c->at == '[') {
            char close = *c->at++ == '{' ? '}' : ']';

            if (depth == JSON_OBJECT_DEPTH) return false;
            open[depth++] = close;
            if (take(c, close)) {
                depth--;
            } else {
                if (close == '}' && (!string(c) || !take(c, ':'))) return false;
                continue;
            }
        } else if (!scalar(c)) {
            return false;
        }
        while (depth > 0 && !take(c, ',')) {
            if (!take(c, open[depth - 1])) return false;
            depth--;
        }
        if (depth == 0) return true;
        if (open[depth - 1] == '}' && (!string(c) || !take(c, ':'))) return false;
    }
}

static bool members(struct cursor *c, void (*each)(const struct json_member *, void *), void *argument)
{
    if (!take(c, '{')) return false;
    if (take(c, '}')) return true;
    do {
        struct json_member member;

        skip_space(c);
        member.key = c->at + 1;
        if (!string(c)) return false;
        member.key_length = (size_t)(c->at - 1 - member.key);
        if (!take(c, ':')) return false;
        skip_space(c);
        member.value = c->at;
        if (!value(c)) return false;
        member.value_length = (size_t)(c->at - member.value);
        if (each) each(&member, argument);
    } while (take(c, ','));
    return take(c, '}');
}

bool object_members(const char *text, size_t length, void (*each)(const struct json_member *, void *),
                    void *argument, size_t *where)
{
    struct cursor c = {text, text + length};
    bool good = members(&c, each, argument);

    skip_space(&c);
    *where = (size_t)(c.at - text);
    return good && c.at == c.end;
}
