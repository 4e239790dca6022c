/*
 * Virtual memory management: physical memory is an anonymous file, a reservation is inaccessible address
 * space, a mapping is the one mapped over the other, so that aliases see the same bytes and handles can go to
 * other processes.
 *
 * Physical memory is freed by the release of its last handle or by the unmapping of its last mapping,
 * whichever comes later.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/internal.h"

enum { GRANULARITY = 2 << 20 };

struct sim_physical {
    struct sim_object object;
    size_t bytes;
    int fd, device;
    unsigned handles, mappings; /* gone when both are 0 */
    bool imported;
    CUmemAllocationProp prop;
};

struct reservation {
    uint64_t base;
    size_t bytes;
    struct reservation *next;
};
static struct reservation *reservations;

static struct reservation *reservation_of(uint64_t address, size_t bytes)
{
    struct reservation *r = reservations;
    while (r && !(address >= r->base && bytes <= r->bytes && address - r->base <= r->bytes - bytes))
        r = r->next;
    return r;
}

static bool aligned(uint64_t v)
{
    return v && v % GRANULARITY == 0;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    SIM_CALL(call);
    (void)option;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !prop)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = GRANULARITY;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr hint,
                                     unsigned long long flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    size_t align = alignment > GRANULARITY ? alignment : GRANULARITY;
    if (!r && (!out || !aligned(bytes) || flags || (align & (align - 1)))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        (void)hint; /* a wish, which no driver must grant */
        uint8_t *p = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) {
            r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            uint8_t *base = (uint8_t *)sim_round((uintptr_t)p, align);
            if (base > p) munmap(p, (size_t)(base - p));
            munmap(base + bytes, align - (size_t)(base - p));
            struct reservation *v = sim_alloc(sizeof *v);
            *v =
                (struct reservation){.base = (uint64_t)(uintptr_t)base, .bytes = bytes, .next = reservations};
            reservations = v;
            *out = v->base;
        }
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr p, size_t bytes)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    struct reservation **at = &reservations;
    while (*at && ((*at)->base != p || (*at)->bytes != bytes))
        at = &(*at)->next;
    if (!r && !*at) r = CUDA_ERROR_INVALID_VALUE;
    for (uint64_t a = p; !r && a < p + bytes; a += GRANULARITY)
        if (sim_map_find(a)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct reservation *v = *at;
        *at = v->next;
        munmap((void *)(uintptr_t)v->base, v->bytes);
        free(v);
    }
    return sim_end(&call, r, NULL);
}

/* ---- physical memory ----------------------------------------------------------------------------------- */

static struct sim_physical *physical_new(size_t bytes, int fd, int device, const CUmemAllocationProp *prop)
{
    struct sim_physical *p = sim_new(SIM_PHYSICAL, sizeof *p);
    p->bytes = bytes;
    p->fd = fd;
    p->device = device;
    p->handles = 1;
    if (prop) p->prop = *prop;
    return p;
}

static void physical_drop(struct sim_physical *p)
{
    if (p->handles || p->mappings) return;
    if (p->device >= 0 && !p->imported) sim.devices[p->device].used -= p->bytes;
    close(p->fd);
    sim_delete(p);
}

static void line_of(struct sim_line *line, enum sim_line_op op, const struct sim_physical *p)
{
    line->op = op;
    line->kind = "physical";
    line->address = (uint64_t)(uintptr_t)p;
    line->bytes = p->bytes;
    line->device = p->device;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *prop,
                             unsigned long long flags)
{
    SIM_CALL(call);
    struct sim_line line = {.op = SIM_L_ALLOC, .kind = "physical", .bytes = bytes, .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !prop || flags || !aligned(bytes))) r = CUDA_ERROR_INVALID_VALUE;
    bool on_device = !r && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    int device = on_device ? prop->location.id : -1;
    if (on_device && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r) line.device = device;
    struct sim_device *d = device >= 0 ? &sim.devices[device] : NULL;
    if (!r && d && (bytes > d->total || d->used > d->total - bytes)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        int fd = memfd_create("simulated device memory", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
            if (fd >= 0) close(fd);
            r = CUDA_ERROR_OPERATING_SYSTEM;
        } else {
            struct sim_physical *p = physical_new(bytes, fd, device, prop);
            if (d) d->used += bytes;
            *out = (CUmemGenericAllocationHandle)(uintptr_t)p;
            line_of(&line, SIM_L_ALLOC, p);
        }
    }
    return sim_end(&call, r, &line);
}

static struct sim_physical *physical(CUmemGenericAllocationHandle handle)
{
    struct sim_physical *p = (struct sim_physical *)(uintptr_t)handle;
    return sim_is(p, SIM_PHYSICAL) && p->handles ? p : NULL;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    SIM_CALL(call);
    struct sim_line line = {.op = SIM_L_FREE, .address = handle, .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    struct sim_physical *p = physical(handle);
    if (!r && !p) r = CUDA_ERROR_INVALID_VALUE;
    bool last = false;
    if (!r) {
        line_of(&line, SIM_L_FREE, p);
        last = --p->handles == 0 && !p->mappings && !p->imported;
        physical_drop(p);
    }
    return sim_end(&call, r, r || last ? &line : NULL);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    const struct sim_storage *s = r ? NULL : sim_map_find((uint64_t)(uintptr_t)address);
    if (!r && (!out || !s || !s->physical)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        s->physical->handles++;
        *out = (CUmemGenericAllocationHandle)(uintptr_t)s->physical;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
                                                        CUmemGenericAllocationHandle handle)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !physical(handle))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = physical(handle)->prop;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType type, unsigned long long flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || flags || !physical(handle))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        int fd = dup(physical(handle)->fd);
        if (fd < 0)
            r = CUDA_ERROR_OPERATING_SYSTEM;
        else
            *(int *)out = fd;
    }
    return sim_end(&call, r, NULL);
}

/* An import is a second handle of memory that is there already: no allocation. */
CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
                                                CUmemAllocationHandleType type)
{
    SIM_CALL(call);
    struct stat st;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) r = CUDA_ERROR_NOT_SUPPORTED;
    int fd = r ? -1 : dup((int)(intptr_t)handle);
    if (!r && (fd < 0 || fstat(fd, &st) != 0 || !aligned((uint64_t)st.st_size))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct sim_physical *p = physical_new((size_t)st.st_size, fd, sim_current(&call)->device, NULL);
        p->imported = true;
        *out = (CUmemGenericAllocationHandle)(uintptr_t)p;
    } else if (fd >= 0) {
        close(fd);
    }
    return sim_end(&call, r, NULL);
}

/* ---- mappings ------------------------------------------------------------------------------------------ */

CUresult CUDAAPI cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long flags)
{
    SIM_CALL(call);
    struct sim_line line = {.op = SIM_L_MAP, .kind = "mapping", .address = at, .bytes = bytes, .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    struct sim_physical *p = physical(handle);
    if (!r && (!p || flags || offset || !aligned(at) || !aligned(bytes) || bytes > p->bytes ||
               !reservation_of(at, bytes)))
        r = CUDA_ERROR_INVALID_VALUE;
    for (uint64_t a = at; !r && a < at + bytes; a += GRANULARITY)
        if (sim_map_find(a)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && mmap((void *)(uintptr_t)at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, p->fd, 0) == MAP_FAILED)
        r = CUDA_ERROR_OPERATING_SYSTEM;
    if (!r) {
        struct sim_storage *s = sim_new(SIM_STORAGE, sizeof *s);
        s->base = at;
        s->bytes = bytes;
        s->kind = SIM_K_MAPPING;
        s->device = line.device = p->device;
        s->physical = p;
        s->ipc_fd = -1;
        s->buffer_id = ++sim.next_buffer;
        p->mappings++;
        line.source = (uint64_t)(uintptr_t)p;
        sim_map_insert(s);
    }
    return sim_end(&call, r, &line);
}

/* The range must be made of whole mappings. */
CUresult CUDAAPI cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    SIM_CALL(call);
    struct sim_line line = {
        .op = SIM_L_UNMAP, .kind = "mapping", .address = at, .bytes = bytes, .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!aligned(at) || !aligned(bytes))) r = CUDA_ERROR_INVALID_VALUE;
    for (uint64_t a = at; !r && a < at + bytes;) {
        const struct sim_storage *s = sim_map_find(a);
        if (!s || s->kind != SIM_K_MAPPING || s->base != a || s->bytes > at + bytes - a)
            r = CUDA_ERROR_INVALID_VALUE;
        if (!r) a += s->bytes;
    }
    if (!r)
        for (int i = 0; i < sim.device_count; i++)
            sim_wait_device(i);
    for (uint64_t a = at; !r && a < at + bytes;) {
        struct sim_storage *s = sim_map_find(a);
        struct sim_physical *p = s->physical;
        mmap((void *)(uintptr_t)a, s->bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        a += s->bytes;
        line.device = s->device;
        sim_storage_free(s);
        if (--p->mappings == 0 && !p->handles && !p->imported) {
            struct sim_line freed = {0};
            line_of(&freed, SIM_L_FREE, p);
            sim_ledger_write(&call, &freed, CUDA_SUCCESS);
        }
        physical_drop(p);
    }
    return sim_end(&call, r, &line);
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!access || !count || !aligned(bytes))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_check_range(at, bytes);
    if (!r) {
        int how = access[0].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
                  : access[0].flags == CU_MEM_ACCESS_FLAGS_PROT_READ    ? PROT_READ
                                                                        : PROT_NONE;
        if (mprotect((void *)(uintptr_t)at, bytes, how) != 0) r = CUDA_ERROR_OPERATING_SYSTEM;
        for (uint64_t a = at; a < at + bytes; a += sim_map_find(a)->bytes)
            sim_map_find(a)->flags = (unsigned)access[0].flags;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    const struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && (!flags || !location || !s || !s->physical)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *flags = s->flags;
    return sim_end(&call, r, NULL);
}

/* ---- multicast ----------------------------------------------------------------------------------------- */

#if CUDA_VERSION >= 12010
/* An object without memory, known by a handle like that of physical memory; what is bound to it is checked,
 * and that is all. */
CUresult CUDAAPI cuMulticastCreate(CUmemGenericAllocationHandle *out, const CUmulticastObjectProp *prop)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !prop || !prop->numDevices || !aligned(prop->size))) r = CUDA_ERROR_INVALID_VALUE;
    int fd = r ? -1 : memfd_create("simulated multicast object", MFD_CLOEXEC);
    if (!r && fd < 0) r = CUDA_ERROR_OPERATING_SYSTEM;
    if (!r) {
        struct sim_physical *p = physical_new(prop->size, fd, -1, NULL);
        p->imported = true; /* its release is no free */
        *out = (CUmemGenericAllocationHandle)(uintptr_t)p;
    }
    return sim_end(&call, r, NULL);
}

static CUresult multicast(struct sim_call *call, CUmemGenericAllocationHandle handle, bool good)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!physical(handle) || !good)) r = CUDA_ERROR_INVALID_VALUE;
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device)
{
    SIM_CALL(call);
    return multicast(&call, handle, device >= 0 && device < sim.device_count);
}

CUresult CUDAAPI cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                                    CUmemGenericAllocationHandle memory, size_t memory_offset, size_t bytes,
                                    unsigned long long flags)
{
    SIM_CALL(call);
    (void)offset, (void)memory_offset;
    return multicast(&call, handle, memory && bytes && !flags);
}

CUresult CUDAAPI cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr memory,
                                     size_t bytes, unsigned long long flags)
{
    SIM_CALL(call);
    (void)offset;
    return multicast(&call, handle, memory && bytes && !flags);
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t offset,
                                   size_t bytes)
{
    SIM_CALL(call);
    (void)offset;
    return multicast(&call, handle, bytes && device >= 0 && device < sim.device_count);
}

CUresult CUDAAPI cuMulticastGetGranularity(size_t *out, const CUmulticastObjectProp *prop,
                                           CUmulticastGranularity_flags option)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    (void)option;
    if (!r && (!out || !prop)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = GRANULARITY;
    return sim_end(&call, r, NULL);
}
#endif
