/* What the recorder says of the devices: meta's extra field `cuda`. */
#ifndef CGTRACE_ANALYZER_TRACE_DEVICES_H
#define CGTRACE_ANALYZER_TRACE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

/* One device, as records name it and as its driver does: "cuda:0", "NVIDIA H200". A simulated one says so in
 * its name, hence whatever shows its times shows the name. */
struct cg_device {
    char device[32];
    char name[256];
};
struct cg_devices {
    size_t count;
    struct cg_device items[64];
};

/* Reads meta.cuda.devices of a meta record that was accepted. *devices is NULL when it names none that has
 * the right form: an extra field is never a reason to reject. Freed with free(). False: out of memory. */
bool devices_read(const char *record, size_t length, struct cg_devices **devices);

#endif
