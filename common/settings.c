#include "common/settings.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

/* Copies, because a program may write over its environment (titles of processes do). */
static char kept[16 * 1024];
static size_t kept_used;

static const char *keep(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = kept + kept_used;

    if (size > sizeof kept - kept_used) return NULL;
    memcpy(copy, text, size);
    kept_used += size;
    return copy;
}

/* The number at text; *end behind it. False: no digits, or over limit. */
static bool parse_number(const char *text, uint64_t limit, uint64_t *number, const char **end)
{
    uint64_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > limit) return false;
    }
    *number = value;
    *end = at;
    return at > text;
}

static bool parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    const char *end, *unit;

    if (!parse_number(text, UINT64_C(1) << 40, bytes, &end)) return false;
    if (*end && (unit = strchr(units, *end & ~0x20)) != NULL && *unit) {
        *bytes <<= 10 * (unit - units + 1);
        end++;
    }
    return *end == '\0' && *bytes >= 64u << 10 && *bytes <= 256u << 20;
}

/* allowed: "LEAST to GREATEST", and more. */
static bool parse_range(const char *text, const char *allowed, uint64_t *number)
{
    uint64_t least, greatest;
    const char *end;

    return parse_number(allowed, UINT64_MAX / 16, &least, &end) &&
           parse_number(end + strlen(" to "), UINT64_MAX / 16, &greatest, &end) &&
           parse_number(text, greatest, number, &end) && !*end && *number >= least;
}

/* Index of a word of length bytes in a list separated by '|'; -1: not there. */
static int word_index(const char *list, const char *word, size_t length)
{
    for (int index = 0; *list; index++) {
        size_t here = strcspn(list, "|");
        if (here == length && memcmp(list, word, length) == 0) return index;
        list += here + (list[here] == '|');
    }
    return -1;
}

void settings_option(const char *variable, char *name, size_t size)
{
    const char *from = variable + sizeof "CGTRACE_" - 1;
    size_t i = 0;

    for (; from[i] && i + 1 < size; i++)
        name[i] = from[i] == '_' ? '-' : (char)(from[i] | 0x20); /* upper-case letters and digits */
    name[i] = '\0';
}

size_t settings_word(const char *list, unsigned index, const char **word)
{
    for (; index > 0; index--)
        list += strcspn(list, "|") + 1;
    *word = list;
    return strcspn(list, "|");
}

static bool parse_words(const char *text, const char *list, unsigned *bits)
{
    *bits = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        int index = word_index(list, text, length);
        if (index < 0) return false;
        *bits |= 1u << index;
        if (!text[length]) return true;
        text += length + 1;
    }
}

/* The first part of a list such as 0,2,4-7: first to last; *text behind it and its comma. */
static bool parse_part(const char **text, uint64_t *first, uint64_t *last)
{
    const char *at = *text;

    if (!parse_number(at, INT32_MAX, first, &at)) return false;
    *last = *first;
    if (*at == '-' && !parse_number(at + 1, INT32_MAX, last, &at)) return false;
    if (*last < *first || (*at && *at != ',')) return false;
    if (*at == ',' && !*++at) return false;
    *text = at;
    return true;
}

/* Walks a list of numbers from least on; *has tells whether number is in it. */
static bool parse_list(const char *text, uint64_t least, uint64_t number, bool *has)
{
    uint64_t first, last;

    *has = false;
    while (*text) {
        if (!parse_part(&text, &first, &last) || first < least) return false;
        if (number >= first && number <= last) *has = true;
    }
    return true;
}

/* Each part has a key and an equals sign behind it. */
static bool is_pairs(const char *text)
{
    if (!*text) return true;
    for (;;) {
        size_t key = strcspn(text, "=,");
        if (key == 0 || text[key] != '=') return false;
        text += strcspn(text, ",");
        if (!*text++) return true;
    }
}

static bool parse_setting(enum cg_setting_type type, const char *text, const char *allowed, void *value)
{
    bool has;
    int index;

    switch (type) {
    case CG_TYPE_RANKS:
    case CG_TYPE_NUMBERS:
        if (!parse_list(text, type == CG_TYPE_NUMBERS, 0, &has)) return false;
        /* fall through */
    case CG_TYPE_PAIRS:
        if (type == CG_TYPE_PAIRS && !is_pairs(text)) return false;
        /* fall through */
    case CG_TYPE_TEXT:
    case CG_TYPE_PATH:
    case CG_TYPE_FOLDER:
    case CG_TYPE_FILE:
        *(const char **)value = keep(text);
        return *(const char **)value != NULL;
    case CG_TYPE_CHOICE:
        index = word_index(allowed, text, strlen(text));
        *(unsigned *)value = (unsigned)index;
        return index >= 0;
    case CG_TYPE_WORDS:
        return parse_words(text, allowed, value);
    case CG_TYPE_FLAG:
        *(bool *)value = text[0] == '1';
        return (text[0] == '0' || text[0] == '1') && !text[1];
    case CG_TYPE_BYTES:
        return parse_bytes(text, value);
    case CG_TYPE_NUMBER:
        return parse_range(text, allowed, value);
    }
    return false;
}

static void append(char **at, const char *end, const char *text, size_t limit)
{
    size_t room = (size_t)(end - *at);
    *at += utf8_shown(*at, (limit < room ? limit : room) + 1, text, strlen(text));
}

static void complain(const char *name, const char *text, const char *allowed, char *error,
                     unsigned error_size)
{
    const char *end = error + error_size - 1;

    append(&error, end, name, SIZE_MAX);
    append(&error, end, ": ", 2);
    append(&error, end, text, 120);
    append(&error, end, " is not allowed; allowed: ", SIZE_MAX);
    append(&error, end, allowed, SIZE_MAX);
}

bool settings_read(struct settings *settings, char *error, unsigned error_size)
{
    const char *text;

#define SETTING(member, name, type, initial, allowed, meaning)                                               \
    text = getenv(name);                                                                                     \
    if (!text || !*text) text = initial;                                                                     \
    if (!parse_setting(CG_TYPE_##type, text, allowed, &settings->member)) {                                  \
        complain(name, text, allowed, error, error_size);                                                    \
        return false;                                                                                        \
    }
    CG_SETTINGS(SETTING)
#undef SETTING
    if (*settings->entrypoint && !settings->entrypoint[strspn(settings->entrypoint, " \t\n\v\f\r")]) {
        complain("CGTRACE_ENTRYPOINT", settings->entrypoint, "text that is not blank", error, error_size);
        return false;
    }
    if (*settings->step && !*settings->range) {
        complain("CGTRACE_STEP", settings->step, "only with CGTRACE_RANGE, whose occurrences it selects",
                 error, error_size);
        return false;
    }
    return true;
}

bool settings_has_rank(const char *ranks, uint32_t rank)
{
    bool has;

    return !*ranks || (parse_list(ranks, 0, rank, &has) && has);
}

bool settings_has_number(const char *numbers, uint64_t number)
{
    bool has;

    return parse_list(numbers, 1, number, &has) && has;
}

uint64_t settings_count_numbers(const char *numbers)
{
    uint64_t first, last, count = 0, covered = 0;
    bool more;

    /* The parts in order of their beginnings: at each step what begins first behind the covered numbers. */
    do {
        uint64_t next_first = UINT64_MAX, next_last = 0;
        const char *text = numbers;

        while (*text && parse_part(&text, &first, &last)) {
            if (last <= covered) continue;
            if (first <= covered) first = covered + 1;
            if (first < next_first || (first == next_first && last > next_last)) {
                next_first = first;
                next_last = last;
            }
        }
        more = next_last > 0;
        if (more) count += next_last - next_first + 1;
        if (more) covered = next_last;
    } while (more);
    return count;
}

int32_t settings_rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]), *end;
        uint64_t rank;

        if (text && parse_number(text, INT32_MAX, &rank, &end) && !*end) return (int32_t)rank;
    }
    return -1;
}
