/* What the recorder says of the devices: meta's extra fields `cuda` and `clock`. */
#ifndef CGTRACE_ANALYZER_TRACE_DEVICES_H
#define CGTRACE_ANALYZER_TRACE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A moment on a device's clock and on the host's, and how far the two may lie apart. */
struct cg_clock_anchor {
    uint64_t device_ns, host_ns, uncertainty_ns;
};
/* Where the clock of device intervals with this clock_id stands: 1 or 2 anchors, ascending on both clocks. */
struct cg_device_clock {
    char clock_id[64];
    size_t count;
    struct cg_clock_anchor anchors[2];
};
enum { CG_DEVICE_CLOCKS_MAX = 256 }; /* what is beyond is not taken */
struct cg_device_clocks {
    size_t count;
    struct cg_device_clock items[];
};

struct json_t; /* a parsed document of jansson */
/* Reads meta.cuda.devices and meta.clock.devices of a meta record that was accepted. *devices and *clocks are
 * NULL when they name none that has the right form: an extra field is never a reason to reject. Freed with
 * free(). False: out of memory. */
bool devices_read(const struct json_t *meta, struct cg_devices **devices, struct cg_device_clocks **clocks);

#endif
