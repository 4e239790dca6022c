#include "analyzer/trace/meta_extras.h"

#include <jansson.h>
#include <string.h>

#include "analyzer/trace/devices.h"
#include "analyzer/trace/origin.h"

bool meta_extras_read(struct cg_trace *trace, const char *record, size_t length)
{
    static const char *const keys[] = {"\"cuda\"", "\"clock\"", "\"rank\""};
    bool any = false;

    /* Records without any of it may be long, and are not parsed again. */
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        any = any || memmem(record, length, keys[i], strlen(keys[i])) != NULL;
    if (!any || trace->devices || trace->clocks || trace->origin)
        return true; /* a second meta record is refused later */
    json_t *meta = json_loadb(record, length, 0, NULL);
    bool enough = devices_read(meta, &trace->devices, &trace->clocks) && origin_read(meta, &trace->origin);
    json_decref(meta);
    return enough;
}
