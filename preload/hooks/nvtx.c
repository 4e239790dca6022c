/* How NVTX comes to call us: it loads the library that NVTX_INJECTION64_PATH names, so that variable is set
 * to this library when the process begins. A tool that the variable named before is called after us. */
#include "preload/hooks/nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/resolve/resolve.h"

#define VARIABLE "NVTX_INJECTION64_PATH"
/* For programs that this one starts: what VARIABLE named before. */
#define KEPT "CGTRACE_NVTX_NEXT"

#define EXPORT __attribute__((visibility("default")))

struct nvtx_tool nvtx_tool;

static char tool_path[PATH_MAX];

/* For old libnvToolsExt, and for NVTX 3. */
EXPORT int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_table);
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

/* Part of the program from its start. A process that inherits the variable without LD_PRELOAD has this
 * library loaded by NVTX, too late to see anything else: there it is only a way to the tool behind it. */
static bool preloaded(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    bool found = program && resolve_true_dlsym()(program, "InitializeInjectionNvtx2") ==
                                (void *)InitializeInjectionNvtx2;

    if (program) dlclose(program);
    return found;
}

static bool wanted(void)
{
    return session.settings_good && !session.settings.disable &&
           (session.settings.record & CG_RECORD_SPAN || *session.settings.range);
}

static bool same_file(const char *own, const char *path)
{
    char real[PATH_MAX];

    return realpath(path, real) && strcmp(own, real) == 0;
}

__attribute__((constructor)) static void announce(void)
{
    char own[PATH_MAX];
    Dl_info library;
    int past = errno;
    const char *tool = getenv(VARIABLE);

    session_load();
    if (!dladdr((void *)InitializeInjectionNvtx2, &library) || !realpath(library.dli_fname, own)) return;
    if (tool && same_file(own, tool)) tool = getenv(KEPT);
    if (tool && strlen(tool) < sizeof tool_path) strcpy(tool_path, tool);
    if (wanted() && preloaded()) {
        if (tool_path[0]) setenv(KEPT, tool_path, 1);
        setenv(VARIABLE, own, 1);
    }
    dlerror(); /* a failure on the way is nobody's business */
    errno = past;
}

/* ---- attaching ---- */

struct row {
    NvtxCallbackModule module;
    unsigned number;
    NvtxFunctionPointer ours;
    NvtxFunctionPointer *tools; /* where in nvtx_tool */
};
static const struct row rows[] = {
#define NVTX(module, name, returns, parameters)                                                              \
    {NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, (NvtxFunctionPointer)nvtx_##name,                 \
     (NvtxFunctionPointer *)(void *)&nvtx_tool.name},
#include "preload/hooks/nvtx.def"
#undef NVTX
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Where one copy of NVTX keeps its function of each row; NULL where it has none (older copies). */
static bool find_slots(NvtxGetExportTableFunc_t get_table, NvtxFunctionPointer *slots[ROWS])
{
    const NvtxExportTableCallbacks *callbacks = get_table ? get_table(NVTX_ETID_CALLBACKS) : NULL;

    if (!callbacks || callbacks->struct_size < sizeof *callbacks || !callbacks->GetModuleFunctionTable)
        return false;
    for (unsigned i = 0; i < ROWS; i++) {
        NvtxFunctionTable table = NULL;
        unsigned size = 0;

        slots[i] = NULL;
        if (callbacks->GetModuleFunctionTable(rows[i].module, &table, &size) && table &&
            rows[i].number < size)
            slots[i] = table[rows[i].number];
    }
    return true;
}

/* Calls the tool's initialiser of this name. 0: there is no tool, or it wants none of it. */
static int start_tool(NvtxGetExportTableFunc_t get_table, const char *name)
{
    NvtxInitializeInjectionNvtxFunc_t start;
    void *tool;

    if (!tool_path[0] || !(tool = dlopen(tool_path, RTLD_LAZY))) {
        dlerror();
        return 0;
    }
    start = (NvtxInitializeInjectionNvtxFunc_t)resolve_true_dlsym()(tool, name);
    return start ? start(get_table) : 0;
}

static int attach(NvtxGetExportTableFunc_t get_table, const char *name)
{
    NvtxFunctionPointer *slots[ROWS], before[ROWS];
    bool ours = wanted() && preloaded() && find_slots(get_table, slots);
    int started;

    for (unsigned i = 0; ours && i < ROWS; i++)
        before[i] = slots[i] ? *slots[i] : NULL;
    started = start_tool(get_table, name);
    if (!ours) return started;
    for (unsigned i = 0; i < ROWS; i++) {
        if (!slots[i]) continue;
        if (started && *slots[i] != before[i] && !*rows[i].tools) *rows[i].tools = *slots[i];
        *slots[i] = rows[i].ours;
    }
    return 1;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    return attach(get_table, "InitializeInjectionNvtx2");
}

int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_table)
{
    return attach(get_table, "InitializeInjectionNvtx");
}
