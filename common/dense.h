/* Dense footprints (doc/spec/trace.md 8). */
#ifndef CGTRACE_COMMON_DENSE_H
#define CGTRACE_COMMON_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one element of a dtype, 0 when it is unknown. */
unsigned dense_element_bytes(const char *dtype, size_t length);

/* Elements of a shape times their size, clamped to 2^64-1; false when the dtype is unknown. */
bool dense_bytes(const uint64_t *shape, size_t dimensions, const char *dtype, size_t length, uint64_t *bytes);

#endif
