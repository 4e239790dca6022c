/* The program and its libraries as stacks need them: which module an address belongs to. A module is known by
 * its index, from 1, for as long as the process lives, also after it was unloaded. */
#ifndef CGTRACE_PRELOAD_RECORD_MODULES_H
#define CGTRACE_PRELOAD_RECORD_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/capture.h"

struct module {
    uintptr_t begin, end; /* what it has mapped */
    uintptr_t bias;       /* address in memory - address in the file */
    const char *path;     /* of path_length bytes, not ended */
    uint16_t path_length, id_length;
    bool internal;     /* this library, the CUDA runtime or the driver: left out at the top of a stack */
    _Atomic bool gone; /* unloaded: its addresses may be others' by now */
    _Atomic bool used; /* an address in it was asked for */
    uint8_t id[CAP_BUILD_ID_MAX];
};

/* Looks for modules that came or went since the last time; *used_gone: one has gone that was used. Takes the
 * loader's lock for a moment, never one of ours around it. False: it could not look now (objects.h). */
bool modules_refresh(bool *used_gone);
/* The module that holds the address, 0 when none does. Takes no lock. */
uint32_t modules_find(uintptr_t address);
const struct module *modules_at(uint32_t index);

#endif
