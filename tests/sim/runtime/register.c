/*
 * What nvcc's host code registers before main: fat binaries, kernels, variables; and the launches that it
 * makes. Images are loaded when something of them is first used.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/runtime/runtime.h"

struct image {
    const void *data;
    CUlibrary library;
    struct image *next;
};

enum kind { KERNEL, VARIABLE, MANAGED };

struct symbol {
    enum kind kind;
    const void *host;
    char *name;
    struct image *image;
    CUkernel kernel;
    struct symbol *next;
};

enum { BUCKETS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct image *images;
static struct symbol *symbols[BUCKETS];

static struct symbol **bucket(const void *host)
{
    uint64_t h = (uint64_t)(uintptr_t)host * 0x9e3779b97f4a7c15u;
    return &symbols[h >> 54];
}

/* ---- registration -------------------------------------------------------------------------------------- */

void **CUDARTAPI __cudaRegisterFatBinary(void *data);
void **CUDARTAPI __cudaRegisterFatBinary(void *data)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) abort();
    image->data = data;
    pthread_mutex_lock(&lock);
    image->next = images;
    images = image;
    pthread_mutex_unlock(&lock);
    return (void **)image;
}

void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle);
void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void CUDARTAPI __cudaUnregisterFatBinary(void **handle);
void CUDARTAPI __cudaUnregisterFatBinary(void **handle)
{
    struct image *image = (struct image *)handle;
    pthread_mutex_lock(&lock);
    for (struct image **p = &images; *p; p = &(*p)->next)
        if (*p == image) {
            *p = image->next;
            break;
        }
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct symbol **p = &symbols[i]; *p;) {
            struct symbol *s = *p;
            if (s->image != image) {
                p = &s->next;
                continue;
            }
            *p = s->next;
            free(s->name);
            free(s);
        }
    if (image->library) rt.cuLibraryUnload(image->library);
    pthread_mutex_unlock(&lock);
    free(image);
}

static void add(enum kind kind, void **handle, const void *host, const char *name)
{
    struct symbol *s = calloc(1, sizeof *s);
    if (!s || !(s->name = strdup(name))) abort();
    s->kind = kind;
    s->host = host;
    s->image = (struct image *)handle;
    pthread_mutex_lock(&lock);
    s->next = *bucket(host);
    *bucket(host) = s;
    pthread_mutex_unlock(&lock);
}

void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                      int limit, void *tid, void *bid, dim3 *block, dim3 *grid, int *warp);
void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                      int limit, void *tid, void *bid, dim3 *block, dim3 *grid, int *warp)
{
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add(KERNEL, handle, host, name);
}

void CUDARTAPI __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                                 size_t size, int constant, int global);
void CUDARTAPI __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                                 size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add(VARIABLE, handle, host, name);
}

void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                        int external, size_t size, int constant, int global);
void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                        int external, size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add(MANAGED, handle, host, name);
}

/* ---- use ----------------------------------------------------------------------------------------------- */

static CUresult load(struct image *image)
{
    if (image->library) return CUDA_SUCCESS;
    return rt.cuLibraryLoadData(&image->library, image->data, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult variable(struct symbol *s, CUdeviceptr *out, size_t *bytes)
{
    CUresult r = load(s->image);
    if (!r && s->kind == MANAGED) r = rt.cuLibraryGetManaged(out, bytes, s->image->library, s->name);
    /* A cubin does not say which of its variables are managed. */
    if (r == CUDA_ERROR_NOT_FOUND || s->kind == VARIABLE)
        r = rt.cuLibraryGetGlobal(out, bytes, s->image->library, s->name);
    return r;
}

static struct symbol *find(const void *host, bool kernel)
{
    struct symbol *s = *bucket(host);
    while (s && (s->host != host || (s->kind == KERNEL) != kernel))
        s = s->next;
    return s;
}

CUresult rt_kernel(const void *host, CUkernel *out)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct symbol *s = find(host, true);
    if (!s) r = (CUresult)cudaErrorInvalidDeviceFunction;
    if (!r && !s->kernel) {
        r = load(s->image);
        if (!r) r = rt.cuLibraryGetKernel(&s->kernel, s->image->library, s->name);
        if (r == CUDA_ERROR_NOT_FOUND) r = (CUresult)cudaErrorInvalidDeviceFunction;
    }
    if (!r) *out = s->kernel;
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult rt_variable(const void *host, CUdeviceptr *out, size_t *bytes)
{
    pthread_mutex_lock(&lock);
    struct symbol *s = find(host, false);
    CUresult r = s ? variable(s, out, bytes) : (CUresult)cudaErrorInvalidSymbol;
    pthread_mutex_unlock(&lock);
    return r;
}

/* Managed variables are reached by the host through a pointer of its own, set here, before their first use.
 */
char CUDARTAPI __cudaInitModule(void **handle);
char CUDARTAPI __cudaInitModule(void **handle)
{
    CUresult r = rt_context();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !r && i < BUCKETS; i++)
        for (struct symbol *s = symbols[i]; !r && s; s = s->next) {
            CUdeviceptr p;
            if (s->kind != MANAGED || s->image != (struct image *)handle) continue;
            r = variable(s, &p, NULL);
            if (!r) *(void **)(uintptr_t)s->host = (void *)(uintptr_t)p;
        }
    pthread_mutex_unlock(&lock);
    return rt_done(r) == cudaSuccess;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                               struct CUstream_st *stream);
unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                               struct CUstream_st *stream)
{
    struct rt_thread *t = rt_thread();
    if (t->depth == sizeof t->configurations / sizeof *t->configurations) {
        rt_done((CUresult)cudaErrorMissingConfiguration);
        return 1;
    }
    t->configurations[t->depth++] =
        (struct rt_configuration){.grid = grid, .block = block, .shared = shared, .stream = stream};
    return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    struct rt_thread *t = rt_thread();
    if (!t->depth) return rt_done((CUresult)cudaErrorMissingConfiguration);
    const struct rt_configuration *c = &t->configurations[--t->depth];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *(cudaStream_t *)stream = c->stream;
    return cudaSuccess;
}

cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *out, const void *host);
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *out, const void *host)
{
    CUresult r = rt_context();
    return rt_done(r ? r : rt_kernel(host, (CUkernel *)out));
}

/* The runtime's own word for a configuration that the driver refuses. */
static CUresult launch_code(CUresult r, dim3 grid, dim3 block)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    bool bad =
        !grid.x || !grid.y || !grid.z || !threads || threads > 1024 || grid.y > 65535 || grid.z > 65535;
    return r == CUDA_ERROR_INVALID_VALUE && bad ? (CUresult)cudaErrorInvalidConfiguration : r;
}

static CUresult launch(int per, CUfunction f, dim3 grid, dim3 block, void **args, size_t shared,
                       cudaStream_t stream)
{
    return launch_code(rt.cuLaunchKernel[per](f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                              (unsigned)shared, (CUstream)stream, args, NULL),
                       grid, block);
}

/* nvcc 13: the kernel's handle goes to the driver as it is, cast to a function. */
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                         size_t shared, cudaStream_t stream);
RT_PAIR(__cudaLaunchKernel, _ptsz,
        (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
        launch(per, (CUfunction)kernel, grid, block, args, shared, stream))

static CUresult function_of(const void *host, CUfunction *out)
{
    CUkernel kernel;
    CUresult r = rt_kernel(host, &kernel);
    return r ? r : rt.cuKernelGetFunction(out, kernel);
}

static CUresult launch_host(int per, const void *host, dim3 grid, dim3 block, void **args, size_t shared,
                            cudaStream_t stream)
{
    CUfunction f;
    CUresult r = function_of(host, &f);
    return r ? r : launch(per, f, grid, block, args, shared, stream);
}
RT_PAIR(cudaLaunchKernel, _ptsz,
        (const void *host, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
        launch_host(per, host, grid, block, args, shared, stream))

static CUresult launch_cooperative(int per, const void *host, dim3 grid, dim3 block, void **args,
                                   size_t shared, cudaStream_t stream)
{
    CUfunction f;
    CUresult r = function_of(host, &f);
    if (r) return r;
    return launch_code(rt.cuLaunchCooperativeKernel[per](f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                         (unsigned)shared, (CUstream)stream, args),
                       grid, block);
}
RT_PAIR(cudaLaunchCooperativeKernel, _ptsz,
        (const void *host, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
        launch_cooperative(per, host, grid, block, args, shared, stream))

static CUresult launch_ex(int per, const cudaLaunchConfig_t *c, const void *host, void **args)
{
    CUfunction f;
    CUresult r = c ? function_of(host, &f) : CUDA_ERROR_INVALID_VALUE;
    if (r) return r;
    CUlaunchConfig config = {.gridDimX = c->gridDim.x,
                             .gridDimY = c->gridDim.y,
                             .gridDimZ = c->gridDim.z,
                             .blockDimX = c->blockDim.x,
                             .blockDimY = c->blockDim.y,
                             .blockDimZ = c->blockDim.z,
                             .sharedMemBytes = (unsigned)c->dynamicSmemBytes,
                             .hStream = (CUstream)c->stream,
                             .attrs = (CUlaunchAttribute *)c->attrs,
                             .numAttrs = c->numAttrs};
    return launch_code(rt.cuLaunchKernelEx[per](&config, f, args, NULL), c->gridDim, c->blockDim);
}
RT_PAIR(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t *config, const void *host, void **args),
        launch_ex(per, config, host, args))

/* ---- questions ----------------------------------------------------------------------------------------- */

static CUresult attributes(struct cudaFuncAttributes *a, const void *host)
{
    CUfunction f;
    CUresult r = a ? function_of(host, &f) : CUDA_ERROR_INVALID_VALUE;
    if (r) return r;
    memset(a, 0, sizeof *a);
    rt.cuFuncGetAttribute(&a->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f);
    rt.cuFuncGetAttribute(&a->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS, f);
    rt.cuFuncGetAttribute(&a->ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION, f);
    rt.cuFuncGetAttribute(&a->binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f);
    rt.cuFuncGetAttribute(&a->maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f);
    return CUDA_SUCCESS;
}
RT(cudaFuncGetAttributes, (struct cudaFuncAttributes * a, const void *host), attributes(a, host))

static CUresult set_attribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
    CUfunction f;
    CUresult r = function_of(host, &f);
    return r ? r : rt.cuFuncSetAttribute(f, (CUfunction_attribute)attribute, value);
}
RT(cudaFuncSetAttribute, (const void *host, enum cudaFuncAttribute attribute, int value),
   set_attribute(host, attribute, value))

#if CUDART_VERSION >= 12030
static CUresult get_name(const char **name, const void *host)
{
    CUfunction f;
    CUresult r = function_of(host, &f);
    if (r) return r;
    return rt.cuFuncGetName ? rt.cuFuncGetName(name, f) : CUDA_ERROR_NOT_SUPPORTED;
}
RT(cudaFuncGetName, (const char **name, const void *host), get_name(name, host))
#endif
RT(cudaGetFuncBySymbol, (cudaFunction_t * out, const void *host), function_of(host, (CUfunction *)out))

static CUresult occupancy(int *blocks, const void *host, int threads, size_t shared, unsigned flags)
{
    CUfunction f;
    CUresult r = function_of(host, &f);
    return r ? r : rt.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared, flags);
}
RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, const void *host, int threads, size_t shared),
   occupancy(blocks, host, threads, shared, 0))
RT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
   (int *blocks, const void *host, int threads, size_t shared, unsigned flags),
   occupancy(blocks, host, threads, shared, flags))
