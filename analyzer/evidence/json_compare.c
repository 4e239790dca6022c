#include "analyzer/evidence/json_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    struct cg_text key;
    const char *value;
    bool met; /* the other document has it too */
};
struct members {
    struct member *at;
    size_t count;
};

/* A list or an object being compared. */
struct frame {
    bool list;
    const char *ours, *theirs;                 /* list: the next elements, NULL at the end */
    size_t index;                              /* of the next element or member */
    struct members our_members, their_members; /* theirs ascending by key */
    size_t pointer_length;
};

struct comparison {
    struct shape_reader *ours, *theirs;
    const char *const *free_pointers;
    char *pointer;
    size_t pointer_length;
    struct frame frames[JSON_MAX_DEPTH];
    size_t depth;
    enum json_equality equality;
};

/* ---- where we are ---- */

static void enter(struct comparison *comparison, struct cg_text part)
{
    char *pointer = comparison->pointer;
    size_t at = comparison->pointer_length;
    if (at + 3 < JSON_POINTER_SIZE) pointer[at++] = '/';
    for (size_t i = 0; i < part.length && at + 3 < JSON_POINTER_SIZE; i++) {
        char byte = part.bytes[i];
        if (byte == '~' || byte == '/') pointer[at++] = '~';
        pointer[at++] = byte == '~' ? '0' : byte == '/' ? '1' : byte;
    }
    pointer[at] = '\0';
    comparison->pointer_length = at;
}

static void enter_index(struct comparison *comparison, size_t index)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%zu", index);
    enter(comparison, (struct cg_text){digits, (size_t)length});
}

static void back_to(struct comparison *comparison, size_t length)
{
    comparison->pointer_length = length;
    comparison->pointer[length] = '\0';
}

/* Does the pointer lie at or below the pattern? */
static bool below(const char *pointer, const char *pattern)
{
    while (*pattern) {
        if (*pattern == '*') {
            pointer += strcspn(pointer, "/");
            pattern++;
        } else if (*pattern++ != *pointer++) {
            return false;
        }
    }
    return *pointer == '\0' || *pointer == '/';
}

/* A difference here: true when it is a free one, and the comparison goes on. */
static bool differ(struct comparison *comparison)
{
    for (const char *const *pattern = comparison->free_pointers; *pattern; pattern++)
        if (below(comparison->pointer, *pattern)) {
            comparison->equality = JSON_EQUAL_EXCEPT_FREE;
            return true;
        }
    comparison->equality = JSON_DIFFERENT;
    return false;
}

/* ---- objects ---- */

static int by_key(const void *a, const void *b)
{
    return text_compare(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static bool list_members(struct shape_reader *reader, const char *object, struct members *members)
{
    size_t room = 0;
    struct cg_text key;
    for (const char *value = shape_first_pair(reader, object, &key); value;
         value = shape_next_pair(reader, value, &key)) {
        if (members->count == room) {
            room = room ? 2 * room : 16;
            struct member *more = reallocarray(members->at, room, sizeof *more);
            if (!more) return false;
            members->at = more;
        }
        members->at[members->count++] = (struct member){key, value, false};
    }
    return !reader->scan.no_memory;
}

static bool push(struct comparison *comparison, const char *ours, const char *theirs)
{
    struct frame *frame = &comparison->frames[comparison->depth++];
    *frame = (struct frame){.list = *ours == '[', .pointer_length = comparison->pointer_length};
    if (frame->list) {
        frame->ours = shape_first(comparison->ours, ours);
        frame->theirs = shape_first(comparison->theirs, theirs);
        return true;
    }
    if (!list_members(comparison->ours, ours, &frame->our_members) ||
        !list_members(comparison->theirs, theirs, &frame->their_members)) {
        comparison->equality = JSON_COMPARE_NO_MEMORY;
        return false;
    }
    if (frame->their_members.count > 0)
        qsort(frame->their_members.at, frame->their_members.count, sizeof *frame->their_members.at, by_key);
    return true;
}

static void pop(struct comparison *comparison)
{
    struct frame *frame = &comparison->frames[--comparison->depth];
    free(frame->our_members.at);
    free(frame->their_members.at);
}

/* ---- values ---- */

static bool is_number(char first)
{
    return first == '-' || (first >= '0' && first <= '9');
}

static bool same_number(struct comparison *comparison, const char *ours, const char *theirs)
{
    struct json_number a = {0}, b = {0};
    json_number(&comparison->ours->scan, ours, &a);
    json_number(&comparison->theirs->scan, theirs, &b);
    return a.class == b.class && (a.class == JSON_F ? a.f == b.f : a.u == b.u);
}

static bool same_string(struct comparison *comparison, const char *ours, const char *theirs)
{
    struct cg_text a, b;
    if (!shape_string(comparison->ours, ours, &a) || !shape_string(comparison->theirs, theirs, &b)) {
        comparison->equality = JSON_COMPARE_NO_MEMORY;
        return false;
    }
    return text_compare(a, b) == 0;
}

/* Compares two values, or opens them to be compared part by part. False: it ends here. */
static bool compare_values(struct comparison *comparison, const char *ours, const char *theirs)
{
    if (is_number(*ours) && is_number(*theirs))
        return same_number(comparison, ours, theirs) || differ(comparison);
    if (*ours != *theirs) return differ(comparison);
    if (*ours == '{' || *ours == '[') return push(comparison, ours, theirs);
    if (*ours != '"') return true; /* the same literal */
    return same_string(comparison, ours, theirs) ||
           (comparison->equality != JSON_COMPARE_NO_MEMORY && differ(comparison));
}

/* The next elements of the list on top; *more is false behind the last. */
static bool next_elements(struct comparison *comparison, struct frame *frame, bool *more)
{
    const char *ours = frame->ours, *theirs = frame->theirs;
    *more = ours && theirs;
    if (ours || theirs) enter_index(comparison, frame->index++);
    if (!*more) return (!ours && !theirs) || differ(comparison);
    frame->ours = shape_next(comparison->ours, ours);
    frame->theirs = shape_next(comparison->theirs, theirs);
    return compare_values(comparison, ours, theirs);
}

static bool next_members(struct comparison *comparison, struct frame *frame, bool *more)
{
    *more = frame->index < frame->our_members.count;
    if (*more) {
        const struct member *ours = &frame->our_members.at[frame->index++];
        struct member *theirs = NULL;
        if (frame->their_members.count > 0)
            theirs =
                bsearch(ours, frame->their_members.at, frame->their_members.count, sizeof *theirs, by_key);
        enter(comparison, ours->key);
        if (!theirs) return differ(comparison);
        theirs->met = true;
        return compare_values(comparison, ours->value, theirs->value);
    }
    for (size_t i = 0; i < frame->their_members.count; i++) {
        if (frame->their_members.at[i].met) continue;
        back_to(comparison, frame->pointer_length);
        enter(comparison, frame->their_members.at[i].key);
        if (!differ(comparison)) return false;
    }
    return true;
}

enum json_equality json_compare(struct shape_reader *ours, struct shape_reader *theirs,
                                const char *const *free_pointers, char pointer[JSON_POINTER_SIZE])
{
    struct comparison *comparison = calloc(1, sizeof *comparison);
    if (!comparison) return JSON_COMPARE_NO_MEMORY;
    *comparison = (struct comparison){
        .ours = ours, .theirs = theirs, .free_pointers = free_pointers, .pointer = pointer};
    back_to(comparison, 0);
    bool goes_on = compare_values(comparison, shape_document(ours), shape_document(theirs));
    while (goes_on && comparison->depth > 0) {
        struct frame *frame = &comparison->frames[comparison->depth - 1];
        bool more;
        back_to(comparison, frame->pointer_length);
        goes_on =
            frame->list ? next_elements(comparison, frame, &more) : next_members(comparison, frame, &more);
        if (goes_on && !more) pop(comparison);
    }
    while (comparison->depth > 0)
        pop(comparison);
    enum json_equality equality = comparison->equality;
    free(comparison);
    return equality;
}
