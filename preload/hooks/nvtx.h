/* NVTX: what its parts share.
 *
 * Each program and each shared object that uses NVTX holds its own copy of it, which asks for a tool at its
 * first call: nvtx.c answers. nvtx_calls.c are the functions that it then calls, nvtx_objects.c domains,
 * registered strings and categories. */
#ifndef CGTRACE_PRELOAD_HOOKS_NVTX_H
#define CGTRACE_PRELOAD_HOOKS_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "preload/hooks/cuda.h"
#include "preload/hooks/handles.h"
#include "preload/record/ring.h"

/* The types alone: with the bodies NVTX would look for a tool on our own behalf. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#define NVTX(module, name, returns, parameters) typedef returns nvtx_fn_##name parameters;
#include "preload/hooks/nvtx.def"
#undef NVTX

#define NVTX(module, name, returns, parameters) nvtx_fn_##name nvtx_##name;
#include "preload/hooks/nvtx.def"
#undef NVTX

/* The functions of a tool that was set before us, called after ours; NULL where it has none. What they return
 * is what the program gets. */
struct nvtx_tool {
#define NVTX(module, name, returns, parameters) nvtx_fn_##name *name;
#include "preload/hooks/nvtx.def"
#undef NVTX
};
extern struct nvtx_tool nvtx_tool;

/* A text of ours. */
struct nvtx_text {
    _Atomic uint32_t known; /* its string's number; 0: not asked for yet */
    uint32_t length;
    bool given_out; /* the program holds its address as a handle: no tool gave it one */
    char bytes[];
};
struct nvtx_domain {
    uint16_t index; /* 0: the default domain */
    struct nvtx_text *name;
};

/* Number of a text's string. */
uint32_t nvtx_text_number_first(struct nvtx_text *text);
static inline uint32_t nvtx_text_number(struct nvtx_text *text)
{
    uint32_t known = atomic_load_explicit(&text->known, memory_order_relaxed);

    return likely(known) ? known : nvtx_text_number_first(text);
}
/* As UTF-8, at most NVTX_WIDE_BYTES of it; what is no character becomes U+FFFD. Returns the length. */
enum { NVTX_WIDE_BYTES = 4096 };
size_t nvtx_narrow(char out[NVTX_WIDE_BYTES], const wchar_t *text);

enum { NVTX_DOMAINS_MAX = 4096 };
extern HIDDEN struct nvtx_domain nvtx_domains[NVTX_DOMAINS_MAX]; /* the first is the default one */
extern HIDDEN struct handle_map nvtx_domain_handles;             /* struct nvtx_domain * */
extern HIDDEN struct handle_map nvtx_string_handles;             /* struct nvtx_text * */

static inline bool nvtx_domain_is_ours(nvtxDomainHandle_t handle)
{
    return (uintptr_t)handle - (uintptr_t)nvtx_domains < sizeof nvtx_domains;
}

/* Domain of a handle; the default one for NULL and for what is no handle. */
static inline const struct nvtx_domain *nvtx_domain(nvtxDomainHandle_t handle)
{
    uint64_t known;

    /* Known by where it stands, before it is looked up; but what is no handle may point in between. */
    if (nvtx_domain_is_ours(handle)) {
        size_t index = ((uintptr_t)handle - (uintptr_t)nvtx_domains) / sizeof *nvtx_domains;

        return &nvtx_domains[nvtx_domains[index].name ? index : 0];
    }
    known = handle ? handle_get(&nvtx_domain_handles, (uintptr_t)handle) : 0;
    return known ? (const struct nvtx_domain *)(uintptr_t)known : &nvtx_domains[0];
}
/* Makes the handle (a tool's, or NULL: one of ours) that of the domain with this name. Returns the handle. */
nvtxDomainHandle_t nvtx_domain_add(nvtxDomainHandle_t handle, const char *name, size_t length);
/* The same for a registered string. */
nvtxStringHandle_t nvtx_string_add(nvtxStringHandle_t handle, const char *string, size_t length);
/* NULL: no such string. */
static inline struct nvtx_text *nvtx_string(nvtxStringHandle_t handle)
{
    return (struct nvtx_text *)(uintptr_t)handle_get(&nvtx_string_handles, (uintptr_t)handle);
}

void nvtx_category_add(const struct nvtx_domain *domain, uint32_t category, const char *name, size_t length);
/* Number of the category's name, or of its digits; 0 for category 0. */
uint32_t nvtx_category(const struct nvtx_domain *domain, uint32_t category);

/* The name of a stream, which it keeps until it is destroyed. */
void nvtx_stream_add(CUstream stream, const char *name, size_t length);

/* What a tool is given for a handle: NULL for one that is ours. */
nvtxDomainHandle_t nvtx_tools_domain(nvtxDomainHandle_t handle);

/* A tool's number of a range that was started, and ours. */
void nvtx_range_add(nvtxRangeId_t tools, uint64_t ours);
uint64_t nvtx_range_take(nvtxRangeId_t tools);

#endif
