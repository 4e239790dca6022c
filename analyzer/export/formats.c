#include "analyzer/export/export.h"

#define FORMAT(name) &export_##name,
const struct export_format *const export_formats[] = {
#include "analyzer/export/formats.def"
};
#undef FORMAT
const size_t export_format_count = sizeof export_formats / sizeof *export_formats;

#define EXPORT_WEIGHT_NAME(constant, word, meaning)    word,
#define EXPORT_WEIGHT_MEANING(constant, word, meaning) meaning,
const char *const export_weight_names[EXPORT_WEIGHT_COUNT] = {EXPORT_WEIGHTS(EXPORT_WEIGHT_NAME)};
const char *const export_weight_meanings[EXPORT_WEIGHT_COUNT] = {EXPORT_WEIGHTS(EXPORT_WEIGHT_MEANING)};
