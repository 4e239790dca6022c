/* libFuzzer: any bytes as a campaign's plan. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/campaign.h"
#include "tests/fuzz/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct cg_error error = {0};
    struct campaign campaign;
    fuzz_put("plan.json", bytes, length);
    int status = campaign_read(fuzz_path("plan.json"), &campaign, &error);
    if (status == CG_EXIT_DONE) {
        if (campaign.count <= 4 && campaign_reconcile(&campaign, &error) != CG_EXIT_DONE) abort();
        campaign_free(&campaign);
    } else if (status != CG_EXIT_INPUT || !error.message[0] || strchr(error.message, '\n')) {
        abort();
    }
    return 0;
}
