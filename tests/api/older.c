/* Stands in for a library that is older than the header: its table ends behind cgtrace_span_end. What it
 * lacks does nothing; what it has is called. */
#include "preload/cgtrace.h"

static const char *version(void)
{
    return "older";
}
static int recording(void)
{
    return 1;
}
static cgtrace_span begin(const char *name)
{
    return name ? 7 : CGTRACE_E_NULL;
}
static cgtrace_span begin_as(const char *name, enum cgtrace_kind kind, enum cgtrace_step step)
{
    (void)kind, (void)step;
    return begin(name);
}
static int end(cgtrace_span span)
{
    return span == 7 ? CGTRACE_OK : CGTRACE_E_NOT_OPEN;
}

/* As large as that library's table was: nothing behind it may be read. */
struct older {
    size_t size;
    const char *(*version)(void);
    int (*recording)(void);
    cgtrace_span (*begin)(const char *);
    cgtrace_span (*begin_as)(const char *, enum cgtrace_kind, enum cgtrace_step);
    cgtrace_span (*measured)(const char *);
    int (*end)(cgtrace_span);
};
__attribute__((visibility("default"))) extern const struct older cgtrace_api_1;
const struct older cgtrace_api_1 = {sizeof(struct older), version, recording, begin, begin_as, begin, end};
