/* Where memory comes from: the map from addresses to storages, and host pages behind device memory. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/internal.h"

const char *const sim_kind_name[SIM_K_COUNT] = {
    [SIM_K_DEVICE] = "device",
    [SIM_K_PITCH] = "pitch",
    [SIM_K_MANAGED] = "managed",
    [SIM_K_HOST] = "host",
    [SIM_K_REGISTERED] = "registered",
    [SIM_K_POOL] = "pool",
    [SIM_K_ARRAY] = "array",
    [SIM_K_MIPMAP] = "mipmap",
    [SIM_K_PHYSICAL] = "physical",
    [SIM_K_MAPPING] = "mapping",
    [SIM_K_IPC] = "ipc",
    [SIM_K_EXTERNAL] = "external",
    [SIM_K_GRAPH] = "graph",
    [SIM_K_MODULE] = "module",
};

size_t sim_round(size_t bytes, size_t to)
{
    size_t up = (bytes + to - 1) / to * to;
    return up < bytes ? bytes : up; /* a size that cannot be rounded is refused as too large */
}

/* ---- the map: storages sorted by address --------------------------------------------------------------- */

static struct sim_storage **map;
static size_t map_count, map_capacity;

/* Index of the first storage whose base is above `address`. */
static size_t upper(uint64_t address)
{
    size_t low = 0, high = map_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map[middle]->base > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void sim_map_insert(struct sim_storage *storage)
{
    if (map_count == map_capacity) {
        map_capacity = map_capacity ? map_capacity * 2 : 1024;
        map = sim_realloc(map, map_capacity * sizeof *map);
    }
    size_t at = upper(storage->base);
    memmove(map + at + 1, map + at, (map_count - at) * sizeof *map);
    map[at] = storage;
    map_count++;
}

void sim_map_remove(struct sim_storage *storage)
{
    size_t at = upper(storage->base);
    while (at > 0 && map[at - 1] != storage)
        at--;
    if (!at) return;
    memmove(map + at - 1, map + at, (map_count - at) * sizeof *map);
    map_count--;
}

struct sim_storage *sim_map_find(uint64_t address)
{
    size_t at = upper(address);
    if (!at) return NULL;
    struct sim_storage *s = map[at - 1];
    return address - s->base < (s->bytes ? s->bytes : 1) ? s : NULL;
}

size_t sim_map_count(void)
{
    return map_count;
}
struct sim_storage *sim_map_at(size_t index)
{
    return map[index];
}

CUresult sim_check_range(uint64_t address, size_t bytes)
{
    while (bytes) {
        const struct sim_storage *s = sim_map_find(address);
        if (!s) return CUDA_ERROR_INVALID_VALUE;
        size_t here = s->bytes - (address - s->base);
        if (here >= bytes) return CUDA_SUCCESS;
        if (s->kind != SIM_K_MAPPING) return CUDA_ERROR_INVALID_VALUE;
        address += here;
        bytes -= here;
    }
    return CUDA_SUCCESS;
}

/* ---- backing ------------------------------------------------------------------------------------------- */

CUresult sim_storage_new(int device, size_t bytes, enum sim_kind kind, struct sim_context *context,
                         struct sim_storage **out)
{
    size_t reserved = sim_round(bytes, SIM_ALIGN);
    struct sim_device *d = device < 0 ? NULL : &sim.devices[device];
    if (d && (reserved > d->total || d->used > d->total - reserved)) return CUDA_ERROR_OUT_OF_MEMORY;
    void *p = mmap(NULL, sim_round(bytes, 4096), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    if (d) d->used += reserved;
    struct sim_storage *s = sim_new(SIM_STORAGE, sizeof *s);
    s->base = (uint64_t)(uintptr_t)p;
    s->bytes = bytes;
    s->reserved = reserved;
    s->kind = kind;
    s->device = device;
    s->context = context;
    s->ipc_fd = -1;
    s->buffer_id = ++sim.next_buffer;
    sim_map_insert(s);
    *out = s;
    return CUDA_SUCCESS;
}

void sim_storage_free(struct sim_storage *s)
{
    sim_map_remove(s);
    bool ours = s->kind != SIM_K_REGISTERED && s->kind != SIM_K_MAPPING;
    if (ours) munmap((void *)(uintptr_t)s->base, sim_round(s->bytes, 4096));
    if (ours && s->device >= 0 && s->kind != SIM_K_IPC && s->kind != SIM_K_EXTERNAL)
        sim.devices[s->device].used -= s->reserved;
    if (s->ipc_fd >= 0) close(s->ipc_fd);
    if (s->handle) sim_delete(s->handle);
    sim_delete(s);
}

void sim_line_of(struct sim_line *line, enum sim_line_op op, const struct sim_storage *s)
{
    line->op = op;
    line->kind = sim_kind_name[s->kind];
    line->address = s->handle ? (uint64_t)(uintptr_t)s->handle : s->base;
    line->bytes = s->bytes;
    line->device = s->device;
    line->context = s->context;
    line->pool = (uint64_t)(uintptr_t)s->pool;
}
