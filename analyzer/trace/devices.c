#include "analyzer/trace/devices.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Copies a text that fits. */
static bool copy(char *to, size_t size, const char *text)
{
    size_t length = text ? strlen(text) : 0;

    if (length == 0 || length >= size) return false;
    memcpy(to, text, length + 1);
    return true;
}

static const char *member_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool read_names(const json_t *meta, struct cg_devices **devices)
{
    const json_t *list = json_object_get(json_object_get(meta, "cuda"), "devices"), *item;
    struct cg_devices *found = NULL;
    size_t index;

    json_array_foreach(list, index, item)
    {
        if (!found && !(found = calloc(1, sizeof *found))) return false;
        struct cg_device *to = &found->items[found->count];
        if (copy(to->device, sizeof to->device, member_text(item, "device")) &&
            copy(to->name, sizeof to->name, member_text(item, "name")))
            found->count++;
        if (found->count == sizeof found->items / sizeof *found->items) break;
    }
    if (found && found->count == 0) {
        free(found);
        found = NULL;
    }
    *devices = found;
    return true;
}

static bool read_time(const json_t *anchor, const char *key, uint64_t *ns)
{
    const json_t *value = json_object_get(anchor, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *ns = (uint64_t)json_integer_value(value);
    return true;
}

/* Anchors that do not ascend say nothing together: the first counts alone. */
static bool read_anchors(const json_t *list, struct cg_device_clock *clock)
{
    clock->count = 0;
    for (size_t i = 0; i < 2 && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct cg_clock_anchor anchor, before = clock->anchors[0];
        if (!read_time(item, "device_ns", &anchor.device_ns) ||
            !read_time(item, "host_ns", &anchor.host_ns) ||
            !read_time(item, "uncertainty_ns", &anchor.uncertainty_ns) ||
            (clock->count > 0 && (anchor.device_ns <= before.device_ns || anchor.host_ns <= before.host_ns)))
            break;
        clock->anchors[clock->count++] = anchor;
    }
    return clock->count > 0;
}

static bool read_clocks(const json_t *meta, struct cg_device_clocks **clocks)
{
    json_t *object = json_object_get(json_object_get(meta, "clock"), "devices"), *list;
    size_t room = json_object_size(object);
    struct cg_device_clocks *found;
    const char *id;

    if (room == 0) return true;
    if (room > CG_DEVICE_CLOCKS_MAX) room = CG_DEVICE_CLOCKS_MAX;
    found = calloc(1, sizeof *found + room * sizeof *found->items);
    if (!found) return false;
    json_object_foreach(object, id, list)
    {
        struct cg_device_clock *to = &found->items[found->count];
        if (found->count == room) break;
        found->count += copy(to->clock_id, sizeof to->clock_id, id) && read_anchors(list, to);
    }
    if (found->count == 0) {
        free(found);
        found = NULL;
    }
    *clocks = found;
    return true;
}

bool devices_read(const json_t *meta, struct cg_devices **devices, struct cg_device_clocks **clocks)
{
    *devices = NULL;
    *clocks = NULL;
    return read_names(meta, devices) && read_clocks(meta, clocks);
}
