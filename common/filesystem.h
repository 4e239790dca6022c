/* What a file system can be trusted with. */
#ifndef CGTRACE_COMMON_FILESYSTEM_H
#define CGTRACE_COMMON_FILESYSTEM_H

#include <stdbool.h>

/* Whether a shared mapping of a file there is the file at once and for everybody, and space that was taken is
 * kept: not so over a network or in user space. path: a file or folder that exists; false when it cannot be
 * asked. */
bool filesystem_maps_safely(const char *path);

#endif
