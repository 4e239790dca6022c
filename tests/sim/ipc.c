/* Memory of other processes and of other APIs: IPC handles, imported external memory. Both are second ways to
 * memory that is there already, so the ledger calls them map and unmap. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/internal.h"

/* What an IPC handle holds. */
struct handle {
    char magic[8];
    int pid, fd, device;
    uint64_t bytes;
};
_Static_assert(sizeof(struct handle) <= CU_IPC_HANDLE_SIZE, "fits into a handle");
static const char magic[8] = "simipc1";

/* Puts the storage's bytes into an anonymous file, mapped where they were. */
static CUresult share(struct sim_storage *s)
{
    size_t bytes = sim_round(s->bytes, 4096);
    void *at = (void *)(uintptr_t)s->base;
    int fd = memfd_create("simulated device memory", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || pwrite(fd, at, bytes, 0) != (ssize_t)bytes ||
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        if (fd >= 0) close(fd);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    s->ipc_fd = fd;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && (!out || !s || (s->kind != SIM_K_DEVICE && s->kind != SIM_K_PITCH)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && s->ipc_fd < 0) {
        sim_wait_context(s->context);
        r = share(s);
    }
    if (!r) {
        struct handle h = {.pid = getpid(), .fd = s->ipc_fd, .device = s->device, .bytes = s->bytes};
        memcpy(h.magic, magic, sizeof magic);
        memset(out, 0, sizeof *out);
        memcpy(out->reserved, &h, sizeof h);
    }
    return sim_end(&call, r, NULL);
}

/* Maps a file as memory of the current context's device. */
static CUresult map_file(struct sim_call *call, int fd, off_t offset, size_t bytes, enum sim_kind kind,
                         struct sim_storage **out)
{
    void *p = mmap(NULL, sim_round(bytes, 4096), PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    if (p == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
    struct sim_storage *s = sim_new(SIM_STORAGE, sizeof *s);
    s->base = (uint64_t)(uintptr_t)p;
    s->bytes = bytes;
    s->kind = kind;
    s->device = sim_current(call)->device;
    s->context = sim_current(call);
    s->ipc_fd = -1;
    s->buffer_id = ++sim.next_buffer;
    sim_map_insert(s);
    *out = s;
    return CUDA_SUCCESS;
}

static CUresult open_handle(struct sim_call *call, CUdeviceptr *out, const CUipcMemHandle *handle,
                            unsigned flags)
{
    struct handle h;
    struct sim_storage *s;
    struct sim_line line = {.op = SIM_L_MAP, .kind = "ipc", .device = -1};
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    memcpy(&h, handle->reserved, sizeof h);
    if (!r &&
        (!out || flags > CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || memcmp(h.magic, magic, sizeof magic) != 0))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && h.pid == getpid()) r = CUDA_ERROR_INVALID_CONTEXT; /* not in the process that exported it */
    if (!r) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.fd);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        r = fd < 0 ? CUDA_ERROR_MAP_FAILED : map_file(call, fd, 0, h.bytes, SIM_K_IPC, &s);
        if (fd >= 0) close(fd);
    }
    if (!r) {
        sim_line_of(&line, SIM_L_MAP, s);
        *out = s->base;
    }
    return sim_end(call, r, &line);
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    SIM_CALL(call);
    return open_handle(&call, out, &handle, flags);
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    SIM_CALL(call);
    return open_handle(&call, out, &handle, flags);
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr p)
{
    SIM_CALL(call);
    struct sim_line line = {.op = SIM_L_UNMAP, .kind = "ipc", .address = p, .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && (!s || s->base != p || s->kind != SIM_K_IPC)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        sim_wait_context(s->context);
        sim_line_of(&line, SIM_L_UNMAP, s);
        sim_storage_free(s);
    }
    return sim_end(&call, r, &line);
}

/* ---- external memory ----------------------------------------------------------------------------------- */

struct external {
    struct sim_object object;
    int fd;
    uint64_t bytes;
};

/* A successful import takes the descriptor over, as documented. */
CUresult CUDAAPI cuImportExternalMemory(CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!out || !d || !d->size)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && d->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) r = CUDA_ERROR_NOT_SUPPORTED;
    struct stat st;
    if (!r && (fstat(d->handle.fd, &st) != 0 || (uint64_t)st.st_size < d->size))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        struct external *e = sim_new(SIM_EXTERNAL, sizeof *e);
        e->fd = d->handle.fd;
        e->bytes = d->size;
        *out = (CUexternalMemory)e;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuExternalMemoryGetMappedBuffer(CUdeviceptr *out, CUexternalMemory memory,
                                                 const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d)
{
    SIM_CALL(call);
    struct sim_storage *s;
    const struct external *e = (const struct external *)memory;
    struct sim_line line = {.op = SIM_L_MAP, .kind = "external", .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !sim_is(e, SIM_EXTERNAL)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && (!out || !d || !d->size || d->flags || d->offset % 4096 || d->offset > e->bytes ||
               d->size > e->bytes - d->offset))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = map_file(&call, e->fd, (off_t)d->offset, d->size, SIM_K_EXTERNAL, &s);
    if (!r) {
        sim_line_of(&line, SIM_L_MAP, s);
        *out = s->base;
    }
    return sim_end(&call, r, &line);
}

CUresult CUDAAPI cuDestroyExternalMemory(CUexternalMemory memory)
{
    SIM_CALL(call);
    struct external *e = (struct external *)memory;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(e, SIM_EXTERNAL)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        close(e->fd);
        sim_delete(e);
    }
    return sim_end(&call, r, NULL);
}
