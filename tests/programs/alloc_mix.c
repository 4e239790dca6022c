/* Allocations and frees of every plain kind, mixed by a fixed random sequence; failing ones; some are left at
 * the end. */
#include "target.h"

enum { SLOTS = 64, ROUNDS = 2000 };

enum kind { DEVICE, PITCH, MANAGED, HOST_ALLOC, ALLOC_HOST, REGISTERED, ASYNC, POOL, KINDS };

struct slot {
    enum kind kind;
    CUdeviceptr device;
    void *host;
    bool live;
};

static CUstream stream;
static CUmemoryPool pool;
static long made[KINDS];

static void make(struct slot *slot, uint64_t *random)
{
    size_t bytes = 256 + target_random(random) % 100000, pitch;
    slot->kind = target_random(random) % KINDS;
    slot->live = true;
    made[slot->kind]++;
    switch (slot->kind) {
    case DEVICE:
        CU(cuMemAlloc(&slot->device, bytes));
        break;
    case PITCH:
        CU(cuMemAllocPitch(&slot->device, &pitch, bytes / 16 + 1, 16, 4));
        break;
    case MANAGED:
        CU(cuMemAllocManaged(&slot->device, bytes, CU_MEM_ATTACH_GLOBAL));
        break;
    case HOST_ALLOC:
        CU(cuMemHostAlloc(&slot->host, bytes, 0));
        break;
    case ALLOC_HOST:
        CU(cuMemAllocHost(&slot->host, bytes));
        break;
    case REGISTERED:
        slot->host = malloc(bytes);
        CU(cuMemHostRegister(slot->host, bytes, 0));
        break;
    case ASYNC:
        CU(cuMemAllocAsync(&slot->device, bytes, stream));
        break;
    case POOL:
        CU(cuMemAllocFromPoolAsync(&slot->device, bytes, pool, stream));
        break;
    case KINDS:
        break;
    }
}

static void drop(struct slot *slot)
{
    slot->live = false;
    switch (slot->kind) {
    case DEVICE:
    case PITCH:
    case MANAGED:
        CU(cuMemFree(slot->device));
        break;
    case HOST_ALLOC:
    case ALLOC_HOST:
        CU(cuMemFreeHost(slot->host));
        break;
    case REGISTERED:
        CU(cuMemHostUnregister(slot->host));
        free(slot->host);
        break;
    case ASYNC:
    case POOL:
        CU(cuMemFreeAsync(slot->device, stream));
        break;
    case KINDS:
        break;
    }
}

static void failures(void)
{
    CUdeviceptr pointer = 0, other = 0;
    void *host = NULL;
    SHOW(cuMemAlloc(&pointer, (size_t)1 << 50));
    SHOW(cuMemAlloc(&pointer, 0));
    SHOW(cuMemAllocManaged(&pointer, (size_t)1 << 50, CU_MEM_ATTACH_GLOBAL));
    SHOW(cuMemHostAlloc(&host, 0, 0));
    SHOW(cuMemAllocAsync(&pointer, (size_t)1 << 50, stream));
    SHOW(cuMemFree(0));
    CU(cuMemAlloc(&other, 4096));
    SHOW(cuMemFree(other));
    SHOW(cuMemFree(other));
    SHOW(cuMemFree((CUdeviceptr)0x10));
}

int main(void)
{
    static struct slot slots[SLOTS];
    uint64_t random = 42;
    target_open(0);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CU(cuMemPoolCreate(&pool, &properties));
    for (int round = 0; round < ROUNDS; round++) {
        struct slot *slot = &slots[target_random(&random) % SLOTS];
        if (slot->live)
            drop(slot);
        else
            make(slot, &random);
    }
    failures();
    CU(cuStreamSynchronize(stream));
    int live = 0;
    for (int i = 0; i < SLOTS; i++)
        live += slots[i].live;
    printf("made:");
    for (int i = 0; i < KINDS; i++)
        printf(" %ld", made[i]);
    printf("\nlive at the end: %d\n", live);
    return 0;
}
