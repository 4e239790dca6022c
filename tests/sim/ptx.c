/* PTX: entries with their parameters, and variables of the state spaces global and const ("PTX ISA", 5
 * and 11.1). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/image.h"

struct scan {
    const char *p, *end;
};

/* A token: a word (name, directive, type or number, dots included), or one character of punctuation. */
struct token {
    const char *s;
    size_t n;
};

static void skip_blank(struct scan *in)
{
    while (in->p < in->end) {
        if (isspace((unsigned char)*in->p)) {
            in->p++;
        } else if (in->end - in->p > 1 && in->p[0] == '/' && in->p[1] == '/') {
            while (in->p < in->end && *in->p != '\n')
                in->p++;
        } else if (in->end - in->p > 1 && in->p[0] == '/' && in->p[1] == '*') {
            in->p += 2;
            while (in->end - in->p > 1 && !(in->p[0] == '*' && in->p[1] == '/'))
                in->p++;
            in->p = in->end - in->p > 1 ? in->p + 2 : in->end;
        } else {
            return;
        }
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.' || (c & 0x80);
}

static bool next(struct scan *in, struct token *t)
{
    skip_blank(in);
    if (in->p >= in->end) return false;
    t->s = in->p;
    if (*in->p == '"') {
        in->p++;
        while (in->p < in->end && *in->p != '"')
            in->p++;
        if (in->p < in->end) in->p++;
    } else if (is_word(*in->p)) {
        while (in->p < in->end && is_word(*in->p))
            in->p++;
    } else {
        in->p++;
    }
    t->n = (size_t)(in->p - t->s);
    return true;
}

static bool is(const struct token *t, const char *s)
{
    return strlen(s) == t->n && memcmp(t->s, s, t->n) == 0;
}

static size_t number(const struct token *t)
{
    char digits[24] = "";
    if (t->n < sizeof digits) memcpy(digits, t->s, t->n);
    return (size_t)strtoull(digits, NULL, 0);
}

/* Bytes of a fundamental type such as `.u64`; 0 for every other word. */
static size_t type_bytes(const struct token *t)
{
    if (t->n < 3 || t->s[0] != '.' || !strchr("busf", t->s[1])) return 0;
    size_t bits = 0;
    for (size_t i = 2; i < t->n; i++) {
        if (!isdigit((unsigned char)t->s[i])) return 0;
        bits = bits * 10 + (size_t)(t->s[i] - '0');
    }
    return bits / 8;
}

/* A declaration after its state space: `.align 8 .b8 name[16][2]` up to `stop`, which is left for the caller.
 */
struct declaration {
    struct token name;
    size_t bytes, align;
    bool ptr;
};

static bool declaration(struct scan *in, struct declaration *d, const char *stop, struct token *t)
{
    size_t element = 0, count = 1;
    *d = (struct declaration){0};
    while (next(in, t)) {
        if (t->n == 1 && strchr(stop, *t->s)) break;
        if (is(t, ".align")) {
            if (!next(in, t)) return false;
            if (!d->ptr) d->align = number(t);
        } else if (is(t, ".ptr")) {
            d->ptr = true; /* what follows tells of the memory pointed to */
        } else if (is(t, "[")) {
            if (!next(in, t)) return false;
            count *= is(t, "]") ? 1 : number(t);
        } else if (type_bytes(t)) {
            element = type_bytes(t);
        } else if (t->s[0] != '.' && t->s[0] != ']') {
            d->name = *t;
        }
    }
    d->bytes = element * count;
    if (!d->align) d->align = element ? element : 1;
    return d->name.n != 0;
}

static CUresult entry(struct scan *in, struct sim_image *image)
{
    struct token t;
    struct declaration d;
    if (!next(in, &t)) return CUDA_ERROR_INVALID_PTX;
    struct sim_entry *e = sim_image_entry(image, t.s, t.n);
    const char *after = in->p;
    if (!next(in, &t) || !is(&t, "(")) {
        in->p = after;
        return CUDA_SUCCESS; /* an entry without parameters */
    }
    size_t offset = 0;
    for (size_t i = 0;; i++) {
        if (!declaration(in, &d, ",)", &t)) return i == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
        offset = sim_round(offset, d.align);
        sim_image_param(e, i, offset, d.bytes);
        offset += d.bytes;
        if (is(&t, ")")) return CUDA_SUCCESS;
    }
}

static void body(struct scan *in)
{
    struct token t;
    for (size_t depth = 1; depth && next(in, &t);) {
        if (is(&t, "{")) depth++;
        if (is(&t, "}")) depth--;
    }
}

CUresult sim_image_ptx(const char *text, size_t length, struct sim_image *image)
{
    struct scan in = {.p = text, .end = text + length};
    struct token t;
    struct declaration d;
    if (!next(&in, &t) || !is(&t, ".version")) return CUDA_ERROR_INVALID_IMAGE;
    bool managed = false;
    while (next(&in, &t)) {
        if (is(&t, ".entry")) {
            CUresult r = entry(&in, image);
            if (r) return r;
        } else if (is(&t, "{")) {
            body(&in);
        } else if (is(&t, ".global") || is(&t, ".const")) {
            managed = false;
            const char *p = in.p;
            if (next(&in, &t) && is(&t, ".attribute")) {
                while (next(&in, &t) && !is(&t, ")"))
                    managed = managed || is(&t, ".managed");
            } else {
                in.p = p;
            }
            if (!declaration(&in, &d, ";=", &t)) return CUDA_ERROR_INVALID_PTX;
            sim_image_variable(image, d.name.s, d.name.n, d.bytes, managed);
            while (!is(&t, ";") && next(&in, &t))
                ;
        }
    }
    return CUDA_SUCCESS;
}
