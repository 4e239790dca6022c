/* Physical memory.
 *
 * It lives as long as anything refers to it: handles (cuMemCreate, cuMemRetainAllocationHandle, an import by
 * the process that made it) and mappings. Programs may release the handle as soon as the memory is mapped,
 * and the driver may then give the same handle to the next one. So it ends with the last release or the last
 * unmapping, whichever comes later (cuda.h, cuMemRelease), and a handle that comes again while its former
 * memory is still mapped moves that one to another number in the table of live storages. */
#include "preload/hooks/bodies.h"

#include <errno.h>
#include <sys/mman.h>

#include "preload/record/lock.h"

struct physical {
    uint64_t handle; /* as it was made, 0: free */
    uint64_t
        number; /* of its storage in the table of live ones: the handle, if nothing else came in between */
    uint32_t handles, mappings;
};
struct mapping {
    uint64_t address, bytes; /* bytes 0: free */
    uint32_t physical;
};

/* Rows of one size, found by index; grown by moving, so no pointer to a row outlives the lock. */
struct rows {
    void *first;
    uint32_t count, room;
};
static struct rows physicals, mappings;
static _Atomic uint32_t vmm_lock;
HANDLE_LOCK_LISTED(vmm_lock, vmm);
static HANDLE_MAP(
    by_handle); /* handle: index of its physical memory + 1; what other processes made is not here */
static HANDLE_MAP(by_address); /* first address of a mapping: its index + 1 */

/* Index of a row to write into: one that is_free, or a new one; UINT32_MAX when there is no memory. */
static uint32_t free_row(struct rows *rows, size_t size, bool (*is_free)(const void *row))
{
    for (uint32_t i = rows->count; i > 0 && rows->count - i < 64;
         i--) /* the latest first: most are freed in turn */
        if (is_free((char *)rows->first + (i - 1) * size)) return i - 1;
    if (rows->count == rows->room) {
        uint32_t room = rows->room ? rows->room * 2 : 1024;
        void *more =
            rows->first ? mremap(rows->first, rows->room * size, room * size, MREMAP_MAYMOVE)
                        : mmap(NULL, room * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED) return UINT32_MAX;
        rows->first = more;
        rows->room = room;
    }
    return rows->count++;
}

static bool physical_is_free(const void *row)
{
    return !((const struct physical *)row)->handle;
}
static bool mapping_is_free(const void *row)
{
    return !((const struct mapping *)row)->bytes;
}
static struct physical *physical_at(uint32_t index)
{
    return (struct physical *)physicals.first + index;
}
static struct mapping *mapping_at(uint32_t index)
{
    return (struct mapping *)mappings.first + index;
}

/* A number that no handle and no address has. */
static uint64_t other_number(uint64_t handle)
{
    static uint64_t count;
    return UINT64_C(1) << 63 | (++count & 0x7fff) << 48 | (handle & 0xffffffffffff);
}

static void created(uint64_t handle)
{
    lock_take(&vmm_lock);
    uint64_t former = handle_get(&by_handle, handle);
    uint32_t index = free_row(&physicals, sizeof(struct physical), physical_is_free);
    if (former && physical_at((uint32_t)former - 1)->number == handle) {
        struct physical *past = physical_at((uint32_t)former - 1);
        past->number = other_number(handle);
        record_storage_moved(handle, past->number);
    }
    if (index != UINT32_MAX) {
        *physical_at(index) = (struct physical){.handle = handle, .number = handle, .handles = 1};
        handle_put(&by_handle, handle, index + 1u, handle);
    }
    lock_give(&vmm_lock);
}

/* The physical memory behind an address inside a mapping; UINT32_MAX when none is known. */
static uint32_t behind(uint64_t address)
{
    uint64_t index = handle_get(&by_address, address);
    if (index) return mapping_at((uint32_t)index - 1)->physical;
    for (uint32_t i = 0; i < mappings.count; i++)
        if (address - mapping_at(i)->address < mapping_at(i)->bytes) return mapping_at(i)->physical;
    return UINT32_MAX;
}

/* One more handle of what is mapped at the address; address 0: of what the handle says. */
static void hook_vmm_retained(uint64_t handle, uint64_t address)
{
    int kept = errno;
    lock_take(&vmm_lock);
    uint32_t index = address ? behind(address) : (uint32_t)handle_get(&by_handle, handle) - 1;
    if (index != UINT32_MAX && physical_at(index)->handle) {
        physical_at(index)->handles++;
        handle_put(&by_handle, handle, index + 1u, handle);
    }
    lock_give(&vmm_lock);
    errno = kept;
}

static void hook_vmm_mapped(uint64_t address, uint64_t bytes, uint64_t handle)
{
    int kept = errno;
    lock_take(&vmm_lock);
    uint64_t physical = handle_get(&by_handle, handle);
    uint32_t index =
        physical && bytes ? free_row(&mappings, sizeof(struct mapping), mapping_is_free) : UINT32_MAX;
    if (index != UINT32_MAX) {
        *mapping_at(index) = (struct mapping){address, bytes, (uint32_t)physical - 1};
        physical_at((uint32_t)physical - 1)->mappings++;
        handle_put(&by_address, address, index + 1u, address);
    }
    lock_give(&vmm_lock);
    errno = kept;
}

/* Called with the lock held, after a reference was taken away. True: that was the last one; the storage is
 * taken out of the table of live ones when call is not NULL. */
static bool ends(struct record_call *call, uint32_t index, struct record_storage *ended)
{
    struct physical *physical = physical_at(index);
    if (physical->handles || physical->mappings || !physical->handle) return false;
    if (call) record_free_begin(call, physical->number, ended);
    ended->address = physical->handle;
    if (handle_get(&by_handle, physical->handle) == index + 1u) handle_forget(&by_handle, physical->handle);
    physical->handle = 0;
    return true;
}

/* The mappings in a range that has been unmapped, each of which may have been the last reference. */
static void unmapped(struct record_call *call, uint64_t address, uint64_t bytes)
{
    for (uint64_t end = address + bytes; address < end;) {
        struct record_storage ended;
        lock_take(&vmm_lock);
        uint64_t index = handle_get(&by_address, address);
        struct mapping *mapping = index ? mapping_at((uint32_t)index - 1) : NULL;
        uint64_t next = mapping && mapping->bytes ? address + mapping->bytes : end;
        bool last = false;
        if (mapping && mapping->bytes) {
            physical_at(mapping->physical)->mappings--;
            last = ends(call, mapping->physical, &ended);
            mapping->bytes = 0;
            handle_forget(&by_address, address);
        }
        lock_give(&vmm_lock);
        if (last && call) record_storage_end(call, &ended);
        address = next;
    }
}

#define HOOK_FAMILY "preload/hooks/vmm.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"

static uint8_t device_of(const CUmemAllocationProp *properties)
{
    if (!properties || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CAP_NO_DEVICE;
    int device = properties->location.id;
    return device >= 0 && device < (int)CAP_NO_DEVICE ? (uint8_t)device : CAP_NO_DEVICE;
}

CUresult hook_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                          const CUmemAllocationProp *properties, unsigned long long flags)
{
    struct record_call call;
    bool recorded = record_enter_followed(&call, hook_api(HOOK_cuMemCreate, HOOK_GROUP_ALLOC));
    CUresult result = REAL(cuMemCreate)(handle, bytes, properties, flags);
    uint64_t made = result == CUDA_SUCCESS ? *handle : 0;
    int kept = errno;
    if (made) created(made);
    errno = kept;
    if (!recorded) return hook_told(result);
    call.device = device_of(properties);
    hook_alloc_done(&call, result, CAP_MEMORY_VMM, made, bytes, 0, NO_OWNER);
    return hook_told(result);
}

CUresult hook_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct record_call call;
    struct record_storage ended;
    bool recorded = record_enter_followed(&call, hook_api(HOOK_cuMemRelease, HOOK_GROUP_FREE)), last = false;
    int kept = errno;
    /* Before the call: after it the handle may be another thread's. */
    lock_take(&vmm_lock);
    uint64_t index = handle_get(&by_handle, handle);
    lock_give(&vmm_lock);
    errno = kept;
    CUresult result = REAL(cuMemRelease)(handle);
    if (index && result == CUDA_SUCCESS) {
        kept = errno;
        lock_take(&vmm_lock);
        struct physical *physical = physical_at((uint32_t)index - 1);
        if (physical->handles) physical->handles--;
        last = ends(recorded ? &call : NULL, (uint32_t)index - 1, &ended);
        lock_give(&vmm_lock);
        errno = kept;
    }
    if (!recorded) return hook_told(result);
    if (last)
        record_free(&call, (int)result, &ended, 0);
    else
        record_op(&call, (int)result, 0, 0);
    return hook_told(result);
}

CUresult hook_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    struct record_call call;
    bool recorded = record_enter_end(&call, hook_api(HOOK_cuMemUnmap, HOOK_GROUP_CALL));
    if (recorded) call.device = hook_device();
    CUresult result = REAL(cuMemUnmap)(address, bytes);
    int kept = errno;
    if (result == CUDA_SUCCESS) unmapped(recorded ? &call : NULL, address, bytes);
    errno = kept;
    if (recorded) record_op(&call, (int)result, 0, 0);
    return hook_told(result);
}
