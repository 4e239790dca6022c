/* usage: floats nearest|up|flush|traps
 * A program that has chosen its own kind of floating-point arithmetic gives numbers to record, and has work
 * timed. Prints the exceptions that it sees raised. */
#include <cuda.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "preload/cgtrace.h"

static void choose(const char *how)
{
    if (!strcmp(how, "up")) fesetround(FE_UPWARD);
#ifdef __x86_64__
    if (!strcmp(how, "flush")) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* FTZ and DAZ */
#endif
    if (!strcmp(how, "traps")) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
}

static void give(const char *label, size_t count, const uint32_t *bits)
{
    const uint64_t shape = count;
    float values[8];

    memcpy(values, bits, count * sizeof *values);
    printf("%s: %d\n", label, cgtrace_tensor_values(label, &shape, 1, values));
}

static void mark(const char *name, uint32_t bits)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    memcpy(&event.payload.fValue, &bits, sizeof bits);
    nvtxMarkEx(&event);
}

int main(int argc, char **argv)
{
    /* 1, 2, 4; the 71362nd part of the smallest; quiet and signalling NaN, both infinities. */
    static const uint32_t plain[] = {0x3f800000, 0x40000000, 0x40800000}, small[] = {71362},
                          none[] = {0x7fc00000, 0x7fa00000, 0x7f800000, 0xff800000};
    CUcontext context;
    CUdevice device;
    CUdeviceptr pointer;

    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cuMemAlloc(&pointer, 4096))
        return 1;
    choose(argc > 1 ? argv[1] : "");
    feclearexcept(FE_ALL_EXCEPT);
    give("plain", 3, plain);
    give("small", 1, small);
    give("none", 4, none);
    cgtrace_scalar("third", 0.3);
    cgtrace_scalar("smallest", DBL_TRUE_MIN);
    mark("small", small[0]);
    mark("none", none[1]);
    cgtrace_flush();
    for (int i = 0; i < 200; i++) {
        if (cuMemsetD8Async(pointer, 0, 4096, NULL)) return 1;
        if (i % 20 == 0) usleep(1000);
    }
    if (cuCtxSynchronize()) return 1;
    printf("raised: %d\n", fetestexcept(FE_ALL_EXCEPT));
    return 0;
}
