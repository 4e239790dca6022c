#include "common/dense.h"

#include <string.h>

#include "common/utf8.h"

unsigned dense_element_bytes(const char *dtype, size_t length)
{
    static const struct {
        char name[8];
        unsigned bytes;
    } sizes[] = {
        {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"u8", 1},  {"i8", 1},  {"bool", 1}, {"f8", 1},
        {"u16", 2}, {"i16", 2}, {"u32", 4},  {"i32", 4}, {"u64", 8}, {"i64", 8},  {"f64", 8},
    };
    char lower[8] = {0};
    utf8_trim(&dtype, &length);
    if (length >= sizeof lower) return 0;
    for (size_t i = 0; i < length; i++) {
        char c = dtype[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strlen(sizes[i].name) == length && memcmp(sizes[i].name, lower, length) == 0)
            return sizes[i].bytes;
    return 0;
}

bool dense_bytes(const uint64_t *shape, size_t dimensions, const char *dtype, size_t length, uint64_t *bytes)
{
    unsigned size = dense_element_bytes(dtype, length);
    uint64_t product = 1;
    bool zero = false, clamped = false;
    if (size == 0) return false;
    for (size_t i = 0; i < dimensions; i++) {
        zero = zero || shape[i] == 0;
        clamped = clamped || __builtin_mul_overflow(product, shape[i], &product);
    }
    clamped = clamped || __builtin_mul_overflow(product, (uint64_t)size, &product);
    *bytes = zero ? 0 : clamped ? UINT64_MAX : product;
    return true;
}
