/* The readers of the kinds of module images, and what they fill in. */
#ifndef CGTRACE_TESTS_SIM_IMAGE_H
#define CGTRACE_TESTS_SIM_IMAGE_H

#include "tests/sim/internal.h"

#define SIM_FATBIN_WRAPPER 0x466243b1u /* FATBINC_MAGIC of fatbinary_section.h */
#define SIM_FATBIN         0xba55ed50u

/* The entry of that name, made if it is new. Invalid after the next call. */
struct sim_entry *sim_image_entry(struct sim_image *image, const char *name, size_t length);
void sim_image_param(struct sim_entry *entry, size_t index, size_t offset, size_t bytes);
void sim_image_variable(struct sim_image *image, const char *name, size_t length, size_t bytes, bool managed);

CUresult sim_image_ptx(const char *text, size_t length, struct sim_image *image);
CUresult sim_image_cubin(const uint8_t *data, size_t bytes, struct sim_image *image);
CUresult sim_image_fatbin(const uint8_t *data, struct sim_image *image);

#endif
