#include "analyzer/trace/index_check.h"

/* No branch in the loops: what is wrong is collected. */

bool index_check_numbers(const uint32_t *values, size_t count, uint32_t plus, uint32_t least, uint32_t most)
{
    uint32_t wrong = 0;
    if (most < least) return count == 0;
    for (size_t i = 0; i < count; i++)
        wrong |= values[i] + plus - least > most - least;
    return !wrong;
}

bool index_check_bytes(const uint8_t *values, size_t count, uint8_t most)
{
    uint8_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= values[i] > most;
    return !wrong;
}

bool index_check_lists(const struct cg_list *lists, size_t count, size_t pool)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= (uint64_t)lists[i].first + lists[i].count > pool;
    return !wrong;
}

bool index_check_offsets(const uint64_t *offsets, size_t count, uint64_t end)
{
    uint64_t wrong = offsets[0] != 0 || offsets[count - 1] != end;
    for (size_t i = 1; i < count; i++)
        wrong |= offsets[i] < offsets[i - 1];
    return !wrong;
}
