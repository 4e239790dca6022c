/* Modules, libraries, functions and kernels; their names; handles that are reused after an unload. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/internal.h"

/* ---- functions ----------------------------------------------------------------------------------------- */

/* The host function of SIM_KERNELS for the entry, and its own parameter sizes, which win over the module's.
 */
static void bind_host(struct sim_function *f)
{
    if (!sim.kernels) return;
    *(void **)&f->host = dlsym(sim.kernels, f->name);
    size_t length = strlen(f->name);
    char *symbol = sim_alloc(length + sizeof "_params");
    memcpy(symbol, f->name, length);
    memcpy(symbol + length, "_params", sizeof "_params");
    const size_t *sizes = f->host ? dlsym(sim.kernels, symbol) : NULL;
    free(symbol);
    if (!sizes) return;
    size_t n = 0, offset = 0;
    while (n < SIM_MAX_PARAMS && sizes[n])
        n++;
    f->own_params = sim_alloc((n + 1) * sizeof *f->own_params);
    for (size_t i = 0; i < n; i++) {
        size_t align = sizes[i] % 8 == 0 ? 8 : sizes[i] % 4 == 0 ? 4 : sizes[i] % 2 == 0 ? 2 : 1;
        offset = sim_round(offset, align);
        f->own_params[i] = (struct sim_param){.offset = offset, .bytes = sizes[i]};
        offset += sizes[i];
    }
    f->params = f->own_params;
    f->param_count = n;
}

static struct sim_function *function_new(enum sim_magic magic, struct sim_module *module,
                                         const struct sim_entry *entry)
{
    struct sim_function *f = sim_new(magic, sizeof *f);
    f->module = module;
    f->library = module->library;
    f->name = entry->name;
    f->params = entry->params;
    f->param_count = entry->param_count;
    f->attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
    f->attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
    f->attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90;
    f->attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90;
    f->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
    bind_host(f);
    return f;
}

static void function_delete(struct sim_function *f)
{
    if (!f) return;
    free(f->own_params);
    sim_delete(f);
}

static struct sim_function *function_of(struct sim_module *m, size_t index)
{
    if (!m->functions[index]) m->functions[index] = function_new(SIM_FUNCTION, m, &m->image.entries[index]);
    return m->functions[index];
}

static size_t find_entry(const struct sim_image *image, const char *name)
{
    size_t i = 0;
    while (i < image->entry_count && strcmp(image->entries[i].name, name) != 0)
        i++;
    return i;
}

/* ---- modules ------------------------------------------------------------------------------------------- */

static CUresult module_new(struct sim_context *context, const void *image, struct sim_module **out)
{
    struct sim_image read;
    CUresult r = sim_image_read(image, &read);
    if (r) return r;
    struct sim_module *m = sim_new(SIM_MODULE, sizeof *m);
    m->context = context;
    m->image = read;
    m->functions = sim_alloc((read.entry_count + 1) * sizeof *m->functions);
    m->globals = sim_alloc((read.variable_count + 1) * sizeof *m->globals);
    m->next = sim.modules;
    sim.modules = m;
    *out = m;
    return CUDA_SUCCESS;
}

/* Memory of the context's variables is freed with the context, or here. */
static void module_free(struct sim_module *m)
{
    for (size_t i = 0; i < m->image.entry_count; i++)
        function_delete(m->functions[i]);
    for (size_t i = 0; i < m->image.variable_count; i++)
        if (m->globals[i]) sim_storage_free(m->globals[i]);
    free(m->functions);
    free(m->globals);
    sim_image_free(&m->image);
    for (struct sim_module **p = &sim.modules; *p; p = &(*p)->next)
        if (*p == m) {
            *p = m->next;
            break;
        }
    sim_delete(m);
}

void sim_modules_forget(struct sim_context *context)
{
    for (struct sim_module *m = sim.modules, *next; m; m = next) {
        next = m->next;
        if (m->context != context) continue;
        if (!m->library) {
            module_free(m);
            continue;
        }
        for (size_t i = 0; i < m->image.variable_count;
             i++) { /* a library outlives contexts; its variables do not */
            if (m->globals[i]) sim_storage_free(m->globals[i]);
            m->globals[i] = NULL;
        }
        m->context = NULL;
    }
}

static CUresult load(struct sim_call *call, CUmodule *out, const void *image)
{
    struct sim_module *m;
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (!r && (!out || !image)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = module_new(sim_current(call), image, &m);
    if (!r) *out = (CUmodule)m;
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *out, const void *image)
{
    SIM_CALL(call);
    return load(&call, out, image);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, CUjit_option *options,
                                    void **values)
{
    SIM_CALL(call);
    (void)count;
    (void)options;
    (void)values;
    return load(&call, out, image);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    SIM_CALL(call);
    return load(&call, out, image);
}

/* The whole file with a NUL after it, or NULL. */
static char *read_file(const char *path)
{
    FILE *f = path ? fopen(path, "rbe") : NULL;
    if (!f) return NULL;
    size_t n = 0, capacity = 1 << 16;
    char *data = sim_alloc(capacity);
    for (size_t got; (got = fread(data + n, 1, capacity - n - 1, f)) > 0;) {
        n += got;
        if (capacity - n < 2) data = sim_realloc(data, capacity *= 2);
    }
    data[n] = 0;
    fclose(f);
    return data;
}

CUresult CUDAAPI cuModuleLoad(CUmodule *out, const char *path)
{
    SIM_CALL(call);
    char *image = read_file(path);
    if (!image) {
        CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
        return sim_end(&call, r ? r : CUDA_ERROR_FILE_NOT_FOUND, NULL);
    }
    CUresult r = load(&call, out, image);
    free(image);
    return r;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    SIM_CALL(call);
    struct sim_module *m = (struct sim_module *)module;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!sim_is(m, SIM_MODULE) || m->library)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        sim_wait_context(m->context);
        module_free(m);
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !mode) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *mode = CU_MODULE_LAZY_LOADING;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    SIM_CALL(call);
    struct sim_module *m = (struct sim_module *)module;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!out || !name)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(m, SIM_MODULE)) r = CUDA_ERROR_INVALID_HANDLE;
    size_t i = r ? 0 : find_entry(&m->image, name);
    if (!r && i == m->image.entry_count) r = CUDA_ERROR_NOT_FOUND;
    if (!r) *out = (CUfunction)function_of(m, i);
    return sim_end(&call, r, NULL);
}

static CUresult global(struct sim_module *m, const char *name, bool managed, CUdeviceptr *out, size_t *bytes,
                       struct sim_context *context)
{
    size_t i = 0;
    while (i < m->image.variable_count && strcmp(m->image.variables[i].name, name) != 0)
        i++;
    if (i == m->image.variable_count || (managed && !m->image.variables[i].managed))
        return CUDA_ERROR_NOT_FOUND;
    if (!m->globals[i]) {
        CUresult r = sim_storage_new(context->device, m->image.variables[i].bytes, SIM_K_MODULE, context,
                                     &m->globals[i]);
        if (r) return r;
    }
    if (out) *out = m->globals[i]->base;
    if (bytes) *bytes = m->globals[i]->bytes;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule module, const char *name)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !name) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(module, SIM_MODULE)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) r = global((struct sim_module *)module, name, false, out, bytes, sim_current(&call));
    return sim_end(&call, r, NULL);
}

#if CUDA_VERSION >= 12040
CUresult CUDAAPI cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!count || !sim_is(module, SIM_MODULE))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *count = (unsigned)((struct sim_module *)module)->image.entry_count;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *out, unsigned count, CUmodule module)
{
    SIM_CALL(call);
    struct sim_module *m = (struct sim_module *)module;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(m, SIM_MODULE))) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count && i < m->image.entry_count; i++)
        out[i] = (CUfunction)function_of(m, i);
    return sim_end(&call, r, NULL);
}
#endif

/* ---- functions' properties ----------------------------------------------------------------------------- */

static struct sim_function *as_function(const void *handle)
{
    return sim_is(handle, SIM_FUNCTION) || sim_is(handle, SIM_KERNEL_HANDLE)
               ? (struct sim_function *)(uintptr_t)handle
               : NULL;
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *out, CUfunction function)
{
    SIM_CALL(call);
    const struct sim_function *f = as_function(function);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !f) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *out = (CUmodule)f->module;
    return sim_end(&call, r, NULL);
}

static CUresult get_attribute(struct sim_call *call, int *value, CUfunction_attribute attribute,
                              const void *handle)
{
    const struct sim_function *f = as_function(handle);
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!value || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !f) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *value = f->attributes[attribute];
    return sim_end(call, r, NULL);
}

static CUresult set_attribute(struct sim_call *call, void *handle, CUfunction_attribute attribute, int value)
{
    struct sim_function *f = as_function(handle);
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r &&
        (attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || attribute >= CU_FUNC_ATTRIBUTE_MAX))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !f) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) f->attributes[attribute] = value;
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    SIM_CALL(call);
    return get_attribute(&call, value, attribute, function);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    SIM_CALL(call);
    return set_attribute(&call, function, attribute, value);
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    SIM_CALL(call);
    (void)config;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !as_function(function)) r = CUDA_ERROR_INVALID_HANDLE;
    return sim_end(&call, r, NULL);
}

#if CUDA_VERSION >= 12030
static CUresult get_name(struct sim_call *call, const char **name, const void *handle)
{
    const struct sim_function *f = as_function(handle);
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !name) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !f) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *name = f->name;
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction function)
{
    SIM_CALL(call);
    return get_name(&call, name, function);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel kernel)
{
    SIM_CALL(call);
    return get_name(&call, name, kernel);
}
#endif

#if CUDA_VERSION >= 12040
static CUresult param_info(struct sim_call *call, const void *handle, size_t index, size_t *offset,
                           size_t *bytes)
{
    const struct sim_function *f = as_function(handle);
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !f) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && (!offset || index >= f->param_count)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *offset = f->params[index].offset;
        if (bytes) *bytes = f->params[index].bytes;
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    SIM_CALL(call);
    return param_info(&call, function, index, offset, bytes);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    SIM_CALL(call);
    return param_info(&call, kernel, index, offset, bytes);
}
#endif

/* ---- libraries ----------------------------------------------------------------------------------------- */
#if CUDA_VERSION >= 12000

static CUresult library_load(struct sim_call *call, CUlibrary *out, const void *image)
{
    struct sim_module *m;
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!out || !image)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = module_new(NULL, image, &m);
    if (!r) {
        struct sim_library *l = sim_new(SIM_LIBRARY, sizeof *l);
        l->module = m;
        m->library = l;
        l->kernels = sim_alloc((m->image.entry_count + 1) * sizeof *l->kernels);
        *out = (CUlibrary)l;
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *jit, void **jit_values,
                                   unsigned jit_count, CUlibraryOption *options, void **values,
                                   unsigned count)
{
    SIM_CALL(call);
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    return library_load(&call, out, image);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit, void **jit_values,
                                       unsigned jit_count, CUlibraryOption *options, void **values,
                                       unsigned count)
{
    SIM_CALL(call);
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    char *image = read_file(path);
    if (!image) {
        CUresult r = sim_begin(&call, SIM_NEED_INIT);
        return sim_end(&call, r ? r : CUDA_ERROR_FILE_NOT_FOUND, NULL);
    }
    CUresult r = library_load(&call, out, image);
    free(image);
    return r;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    SIM_CALL(call);
    struct sim_library *l = (struct sim_library *)library;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(l, SIM_LIBRARY)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        for (int i = 0; i < sim.device_count; i++)
            sim_wait_device(i);
        for (size_t i = 0; i < l->module->image.entry_count; i++)
            function_delete(l->kernels[i]);
        free(l->kernels);
        module_free(l->module);
        sim_delete(l);
    }
    return sim_end(&call, r, NULL);
}

static struct sim_function *kernel_of(struct sim_library *l, size_t index)
{
    if (!l->kernels[index])
        l->kernels[index] = function_new(SIM_KERNEL_HANDLE, l->module, &l->module->image.entries[index]);
    return l->kernels[index];
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
    SIM_CALL(call);
    struct sim_library *l = (struct sim_library *)library;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !name)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(l, SIM_LIBRARY)) r = CUDA_ERROR_INVALID_HANDLE;
    size_t i = r ? 0 : find_entry(&l->module->image, name);
    if (!r && i == l->module->image.entry_count) r = CUDA_ERROR_NOT_FOUND;
    if (!r) *out = (CUkernel)kernel_of(l, i);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *out, CUlibrary library)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(library, SIM_LIBRARY)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *out = (CUmodule)((struct sim_library *)library)->module;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    SIM_CALL(call);
    struct sim_function *k = (struct sim_function *)kernel;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(k, SIM_KERNEL_HANDLE)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *out = (CUfunction)function_of(k->module, find_entry(&k->module->image, k->name));
    return sim_end(&call, r, NULL);
}

static CUresult library_global(struct sim_call *call, CUdeviceptr *out, size_t *bytes, CUlibrary library,
                               const char *name, bool managed)
{
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (!r && !name) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(library, SIM_LIBRARY)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        struct sim_module *m = ((struct sim_library *)library)->module;
        if (!m->context) m->context = sim_current(call);
        r = global(m, name, managed, out, bytes, sim_current(call));
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *out, size_t *bytes, CUlibrary library, const char *name)
{
    SIM_CALL(call);
    return library_global(&call, out, bytes, library, name, false);
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *out, size_t *bytes, CUlibrary library, const char *name)
{
    SIM_CALL(call);
    return library_global(&call, out, bytes, library, name, true);
}

CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                                      CUdevice device)
{
    SIM_CALL(call);
    (void)device;
    return get_attribute(&call, value, attribute, kernel);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device)
{
    SIM_CALL(call);
    (void)device;
    return set_attribute(&call, kernel, attribute, value);
}

#if CUDA_VERSION >= 12040
CUresult CUDAAPI cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!count || !sim_is(library, SIM_LIBRARY))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *count = (unsigned)((struct sim_library *)library)->module->image.entry_count;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *out, unsigned count, CUlibrary library)
{
    SIM_CALL(call);
    struct sim_library *l = (struct sim_library *)library;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(l, SIM_LIBRARY))) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count && i < l->module->image.entry_count; i++)
        out[i] = (CUkernel)kernel_of(l, i);
    return sim_end(&call, r, NULL);
}
#endif
#endif
