/* Domains, registered strings and categories: they outlive sessions (a forked child goes on using its
 * parent's), and making them opens none. Their handles are looked up, never followed: a handle may be a
 * tool's, or wrong. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/utf8.h"
#include "preload/hooks/handles.h"
#include "preload/hooks/nvtx.h"
#include "preload/hooks/state.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"

enum { BLOCK_BYTES = 256 << 10, TEXTS_BYTES_MAX = 64 << 20 };

struct nvtx_domain nvtx_domains[NVTX_DOMAINS_MAX];
_Static_assert(NVTX_DOMAINS_MAX <= UINT16_MAX, "their indices fit");
static uint32_t domains_used = 1;
HANDLE_MAP(nvtx_domain_handles);
HANDLE_MAP(nvtx_string_handles);
static HANDLE_MAP(category_handles); /* the same; domain << 32 | category */
static HANDLE_MAP(range_handles);    /* our number of the range */

/* ---- texts ---- */

static char *block;
static size_t block_rest, texts_bytes;

/* Called with names_lock held. NULL: no memory. */
static struct nvtx_text *new_text(const char *bytes, size_t length)
{
    struct nvtx_text *text;
    size_t size;

    if (length > CAP_STRING_MAX) length = CAP_STRING_MAX;
    size = (sizeof *text + length + 1 + 15) & ~(size_t)15;
    if (size > block_rest) {
        char *map = MAP_FAILED;

        if (texts_bytes < TEXTS_BYTES_MAX)
            map = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) return NULL;
        block = map;
        block_rest = BLOCK_BYTES;
        texts_bytes += BLOCK_BYTES;
    }
    text = (struct nvtx_text *)block;
    block += size;
    block_rest -= size;
    text->length = (uint32_t)length;
    memcpy(text->bytes, bytes, length);
    return text;
}

uint32_t nvtx_text_number_first(struct nvtx_text *text)
{
    uint32_t number = record_string(text->bytes, text->length);

    if (number) atomic_store_explicit(&text->known, number, memory_order_relaxed);
    return number;
}

size_t nvtx_narrow(char out[NVTX_WIDE_BYTES], const wchar_t *text)
{
    size_t length = 0;

    for (; *text && length + 4 <= NVTX_WIDE_BYTES; text++) {
        uint32_t code = (uint32_t)*text;

        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
        length += utf8_encode(code, out + length);
    }
    return length;
}

/* ---- domains ---- */

/* Called with names_lock held. The domain with this name, a new one when there is none; NULL: no room. */
static struct nvtx_domain *domain_named(const char *name, size_t length)
{
    struct nvtx_text *text;

    for (uint32_t i = 1; i < domains_used; i++)
        if (nvtx_domains[i].name->length == length && memcmp(nvtx_domains[i].name->bytes, name, length) == 0)
            return &nvtx_domains[i];
    if (domains_used == NVTX_DOMAINS_MAX || !(text = new_text(name, length))) return NULL;
    nvtx_domains[domains_used] = (struct nvtx_domain){(uint16_t)domains_used, text};
    return &nvtx_domains[domains_used++];
}

nvtxDomainHandle_t nvtx_domain_add(nvtxDomainHandle_t handle, const char *name, size_t length)
{
    int past = errno;
    struct nvtx_domain *domain;

    lock_take(&record_page->names_lock);
    domain = domain_named(name, length);
    lock_give(&record_page->names_lock);
    if (domain) {
        if (!handle) handle = (nvtxDomainHandle_t)(void *)domain;
        handle_put(&nvtx_domain_handles, (uintptr_t)handle, (uintptr_t)domain, 0);
    }
    errno = past;
    return handle;
}

nvtxDomainHandle_t nvtx_tools_domain(nvtxDomainHandle_t handle)
{
    return nvtx_domain_is_ours(handle) ? NULL : handle;
}

/* ---- registered strings ---- */

nvtxStringHandle_t nvtx_string_add(nvtxStringHandle_t handle, const char *string, size_t length)
{
    int past = errno;
    struct nvtx_text *text;

    lock_take(&record_page->names_lock);
    text = new_text(string, length);
    lock_give(&record_page->names_lock);
    if (text) {
        text->given_out = !handle;
        if (!handle) handle = (nvtxStringHandle_t)(void *)text;
        handle_put(&nvtx_string_handles, (uintptr_t)handle, (uintptr_t)text, 0);
    }
    errno = past;
    return handle;
}

/* ---- categories ---- */

static uint64_t category_key(const struct nvtx_domain *domain, uint32_t category)
{
    return (uint64_t)domain->index << 32 | category;
}

void nvtx_category_add(const struct nvtx_domain *domain, uint32_t category, const char *name, size_t length)
{
    int past = errno;
    struct nvtx_text *text;

    if (!category) return;
    lock_take(&record_page->names_lock);
    text = new_text(name, length);
    lock_give(&record_page->names_lock);
    if (text) handle_put(&category_handles, category_key(domain, category), (uintptr_t)text, 0);
    errno = past;
}

uint32_t nvtx_category(const struct nvtx_domain *domain, uint32_t category)
{
    uint64_t known = category ? handle_get(&category_handles, category_key(domain, category)) : 0;
    char digits[16];

    if (!category) return 0;
    if (known) return nvtx_text_number((struct nvtx_text *)(uintptr_t)known);
    return record_string(digits, (size_t)snprintf(digits, sizeof digits, "%u", category));
}

/* ---- streams ---- */

static void record_stream(uint32_t string, const struct nvtx_text *name)
{
    char identity[32];

    record_string_copy(string, identity, sizeof identity);
    record_name("stream", identity, name->bytes, name->length);
}

void nvtx_stream_add(CUstream stream, const char *name, size_t length)
{
    int past = errno;
    uint64_t used = handle_get(&handle_streams, (uintptr_t)stream);
    struct nvtx_text *text;

    lock_take(&record_page->names_lock);
    text = new_text(name, length);
    lock_give(&record_page->names_lock);
    if (text) {
        handle_put(&handle_stream_names, (uintptr_t)stream, (uintptr_t)text, 0);
        if ((uint32_t)used) record_stream((uint32_t)used, text);
    }
    errno = past;
}

void hook_stream_numbered(CUstream stream, uint32_t string)
{
    uint64_t known = handle_get(&handle_stream_names, (uintptr_t)stream);

    if (known && string) record_stream(string, (const struct nvtx_text *)(uintptr_t)known);
}

/* ---- ranges that a tool has numbered ---- */

void nvtx_range_add(nvtxRangeId_t tools, uint64_t ours)
{
    if (ours) handle_put(&range_handles, tools, ours, 0);
}

uint64_t nvtx_range_take(nvtxRangeId_t tools)
{
    uint64_t ours = handle_get(&range_handles, tools);

    if (ours) handle_forget(&range_handles, tools);
    return ours;
}
