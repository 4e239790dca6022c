/* libFuzzer: any bytes as the evidence packet of a bundle: read, or refused in one line with status 3. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/evidence.h"
#include "tests/fuzz/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct cg_error error = {0};
    struct evidence evidence;
    char *copy = calloc(1, length + EVIDENCE_PADDING);
    if (!copy) abort();
    memcpy(copy, bytes, length);
    int status = evidence_read("fuzz", copy, length, &evidence, &error);
    if (status == CG_EXIT_DONE)
        evidence_free(&evidence);
    else if (status != CG_EXIT_INPUT || strncmp(error.message, "fuzz", 4) != 0 || strchr(error.message, '\n'))
        abort();
    free(copy);
    return 0;
}
