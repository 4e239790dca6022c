/* The decoder of records once more, for processors with AVX2 and BMI2: the Makefile lets the compiler use
 * them in this file alone, and decoder_init() asks the processor. */
#ifdef __x86_64__
#define decode_record_as decode_record_avx2
#include "analyzer/trace/members.c" /* NOLINT(bugprone-suspicious-include) */
#endif
