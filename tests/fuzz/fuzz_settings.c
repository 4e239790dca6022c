/* libFuzzer: values of the environment: lines NAME=VALUE without "CGTRACE_". Taken, or refused in one line
 * that names the variable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/settings.h"
#include "tests/fuzz/files.h"

static void set(char *line)
{
    char name[64], *value = strchr(line, '=');
    if (!value || value == line || value - line > 40) return;
    *value++ = '\0';
    snprintf(name, sizeof name, "CGTRACE_%s", line);
    setenv(name, value, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct settings settings;
    char error[512] = "", *text = calloc(1, length + 1), *rest = text, *line;
    if (!text) abort();
    if (length) memcpy(text, bytes, length);
    clearenv();
    while ((line = strsep(&rest, "\n")))
        set(line);
    if (!settings_read(&settings, error, sizeof error)) {
        if (!strstr(error, "CGTRACE_") || !memchr(error, '\0', sizeof error)) abort();
    } else {
        settings_has_rank(settings.ranks, 3);
        settings_has_number(settings.step, 7);
        settings_count_numbers(settings.step);
    }
    settings_rank();
    free(text);
    return 0;
}
