/* The recorder's settings: the environment, read once. */
#ifndef CGTRACE_COMMON_SETTINGS_H
#define CGTRACE_COMMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/settings_table.h"

struct settings {
#define SETTING_TEXT                                           const char *
#define SETTING_PATH                                           const char *
#define SETTING_FOLDER                                         const char *
#define SETTING_PAIRS                                          const char *
#define SETTING_FILE                                           const char *
#define SETTING_RANKS                                          const char *
#define SETTING_NUMBERS                                        const char *
#define SETTING_CHOICE                                         unsigned
#define SETTING_WORDS                                          unsigned
#define SETTING_FLAG                                           bool
#define SETTING_BYTES                                          uint64_t
#define SETTING_NUMBER                                         uint64_t
#define SETTING(member, name, type, initial, allowed, meaning) SETTING_##type member;
    CG_SETTINGS(SETTING)
#undef SETTING
};

/* Reads the environment. On a value that is not allowed: false, and one line that names the variable, the
 * value and what is allowed in error. */
bool settings_read(struct settings *settings, char *error, unsigned error_size);

/* The launcher's option for a variable, without its dashes: ring-bytes for CGTRACE_RING_BYTES. Cut to size
 * with its NUL. */
void settings_option(const char *variable, char *name, size_t size);

/* Word number index of a CHOICE's "what is allowed", not ended: returns its length. */
size_t settings_word(const char *list, unsigned index, const char **word);

/* Whether this rank is in a list such as "0,2,4-7"; an empty list holds all. */
bool settings_has_rank(const char *ranks, uint32_t rank);

/* The same for a list of NUMBERS; an empty one holds none. How many it holds, none counted twice. */
bool settings_has_number(const char *numbers, uint64_t number);
uint64_t settings_count_numbers(const char *numbers);

/* The rank that a launcher gave this process: RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID or PMI_RANK; -1: none.
 */
int32_t settings_rank(void);

#endif
