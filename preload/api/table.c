/* The table of functions that programs find by its name (cgtrace.h). New functions stand behind the others,
 * so a program built with an older header finds those that it knows where it expects them. */
#include "preload/api/api.h"

#define API_ENTRY(name, type, absent, parameters, table_parameters, arguments, summary, text)                \
    .name = api_##name,
__attribute__((visibility("default"))) extern const struct cgtrace_api cgtrace_api_1;
const struct cgtrace_api cgtrace_api_1 = {.size = sizeof cgtrace_api_1, CGTRACE_FUNCTIONS(API_ENTRY)};

const char *api_cgtrace_version(void)
{
    return CGT_VERSION;
}
