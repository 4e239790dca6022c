/* Names of kernels.
 *
 * The driver tells the name of a function (cuFuncGetName, from CUDA 12.3) or of a kernel (cuKernelGetName),
 * so it is asked at the first launch; which of the two a handle is, is noted where it comes from, since a
 * CUkernel may be launched in the place of a CUfunction. Drivers that do not tell are older: there the name
 * by which the handle was asked for is kept, each text once. */
#include "preload/hooks/state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/hooks/ask.h"
#include "preload/record/lock.h"

/* Values in handle_functions: a string's number, or one of these. */
#define KERNEL HOOK_NAME_PENDING   /* a kernel, not asked yet */
#define TEXT   (UINT64_C(1) << 63) /* | address of its name, which is not a string of the capture file yet */

#define CHUNK (UINT64_C(1) << 20)

static HANDLE_MAP(texts);   /* hash of a text: its address */
static HANDLE_MAP(modules); /* module: its library */

static _Atomic uint32_t texts_lock;
HANDLE_LOCK_LISTED(texts_lock, texts_room);

/* Room for a text, kept for good; NULL when there is none. */
static char *text_room(uint64_t bytes)
{
    static char *chunk;
    static uint64_t left;
    if (bytes > CHUNK) return NULL;
    lock_take(&texts_lock);
    if (left < bytes) {
        chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        left = chunk == MAP_FAILED ? 0 : CHUNK;
    }
    char *room = left ? chunk + (CHUNK - left) : NULL;
    if (room) left -= bytes;
    lock_give(&texts_lock);
    return room;
}

/* A copy of the name, as a value of handle_functions; 0 when there is no room. */
static uint64_t keep(const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    hash |= 1;
    uint64_t known = handle_get(&texts, hash);
    if (known && strcmp((const char *)(uintptr_t)known, name) == 0) return TEXT | known;
    size_t bytes = strlen(name) + 1;
    char *copy = text_room(bytes);
    if (!copy) return 0;
    memcpy(copy, name, bytes);
    if (!known) handle_put(&texts, hash, (uintptr_t)copy, hash);
    return TEXT | (uintptr_t)copy;
}

static uint64_t owner_of(CUmodule module)
{
    uint64_t library = handle_get(&modules, (uintptr_t)module);
    return library ? library : (uintptr_t)module;
}

void hook_function_found(CUfunction function, CUmodule module, const char *name)
{
    int kept = errno;
    if (ask_cuFuncGetName())
        handle_forget(&handle_functions, (uintptr_t)function); /* it may have been another module's */
    else if (name)
        handle_put(&handle_functions, (uintptr_t)function, keep(name), owner_of(module));
    errno = kept;
}

void hook_kernel_found(void *kernel, void *library, const char *name)
{
    int kept = errno;
    uint64_t value = KERNEL;
    if (!ask_cuKernelGetName()) value = name ? keep(name) : 0;
    handle_put(&handle_functions, (uintptr_t)kernel, value, (uintptr_t)library);
    errno = kept;
}

void hook_kernels_found(void **kernels, unsigned count, void *library)
{
    for (unsigned i = 0; kernels && i < count; i++)
        if (kernels[i]) hook_kernel_found(kernels[i], library, NULL);
}

void hook_function_of_kernel(CUfunction function, void *kernel)
{
    int kept = errno;
    if (ask_cuFuncGetName())
        handle_forget(&handle_functions, (uintptr_t)function);
    else
        handle_put(&handle_functions, (uintptr_t)function, handle_get(&handle_functions, (uintptr_t)kernel),
                   handle_owner(&handle_functions, (uintptr_t)kernel));
    errno = kept;
}

void hook_module_of_library(CUmodule module, void *library)
{
    handle_put(&modules, (uintptr_t)module, (uintptr_t)library, (uintptr_t)library);
}

void hook_module_ends(uint64_t module)
{
    handle_forget_owner(&handle_functions, module);
    handle_forget_owner(&modules, module);
}

uint32_t hook_kernel_name_first(CUfunction function)
{
    int kept = errno;
    uint64_t value = handle_get(&handle_functions, (uintptr_t)function);
    uint64_t owner = handle_owner(&handle_functions, (uintptr_t)function);
    const char *name = NULL;
    if (value & TEXT)
        name = (const char *)(uintptr_t)(value & ~TEXT);
    else if (value == KERNEL) {
        if (ASK(cuKernelGetName, &name, function) != CUDA_SUCCESS) name = NULL;
    } else if (function) {
        if (ASK(cuFuncGetName, &name, function) != CUDA_SUCCESS) name = NULL;
    }
    uint32_t string = name ? record_string(name, strlen(name)) : 0;
    if (string) handle_put(&handle_functions, (uintptr_t)function, string, owner);
    errno = kept;
    return string;
}
