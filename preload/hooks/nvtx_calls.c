/* The functions that NVTX calls in a program's place of its own. Each records, then calls the tool that was
 * set before us, if any; what that returns is what the program gets. */
#include <stdio.h>
#include <string.h>

#include "preload/hooks/nvtx.h"
#include "preload/hooks/state.h"
#include "preload/record/recent.h"
#include "preload/record/record.h"
#include "preload/record/span_plain.h"
#include "preload/unnoticed.h"

/* ---- what a program says of a range ---- */

/* Not inline: its room on the stack is not that of every push. */
static __attribute__((noinline)) uint32_t wide_number(const wchar_t *text)
{
    char narrow[NVTX_WIDE_BYTES];

    return text ? record_string(narrow, nvtx_narrow(narrow, text)) : 0;
}

static uint32_t message_number(const nvtxEventAttributes_t *event)
{
    switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return record_text(event->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return wide_number(event->message.unicode);
    default:
        return 0;
    }
}

static inline uint32_t registered_number(nvtxStringHandle_t string)
{
    struct nvtx_text *text = nvtx_string(string);

    return text ? nvtx_text_number(text) : 0;
}

/* Not inline, see FLOATS_HELD. */
static __attribute__((noinline)) void widen(const nvtxEventAttributes_t *event, double *real)
{
    *real = (double)event->payload.fValue;
}

static __attribute__((noinline)) double float_payload(const nvtxEventAttributes_t *event)
{
    FLOATS_HELD;
    double real;

    widen(event, &real);
    return real;
}

/* Its type, and its bits. */
static inline __attribute__((always_inline)) enum cap_payload read_payload(const nvtxEventAttributes_t *event,
                                                                           uint64_t *bits)
{
    double real;

    *bits = 0;
    if (likely(event->payloadType == NVTX_PAYLOAD_UNKNOWN)) return CAP_PAYLOAD_NONE;
    switch (event->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        *bits = event->payload.ullValue;
        return CAP_PAYLOAD_U64;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        *bits = event->payload.uiValue;
        return CAP_PAYLOAD_U64;
    case NVTX_PAYLOAD_TYPE_INT64:
        *bits = (uint64_t)event->payload.llValue;
        return CAP_PAYLOAD_I64;
    case NVTX_PAYLOAD_TYPE_INT32:
        *bits = (uint64_t)(int64_t)event->payload.iValue;
        return CAP_PAYLOAD_I64;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
        real = event->payload.dValue;
        break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
        real = float_payload(event);
        break;
    default: /* none, or of a kind that is not known */
        return CAP_PAYLOAD_NONE;
    }
    memcpy(bits, &real, sizeof real);
    return CAP_PAYLOAD_F64;
}

static inline __attribute__((always_inline)) struct record_range
read_event(const struct nvtx_domain *domain, const nvtxEventAttributes_t *event)
{
    struct record_range range = {.stack = domain->index};

    if (domain->index) range.domain = nvtx_text_number(domain->name);
    if (!event || event->size < sizeof *event) return range;
    range.name = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED
                     ? registered_number(event->message.registered)
                     : message_number(event);
    if (event->category) range.category = nvtx_category(domain, event->category);
    range.has_color = event->colorType == NVTX_COLOR_ARGB;
    if (range.has_color) range.color = event->color;
    range.payload_type = (uint8_t)read_payload(event, &range.payload);
    return range;
}

/* The event as a tool knows it: without handles that it did not give out. */
static const nvtxEventAttributes_t *tools_event(const nvtxEventAttributes_t *event,
                                                nvtxEventAttributes_t *copy)
{
    struct nvtx_text *text;

    if (!event || event->size < sizeof *event || event->messageType != NVTX_MESSAGE_TYPE_REGISTERED)
        return event;
    text = nvtx_string(event->message.registered);
    if (!text || !text->given_out) return event;
    *copy = *event;
    copy->message.registered = NULL;
    return copy;
}

/* ---- push and pop ---- */

static __attribute__((noinline)) int push_event_slowly(nvtxDomainHandle_t domain,
                                                       const nvtxEventAttributes_t *event)
{
    struct record_call call;

    if (!record_enter_followed(&call, 0)) return NVTX_NO_PUSH_POP_TRACKING;
    const struct record_range range = read_event(nvtx_domain(domain), event);
    return record_range_push(&call, &range);
}

static int push_event(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    struct record_plain call;

    if (likely(record_enter_plain(&call))) {
        const struct record_range range = read_event(nvtx_domain(domain), event);
        int level = range_plain_push(&call, &range);

        record_leave_plain(&call);
        if (likely(level >= 0)) return level;
    }
    return push_event_slowly(domain, event);
}

static __attribute__((noinline)) int push_text_slowly(const char *message)
{
    struct record_call call;

    if (!record_enter_followed(&call, 0)) return NVTX_NO_PUSH_POP_TRACKING;
    const struct record_range range = {.name = record_text(message)};
    return record_range_push(&call, &range);
}

static inline __attribute__((always_inline)) int push_text(const char *message)
{
    struct record_plain call;
    /* One that the thread has pushed before. */
    uint32_t known = record_text_known(message);

    if (likely(known && record_enter_plain(&call))) {
        const struct record_range range = {.name = known};
        int level = range_plain_push(&call, &range);

        record_leave_plain(&call);
        if (likely(level >= 0)) return level;
    }
    return push_text_slowly(message);
}

static __attribute__((noinline)) int pop_slowly(uint32_t stack)
{
    struct record_call call;

    if (!record_enter_end(&call, 0)) {
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    return record_range_pop(&call, stack);
}

static inline __attribute__((always_inline)) int pop(nvtxDomainHandle_t domain)
{
    struct record_plain call;
    uint32_t stack = domain ? nvtx_domain(domain)->index : 0;

    if (likely(record_enter_plain(&call))) {
        int level = range_plain_pop(&call, stack);

        record_leave_plain(&call);
        if (likely(level >= 0)) return level;
    }
    return pop_slowly(stack);
}

int nvtx_RangePushEx(const nvtxEventAttributes_t *event)
{
    nvtxEventAttributes_t copy;
    int level = push_event(NULL, event);

    return nvtx_tool.RangePushEx ? nvtx_tool.RangePushEx(tools_event(event, &copy)) : level;
}

int nvtx_RangePushA(const char *message)
{
    int level = push_text(message);

    return nvtx_tool.RangePushA ? nvtx_tool.RangePushA(message) : level;
}

int nvtx_RangePushW(const wchar_t *message)
{
    struct record_call call;
    int level = NVTX_NO_PUSH_POP_TRACKING;

    if (record_enter_followed(&call, 0)) {
        struct record_range range = {.name = wide_number(message)};

        level = record_range_push(&call, &range);
    }
    return nvtx_tool.RangePushW ? nvtx_tool.RangePushW(message) : level;
}

int nvtx_RangePop(void)
{
    int level = pop(NULL);

    return nvtx_tool.RangePop ? nvtx_tool.RangePop() : level;
}

int nvtx_DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    nvtxEventAttributes_t copy;
    int level = push_event(domain, event);

    return nvtx_tool.DomainRangePushEx
               ? nvtx_tool.DomainRangePushEx(nvtx_tools_domain(domain), tools_event(event, &copy))
               : level;
}

int nvtx_DomainRangePop(nvtxDomainHandle_t domain)
{
    int level = pop(domain);

    return nvtx_tool.DomainRangePop ? nvtx_tool.DomainRangePop(nvtx_tools_domain(domain)) : level;
}

/* ---- start and end ---- */

static uint64_t start_event(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    struct record_call call;
    struct record_range range;

    if (!record_enter_followed(&call, 0)) return 0;
    range = read_event(nvtx_domain(domain), event);
    return record_range_start(&call, &range);
}

static uint64_t start_named(const char *narrow, const wchar_t *wide)
{
    struct record_call call;
    struct record_range range = {.name = 0};

    if (!record_enter_followed(&call, 0)) return 0;
    range.name = wide ? wide_number(wide) : record_text(narrow);
    return record_range_start(&call, &range);
}

/* The tool's number is what the program gets. */
static nvtxRangeId_t tools_range(nvtxRangeId_t tools, uint64_t ours)
{
    nvtx_range_add(tools, ours);
    return tools;
}

static void end(nvtxRangeId_t id)
{
    struct record_call call;

    if (record_enter_end(&call, 0))
        record_range_end(&call, id);
    else
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
}

nvtxRangeId_t nvtx_RangeStartEx(const nvtxEventAttributes_t *event)
{
    nvtxEventAttributes_t copy;
    uint64_t ours = start_event(NULL, event);

    return nvtx_tool.RangeStartEx ? tools_range(nvtx_tool.RangeStartEx(tools_event(event, &copy)), ours)
                                  : ours;
}

nvtxRangeId_t nvtx_RangeStartA(const char *message)
{
    uint64_t ours = start_named(message, NULL);

    return nvtx_tool.RangeStartA ? tools_range(nvtx_tool.RangeStartA(message), ours) : ours;
}

nvtxRangeId_t nvtx_RangeStartW(const wchar_t *message)
{
    uint64_t ours = start_named(NULL, message);

    return nvtx_tool.RangeStartW ? tools_range(nvtx_tool.RangeStartW(message), ours) : ours;
}

nvtxRangeId_t nvtx_DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    nvtxEventAttributes_t copy;
    uint64_t ours = start_event(domain, event);

    return nvtx_tool.DomainRangeStartEx
               ? tools_range(
                     nvtx_tool.DomainRangeStartEx(nvtx_tools_domain(domain), tools_event(event, &copy)), ours)
               : ours;
}

void nvtx_RangeEnd(nvtxRangeId_t id)
{
    bool tools = nvtx_tool.RangeStartEx || nvtx_tool.RangeStartA || nvtx_tool.RangeStartW;

    end(tools ? nvtx_range_take(id) : id);
    if (nvtx_tool.RangeEnd) nvtx_tool.RangeEnd(id);
}

void nvtx_DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    end(nvtx_tool.DomainRangeStartEx ? nvtx_range_take(id) : id);
    if (nvtx_tool.DomainRangeEnd) nvtx_tool.DomainRangeEnd(nvtx_tools_domain(domain), id);
}

/* ---- marks ---- */

static void mark_event(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    struct record_call call;
    struct record_range range;

    if (!record_enter(&call, 0)) return;
    range = read_event(nvtx_domain(domain), event);
    record_mark(&call, &range);
}

void nvtx_MarkEx(const nvtxEventAttributes_t *event)
{
    nvtxEventAttributes_t copy;

    mark_event(NULL, event);
    if (nvtx_tool.MarkEx) nvtx_tool.MarkEx(tools_event(event, &copy));
}

void nvtx_MarkA(const char *message)
{
    struct record_call call;

    if (record_enter(&call, 0)) record_mark(&call, &(struct record_range){.name = record_text(message)});
    if (nvtx_tool.MarkA) nvtx_tool.MarkA(message);
}

void nvtx_MarkW(const wchar_t *message)
{
    struct record_call call;

    if (record_enter(&call, 0)) record_mark(&call, &(struct record_range){.name = wide_number(message)});
    if (nvtx_tool.MarkW) nvtx_tool.MarkW(message);
}

void nvtx_DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    nvtxEventAttributes_t copy;

    mark_event(domain, event);
    if (nvtx_tool.DomainMarkEx) nvtx_tool.DomainMarkEx(nvtx_tools_domain(domain), tools_event(event, &copy));
}

/* ---- domains, registered strings, categories: the tool first, since its handle is the program's ---- */

nvtxDomainHandle_t nvtx_DomainCreateA(const char *name)
{
    nvtxDomainHandle_t handle = nvtx_tool.DomainCreateA ? nvtx_tool.DomainCreateA(name) : NULL;

    return name ? nvtx_domain_add(handle, name, strlen(name)) : handle;
}

nvtxDomainHandle_t nvtx_DomainCreateW(const wchar_t *name)
{
    nvtxDomainHandle_t handle = nvtx_tool.DomainCreateW ? nvtx_tool.DomainCreateW(name) : NULL;
    char narrow[NVTX_WIDE_BYTES];

    return name ? nvtx_domain_add(handle, narrow, nvtx_narrow(narrow, name)) : handle;
}

nvtxStringHandle_t nvtx_DomainRegisterStringA(nvtxDomainHandle_t domain, const char *string)
{
    nvtxStringHandle_t handle = nvtx_tool.DomainRegisterStringA
                                    ? nvtx_tool.DomainRegisterStringA(nvtx_tools_domain(domain), string)
                                    : NULL;

    return string ? nvtx_string_add(handle, string, strlen(string)) : handle;
}

nvtxStringHandle_t nvtx_DomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t *string)
{
    nvtxStringHandle_t handle = nvtx_tool.DomainRegisterStringW
                                    ? nvtx_tool.DomainRegisterStringW(nvtx_tools_domain(domain), string)
                                    : NULL;
    char narrow[NVTX_WIDE_BYTES];

    return string ? nvtx_string_add(handle, narrow, nvtx_narrow(narrow, string)) : handle;
}

/* A name that has come narrow or wide. */
struct label {
    const char *bytes;
    size_t length;
};

static struct label label_of(const char *narrow, const wchar_t *wide, char room[NVTX_WIDE_BYTES])
{
    if (narrow) return (struct label){narrow, strlen(narrow)};
    return (struct label){room, wide ? nvtx_narrow(room, wide) : 0};
}

static void name_category(nvtxDomainHandle_t domain, uint32_t category, const char *narrow,
                          const wchar_t *wide)
{
    char room[NVTX_WIDE_BYTES];
    struct label label = label_of(narrow, wide, room);

    nvtx_category_add(nvtx_domain(domain), category, label.bytes, label.length);
}

void nvtx_NameCategoryA(uint32_t category, const char *name)
{
    name_category(NULL, category, name, NULL);
    if (nvtx_tool.NameCategoryA) nvtx_tool.NameCategoryA(category, name);
}

void nvtx_NameCategoryW(uint32_t category, const wchar_t *name)
{
    name_category(NULL, category, NULL, name);
    if (nvtx_tool.NameCategoryW) nvtx_tool.NameCategoryW(category, name);
}

void nvtx_DomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    name_category(domain, category, name, NULL);
    if (nvtx_tool.DomainNameCategoryA)
        nvtx_tool.DomainNameCategoryA(nvtx_tools_domain(domain), category, name);
}

void nvtx_DomainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name)
{
    name_category(domain, category, NULL, name);
    if (nvtx_tool.DomainNameCategoryW)
        nvtx_tool.DomainNameCategoryW(nvtx_tools_domain(domain), category, name);
}

/* ---- names of threads, devices and streams ---- */

static void name_thing(const char *kind, const char *identity, const char *narrow, const wchar_t *wide)
{
    char room[NVTX_WIDE_BYTES];
    struct label label = label_of(narrow, wide, room);

    record_name(kind, identity, label.bytes, label.length);
}

static void name_numbered(const char *kind, const char *prefix, uint32_t number, const char *narrow,
                          const wchar_t *wide)
{
    char identity[32];

    snprintf(identity, sizeof identity, "%s%u", prefix, number);
    name_thing(kind, identity, narrow, wide);
}

/* By its name in the trace, which it gets when it is first used. */
static void name_stream(CUstream stream, const char *narrow, const wchar_t *wide)
{
    char room[NVTX_WIDE_BYTES];
    struct label label = label_of(narrow, wide, room);

    nvtx_stream_add(stream, label.bytes, label.length);
}

/* A name that comes in both forms: what names the thing in the trace, given narrow and wide. */
#define NAMES(function, type, record)                                                                        \
    void nvtx_##function##A(type thing, const char *name)                                                    \
    {                                                                                                        \
        const wchar_t *wide = NULL;                                                                          \
        record;                                                                                              \
        if (nvtx_tool.function##A) nvtx_tool.function##A(thing, name);                                       \
    }                                                                                                        \
    void nvtx_##function##W(type thing, const wchar_t *wide)                                                 \
    {                                                                                                        \
        const char *name = NULL;                                                                             \
        record;                                                                                              \
        if (nvtx_tool.function##W) nvtx_tool.function##W(thing, wide);                                       \
    }
NAMES(NameOsThread, uint32_t, name_numbered("thread", "", thing, name, wide))
NAMES(NameCuDevice, CUdevice, name_numbered("device", "cuda:", (uint32_t)thing, name, wide))
NAMES(NameCudaDevice, int, name_numbered("device", "cuda:", (uint32_t)thing, name, wide))
NAMES(NameCuStream, CUstream, name_stream(thing, name, wide))
NAMES(NameCudaStream, CUstream, name_stream(thing, name, wide))
