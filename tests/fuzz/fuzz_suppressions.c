/* libFuzzer: a file of suppressions, and behind a byte 0x1e names that they are compared with, one a line. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/suppressions.h"
#include "tests/fuzz/files.h"

enum { NAMES_MAX = 16 };

static void find(struct suppressions *suppressions, const uint8_t *bytes, size_t length)
{
    const char *names[NAMES_MAX];
    char *text = strndup((const char *)bytes, length), *rest = text;
    size_t count = 0;
    if (!text) abort();
    while (count < NAMES_MAX && (names[count] = strsep(&rest, "\n")))
        count++;
    const struct suppression *found = suppressions_find(suppressions, names, count);
    if (found && (found < suppressions->patterns || found >= suppressions->patterns + suppressions->count))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_parts parts = {bytes, bytes ? bytes + length : NULL};
    struct suppressions suppressions = {0};
    struct cg_error error = {0};
    const uint8_t *part;
    size_t size;
    if (!fuzz_part(&parts, &part, &size)) return 0;
    fuzz_put("suppressions", part, size);
    int status = suppressions_read(fuzz_path("suppressions"), &suppressions, &error);
    if (status == CG_EXIT_DONE) {
        if (fuzz_part(&parts, &part, &size)) find(&suppressions, part, size);
    } else if (status != CG_EXIT_INPUT || !error.message[0] || strchr(error.message, '\n')) {
        abort();
    }
    suppressions_free(&suppressions);
    return 0;
}
