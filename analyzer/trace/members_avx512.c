/* The decoder of records once more, for processors with AVX-512, as members_avx2.c for those with AVX2. */
#ifdef __x86_64__
#define decode_record_as decode_record_avx512
#include "analyzer/trace/members.c" /* NOLINT(bugprone-suspicious-include) */
#endif
