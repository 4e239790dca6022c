/* libFuzzer: any bytes as bundle.json of a folder that holds a report: refused, since nothing is as a
 * manifest of such bytes declares it; never taken for a whole bundle unless it declares just that. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/bundle.h"
#include "tests/fuzz/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct cg_error error = {0};
    struct bundle bundle;
    static bool there;
    if (!there) fuzz_put("report.md", "report\n", 7);
    there = true;
    fuzz_put("bundle.json", bytes, length);
    int status = bundle_verify(fuzz_folder(), length % 2 == 1, &bundle, &error);
    if (status == CG_EXIT_DONE)
        bundle_close(&bundle);
    else if (status != CG_EXIT_CONDITION || !error.message[0] || strchr(error.message, '\n'))
        abort();
    return 0;
}
