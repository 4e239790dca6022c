/* A set of numbers; memory follows how many there are at once. */
#ifndef CGTRACE_ANALYZER_RECOVER_NUMBER_SET_H
#define CGTRACE_ANALYZER_RECOVER_NUMBER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_set {
    uint64_t *slots; /* number + 1; 0: empty */
    size_t size, count;
};

bool number_set_has(const struct number_set *set, uint64_t number);
/* False: it was there already, or memory is short (*no_memory is set then). */
bool number_set_add(struct number_set *set, uint64_t number, bool *no_memory);
/* False: it was not there. */
bool number_set_remove(struct number_set *set, uint64_t number);
void number_set_free(struct number_set *set);

#endif
