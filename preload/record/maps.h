/* What is mapped where, as the kernel tells it. Allocates nothing and takes no lock: also for handlers of
 * signals. */
#ifndef CGTRACE_PRELOAD_RECORD_MAPS_H
#define CGTRACE_PRELOAD_RECORD_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
    uintptr_t begin, end;
    uintptr_t before; /* end of the mapping below it; 0: there is none */
    const char *name; /* a path, "[stack]" and the like; in the buffer, of name_length bytes, not ended;
                         empty: none */
    size_t name_length;
};

/* The mapping that holds the address; false: none does, or /proc cannot be read. The buffer holds the longest
 * line that is looked at, of 100 bytes and the name. */
bool maps_find(uintptr_t address, char *buffer, size_t size, struct mapping *mapping);

#endif
