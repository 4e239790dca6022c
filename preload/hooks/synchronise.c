/* Waiting for the device at the ends of a region: in every context that the program has used. */
#include <errno.h>

#include "preload/hooks/ask.h"
#include "preload/hooks/state.h"

enum { CONTEXTS = 256 };

/* A context that was destroyed unseen cannot be made current, and has nothing left to do. What the device
 * reports here it reports to the program's next call too. */
static bool synchronise_context(CUcontext context)
{
    CUcontext popped;
    CUresult result = ASK(cuCtxPushCurrent_v2, context);
    if (result != CUDA_SUCCESS) return result != CUDA_ERROR_NOT_PERMITTED;
    bool done = ASK(cuCtxSynchronize) == CUDA_SUCCESS;
    if (done)
        device_synchronized(&(struct device_stream){
            .slot = (uint8_t)(handle_get(&handle_contexts, (uintptr_t)context) >> 16)});
    ASK(cuCtxPopCurrent_v2, &popped);
    return done;
}

/* The driver's thread that calls the program's host functions has no context. There, waiting for the device
 * would be waiting for oneself. */
static bool may_wait(void)
{
    CUcontext current = NULL;
    return ASK(cuCtxGetCurrent, &current) == CUDA_SUCCESS && current;
}

/* While a stream is captured, waiting would be forbidden, and end the capture. */
static bool synchronise(void)
{
    uint64_t contexts[CONTEXTS];
    int kept = errno;
    unsigned count = handle_list(&handle_contexts, contexts, CONTEXTS);
    bool done = count < CONTEXTS && atomic_load_explicit(&hook_captures, memory_order_relaxed) <= 0;
    if (count > 0) done = done && may_wait();
    for (unsigned i = 0; done && i < count; i++)
        done = synchronise_context((CUcontext)(uintptr_t)contexts[i]);
    errno = kept;
    return done;
}

__attribute__((constructor)) static void give(void)
{
    record_synchronise = synchronise;
}
