#include "analyzer/trace/devices.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Copies a member that is a text which fits. */
static bool copy(char *to, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    size_t length = text ? strlen(text) : 0;

    if (length == 0 || length >= size) return false;
    memcpy(to, text, length + 1);
    return true;
}

bool devices_read(const char *record, size_t length, struct cg_devices **devices)
{
    static const char key[] = "\"cuda\"";
    struct cg_devices *found = NULL;
    json_t *meta, *list, *item;
    size_t index;
    bool ok = true;

    *devices = NULL;
    if (!memmem(record, length, key, sizeof key - 1)) return true;
    meta = json_loadb(record, length, 0, NULL);
    list = json_object_get(json_object_get(meta, "cuda"), "devices");
    json_array_foreach(list, index, item)
    {
        if (!found && !(found = calloc(1, sizeof *found))) {
            ok = false;
            break;
        }
        struct cg_device *to = &found->items[found->count];
        if (copy(to->device, sizeof to->device, item, "device") &&
            copy(to->name, sizeof to->name, item, "name"))
            found->count++;
        if (found->count == sizeof found->items / sizeof *found->items) break;
    }
    json_decref(meta);
    if (found && found->count == 0) {
        free(found);
        found = NULL;
    }
    *devices = found;
    return ok;
}
