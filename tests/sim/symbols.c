/* cuGetProcAddress: the table of base names and versions, and the two forms of the call. */
#include <string.h>

#include "tests/sim/internal.h"

struct symbol {
    const char *base; /* as it is asked for */
    int version;      /* of CUDA, from which this form is the answer */
    void *plain, *per_thread;
    int per_thread_version;
};

#define PLAIN(base, version, symbol) {#base, version, (void *)symbol, NULL, 0},
#define PAIR(base, version, symbol, suffix, per)                                                             \
    {#base, version, (void *)symbol, (void *)symbol##suffix, per},

static const struct symbol symbols[] = {
#include "tests/sim/symbols.def"
};

CUresult sim_symbol(const char *name, int version, cuuint64_t flags, void **pfn,
                    CUdriverProcAddressQueryResult *why)
{
    const struct symbol *best = NULL;
    bool known = false;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const struct symbol *s = &symbols[i];
        if (strcmp(s->base, name) != 0 || s->version > sim.driver_version) continue;
        known = true;
        if (s->version <= version && (!best || s->version > best->version)) best = s;
    }
    *why = best    ? CU_GET_PROC_ADDRESS_SUCCESS
           : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!best) return CUDA_ERROR_NOT_FOUND;
    bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) && best->per_thread &&
                      version >= best->per_thread_version;
    *pfn = per_thread ? best->per_thread : best->plain;
    return CUDA_SUCCESS;
}

static CUresult get(struct sim_call *call, const char *name, void **pfn, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *why)
{
    CUdriverProcAddressQueryResult ignored;
    CUresult r = sim_begin(call, SIM_NEED_NOTHING);
    const cuuint64_t both = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!r && (!name || !pfn || (flags & ~both) || (flags & both) == both)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_symbol(name, version, flags, pfn, why ? why : &ignored);
    return sim_end(call, r, NULL);
}

/* Up to CUDA 11.8: 500 for what is not there. */
CUresult CUDAAPI cuGetProcAddress(const char *name, void **pfn, int version, cuuint64_t flags)
{
    SIM_CALL(call);
    return get(&call, name, pfn, version, flags, NULL);
}

#if CUDA_VERSION >= 12000
/* From CUDA 12.0: success for what is not there, the pointer untouched, the reason in `why`. */
CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **pfn, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *why)
{
    SIM_CALL(call);
    CUresult r = get(&call, name, pfn, version, flags, why);
    return r == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : r;
}
#endif

/* The private tables of the real driver are not simulated: none is found. */
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_NOTHING);
    if (!r && (!table || !id)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *table = NULL;
        r = CUDA_ERROR_NOT_FOUND;
    }
    return sim_end(&call, r, NULL);
}
