/* A tool that some other profiler has set: it has push, pop, start, end, domains and strings of its own, with
 * numbers that are told from ours, and prints what it is given. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static char domain_object, string_object;

static int push(const char *message)
{
    printf("tool push %s\n", message);
    return 70;
}
static int pop(void)
{
    printf("tool pop\n");
    return 71;
}
static nvtxRangeId_t start(const char *message)
{
    printf("tool start %s\n", message);
    return 4711;
}
static void end(nvtxRangeId_t id)
{
    printf("tool end %llu\n", (unsigned long long)id);
}
static nvtxDomainHandle_t create(const char *name)
{
    printf("tool domain %s\n", name);
    return (nvtxDomainHandle_t)(void *)&domain_object;
}
static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char *string)
{
    printf("tool string %s %d\n", string, (void *)domain == (void *)&domain_object);
    return (nvtxStringHandle_t)(void *)&string_object;
}
static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    printf("tool domain push %d %d\n", (void *)domain == (void *)&domain_object,
           (void *)event->message.registered == (void *)&string_object);
    return 72;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable core, core2;
    unsigned size;

    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size) ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &size))
        return 0;
    printf("tool init\n");
    *core[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *core[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    *core[NVTX_CBID_CORE_RangeStartA] = (NvtxFunctionPointer)start;
    *core[NVTX_CBID_CORE_RangeEnd] = (NvtxFunctionPointer)end;
    *core2[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
    *core2[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
    *core2[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)domain_push;
    return 1;
}
