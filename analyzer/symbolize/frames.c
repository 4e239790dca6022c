#include "analyzer/symbolize/frames.h"

#include "common/json_scan.h"

/* The value of a member of the object at `at`; NULL: it has none, or it is no object. */
static const char *member(struct json_scan *scan, const char *at, const char *wanted)
{
    const char *bytes, *value = NULL;
    size_t length;

    if (!at || *at != '{') return NULL;
    at = json_space(at + 1);
    while (*at == '"') {
        if ((at = json_string(scan, at, &bytes, &length)) == NULL) return NULL;
        bool same = length == strlen(wanted) && memcmp(bytes, wanted, length) == 0;
        at = json_space(at);
        if (*at != ':') return NULL;
        at = json_space(at + 1);
        if (same) value = at; /* of several the last one counts, as in the trace's reader */
        if ((at = json_skip_value(scan, at, 2)) == NULL) return NULL;
        at = json_space(at);
        if (*at != ',') break;
        at = json_space(at + 1);
    }
    return value;
}

bool frames_in(const char *line, const char **begin, const char **end)
{
    struct json_scan scan = {.fault = NULL};

    *begin = member(&scan, member(&scan, json_space(line), "stack"), "frames");
    *end = *begin ? json_skip_value(&scan, *begin, 2) : NULL;
    json_scan_free(&scan);
    return *end != NULL;
}
