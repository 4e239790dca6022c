#include "analyzer/trace/origin.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool read_count(const json_t *object, const char *key, int64_t *number)
{
    const json_t *value = json_object_get(object, key);

    *number = json_integer_value(value);
    return json_is_integer(value) && *number >= 0;
}

static bool read_clock(const json_t *object, const char *key, int64_t *ns)
{
    return read_count(object, key, ns) && *ns <= CG_CLOCK_LIMIT;
}

/* As the recorder writes it: ns = ticks * mult >> shift. */
static bool ticks_to_ns(uint64_t ticks, uint64_t mult, unsigned shift, uint64_t *ns)
{
    unsigned __int128 wide = (unsigned __int128)ticks * mult >> shift;

    *ns = (uint64_t)wide;
    return wide <= CG_CLOCK_LIMIT;
}

/* Ticks count from tick0, which is time 0. */
static bool read_anchor(const json_t *clock, const char *key, int64_t *tick0, struct cg_host_anchor *anchor)
{
    const json_t *object = json_object_get(clock, key);
    int64_t tick, spread, mult, shift;

    if (!read_count(object, "tick", &tick) || !read_count(object, "spread_ticks", &spread) ||
        !read_clock(object, "monotonic_ns", &anchor->monotonic_ns) ||
        !read_clock(object, "realtime_ns", &anchor->realtime_ns) || !read_count(clock, "mult", &mult) ||
        !read_count(clock, "shift", &shift) || shift > 63)
        return false;
    if (*tick0 < 0) *tick0 = tick;
    return tick >= *tick0 &&
           ticks_to_ns((uint64_t)(tick - *tick0), (uint64_t)mult, (unsigned)shift, &anchor->trace_ns) &&
           ticks_to_ns((uint64_t)spread, (uint64_t)mult, (unsigned)shift, &anchor->spread_ns);
}

bool origin_read(const json_t *meta, struct cg_origin **origin)
{
    const char *host = json_string_value(json_object_get(meta, "host"));
    const json_t *clock = json_object_get(meta, "clock");
    int64_t tick0 = -1;
    struct cg_origin *made = calloc(1, sizeof *made);

    *origin = NULL;
    if (!made) return false;
    if (host && strlen(host) < sizeof made->host) strcpy(made->host, host);
    made->pid_known = read_count(meta, "pid", &made->pid);
    made->rank_known = read_count(meta, "rank", &made->rank);
    made->clock_known = read_anchor(clock, "first", &tick0, &made->first);
    if (made->clock_known && !read_anchor(clock, "last", &tick0, &made->last)) made->last = made->first;
    if (made->host[0] || made->pid_known || made->rank_known || made->clock_known)
        *origin = made;
    else
        free(made);
    return true;
}
