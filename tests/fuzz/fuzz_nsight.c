/* libFuzzer: a folder of Nsight reports: parts of the input, between bytes 0x1e, are its files in the order
 * of `names`. Whatever they hold, the evidence says what is wrong, and nothing fails. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/evidence/nsight.h"
#include "tests/fuzz/files.h"

static const char *const names[] = {"run_nvtx_gpu_proj_trace.csv",   "run_cuda_gpu_trace.csv",
                                    "run_cuda_gpu_kern_sum.csv",     "run_cuda_api_sum.csv",
                                    "run_cuda_gpu_mem_time_sum.csv", NSIGHT_MANIFEST};
enum { FILES = sizeof names / sizeof *names };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_parts parts = {bytes, bytes ? bytes + length : NULL};
    struct nsight_labels labels = {0};
    struct gpu_evidence gpu;
    struct cg_error error = {0};
    const uint8_t *part;
    size_t size;
    for (int i = 0; i < FILES; i++) {
        if (fuzz_part(&parts, &part, &size))
            fuzz_put(names[i], part, size);
        else
            unlink(fuzz_path(names[i]));
    }
    if (nsight_load(AT_FDCWD, fuzz_folder(), &labels, &gpu, &error) != CG_EXIT_DONE) abort();
    gpu_free(&gpu);
    return 0;
}
