/* A mutator of JSON lines: lines and values change places, so that more of what comes out is still a trace.
 */
#ifndef CGTRACE_TESTS_FUZZ_MUTATE_H
#define CGTRACE_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Both are libFuzzer's: the first is called by it, the second is its own way of changing bytes. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t length, size_t room);

#endif
