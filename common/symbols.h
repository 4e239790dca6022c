/* Names of functions from the symbol tables of ELF files: for the frames of stacks. Files are read, never
 * mapped, so that one that is cut short or replaced meanwhile does no harm; no malloc. Not for two threads at
 * once. */
#ifndef CGTRACE_COMMON_SYMBOLS_H
#define CGTRACE_COMMON_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/capture.h"

#define SYMBOL_MAX 1023u /* a longer name is not given */

struct symbol_table; /* of one file */
struct symbols {
    struct symbol_table *tables[CAP_MODULES_MAX]; /* by index of the module; zeros to begin with */
};

/* The name of the function that holds the instruction before this return address (of the file's addresses),
 * as it is linked: its length at name, ended by NUL; 0 when the file, which must have the module's build-id,
 * does not tell. From the whole symbol table where the file has it, else from the dynamic one. */
size_t symbols_find(struct symbols *symbols, uint32_t index, const struct cap_module *module,
                    uint64_t return_offset, char name[SYMBOL_MAX + 1]);
/* Gives back what was read; symbols itself is the caller's. */
void symbols_free(struct symbols *symbols);

/* The build-id in the notes at these bytes: a pointer into them and its length; NULL: there is none. */
const unsigned char *build_id_in_notes(const unsigned char *notes, size_t size, size_t *length);

#endif
