/* usage: kept NAMES
 * Calls of each kind, all on a thread whose cancellation is pending from its start on: none of them is a
 * point where that would happen, and none changes errno. Prints those that did, or that it came through.
 * NAMES: how many names, each new, ranges and spans have. */
#include <cuda.h>
#include <errno.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/cgtrace.h"

enum { MARK = 1234, STORAGES = 300 };

static CUcontext context;
static int names;
static bool through;
static const char *changed[64]; /* the calls that changed errno, each once */
static int changed_count;

static void look(const char *call)
{
    bool known = errno == MARK;

    for (int i = 0; i < changed_count; i++)
        known |= strcmp(changed[i], call) == 0;
    if (!known) changed[changed_count++] = call;
    errno = MARK;
}
#define KEPT(call) ((void)(call), look(#call))

/* Of a length that a few thousand fill pages of the capture file with. */
static const char *new_name(char name[128], const char *kind, int i)
{
    snprintf(name, 128, "%s %d, and more so that it is long: %064d", kind, i, i);
    errno = MARK;
    return name;
}

static void name_things(int i)
{
    nvtxRangeId_t range;
    cgtrace_span span;
    char name[128];

    KEPT(nvtxRangePushA(new_name(name, "push", i)));
    KEPT(nvtxRangePop());
    KEPT(range = nvtxRangeStartA(new_name(name, "start", i)));
    KEPT(nvtxRangeEnd(range));
    KEPT(nvtxMarkA(new_name(name, "mark", i)));
    KEPT(span = cgtrace_span_begin(new_name(name, "span", i)));
    KEPT(cgtrace_span_end(span));
    KEPT(cgtrace_scalar(new_name(name, "scalar", i), 1));
}

static void use_memory(int i)
{
    const struct cgtrace_storage_info storage = {
        .storage = 1 + (uint64_t)i, .tensor = 1 + (uint64_t)i, .bytes = 64};
    const struct cgtrace_tensor_info tensor = {.tensor = 1 + (uint64_t)i, .bytes = 64};
    CUdeviceptr pointer;

    KEPT(cuMemAlloc(&pointer, 64));
    KEPT(cuMemsetD8(pointer, 0, 64));
    KEPT(cuMemFree(pointer));
    KEPT(cuMemAlloc(&pointer, 64)); /* and left */
    KEPT(cgtrace_alloc(&storage));
    KEPT(cgtrace_tensor(&tensor));
    KEPT(cgtrace_data_edge(1, 1 + (uint64_t)i));
}

static void declare(void)
{
    const struct cgtrace_identity_info identity = {.workload_id = "w",
                                                   .model_id = "m",
                                                   .config_id = "c",
                                                   .data_id = "d",
                                                   .seed_policy = "s",
                                                   .physical_batch = 1,
                                                   .accumulation_steps = 1,
                                                   .precision = "p",
                                                   .device_state = "d"};
    uint64_t now;

    KEPT(cgtrace_tag("key", "value"));
    KEPT(cgtrace_identity(&identity));
    KEPT(cgtrace_identity(NULL));
    KEPT(cgtrace_now(&now));
    KEPT(cgtrace_flush());
}

static __attribute__((noinline)) void call_all(void)
{
    errno = MARK;
    KEPT(cuCtxSetCurrent(context));
    declare();
    for (int i = 0; i < names; i++)
        name_things(i);
    for (int i = 0; i < STORAGES; i++)
        use_memory(i);
    KEPT(cgtrace_flush());
    through = true;
}

/* Not a sanitizer's: what it has marked of a frame stays marked when the thread is cancelled in there. */
static __attribute__((no_sanitize("address"))) void *work(void *nothing)
{
    pthread_cancel(pthread_self());
    call_all();
    pthread_testcancel();
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    CUdevice device;
    void *result;

    names = argc > 1 ? atoi(argv[1]) : 0;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device)) return 1;
    if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, &result)) return 1;
    printf("%s, %s\n", through ? "came through" : "cancelled on its way",
           result == PTHREAD_CANCELED ? "then cancelled" : "not cancelled");
    for (int i = 0; i < changed_count; i++)
        printf("errno is another after %s\n", changed[i]);
    return 0;
}
