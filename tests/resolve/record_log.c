/* A stand-in for the recorder: every record becomes a line in the file CGT_TEST_LOG, so that tests of the
 * hooks see what the hooks say and nothing else. One write a line; a thread inside a hook is refused, as the
 * recorder does. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/hooks/hooks.h"
#include "preload/hooks/state.h"
#include "preload/record/stacks.h"
#include "preload/record/record.h"

static char strings[4096][256];
static uint32_t used = 1;

static void line(const char *format, ...)
{
    static int log = -1;
    const char *path = getenv("CGT_TEST_LOG");
    if (log < 0 && path) log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return;
    char text[1024];
    int kept = errno;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text - 1, format, list);
    va_end(list);
    text[length++] = '\n';
    if (write(log, text, (size_t)length) != length) abort();
    errno = kept; /* as the recorder does */
}

static const char *device(uint8_t number)
{
    static _Thread_local char text[8];
    if (number == CAP_NO_DEVICE) return "cpu";
    snprintf(text, sizeof text, "%d", number);
    return text;
}

/* A session that is open from the start; the recorder's own inline functions enter it and leave it. */
static struct record_page page = {.generation = 1};
struct record_page *record_page = &page;
bool record_tsc;
__thread struct record_thread record_self __attribute__((tls_model("initial-exec"))) = {.generation = 1, .peer = &record_nobody};
struct record_peer record_nobody;
bool (*record_synchronise)(void);
enum record_entered record_enter_slow(struct record_call *call, uint16_t api, unsigned interest,
                                      uintptr_t frame)
{
    return (void)call, (void)api, (void)interest, (void)frame, RECORD_REFUSED;
}
bool record_is_still_inside(struct record_thread *thread, uintptr_t frame)
{
    return (void)thread, (void)frame, true;
}
bool record_frame_is_gone(uintptr_t frame, uintptr_t now)
{
    return (void)frame, (void)now, false;
}
void record_nested(void)
{
    line("nested");
}

void record_op(struct record_call *call, int result, uint32_t stream, uint64_t bytes)
{
    line("op %s result=%d device=%s stream=%s bytes=%" PRIu64, hook_api_names[call->api], result,
         device(call->device), strings[stream], bytes);
    record_leave(call);
}
void record_launch(struct record_call *call, int result, const struct record_launch *l)
{
    line("launch %s result=%d device=%s stream=%s name=%s grid=%u,%u,%u block=%u,%u,%u shared=%u",
         hook_api_names[call->api], result, device(call->device), strings[l->stream], strings[l->name],
         l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared_bytes);
    record_leave(call);
}
void record_graph(struct record_call *call, int result, const struct record_graph *g)
{
    line("graph %s result=%d number=%u types=%u kernels=%u left_out=%u", hook_api_names[call->api], result,
         g->number, g->node_count, g->kernel_count, g->kernels_left_out);
    record_leave(call);
}
void record_graph_launch(struct record_call *call, int result, uint32_t number, uint32_t stream,
                         const struct record_graph *graph)
{
    (void)graph;
    line("graph_launch %s result=%d number=%u stream=%s", hook_api_names[call->api], result, number,
         strings[stream]);
    record_leave(call);
}
void record_graph_align(struct record_call *call, const struct record_graph *graph)
{
    (void)call;
    (void)graph;
}
void record_copy(struct record_call *call, int result, enum record_copy_kind kind, uint64_t destination,
                 uint64_t source, uint64_t bytes, uint32_t stream)
{
    line("copy %s result=%d device=%s stream=%s kind=%d to=%#" PRIx64 " from=%#" PRIx64 " bytes=%" PRIu64,
         hook_api_names[call->api], result, device(call->device), strings[stream], (int)kind, destination,
         source, bytes);
    record_leave(call);
}
void record_alloc(struct record_call *call, int result, enum cap_memory_kind kind, uint64_t address,
                  uint64_t bytes, uint32_t stream, uint64_t owner)
{
    line("alloc %s result=%d device=%s stream=%s kind=%d address=%#" PRIx64 " bytes=%" PRIu64
         " owner=%#" PRIx64,
         hook_api_names[call->api], result, device(call->device), strings[stream], (int)kind, address, bytes,
         owner);
    record_leave(call);
}
void record_alloc_expect(uint64_t address)
{
    (void)address;
}
void record_free_begin(struct record_call *call, uint64_t address, struct record_storage *storage)
{
    (void)call;
    *storage = (struct record_storage){.address = address, .known = true};
}
void record_free(struct record_call *call, int result, const struct record_storage *storage, uint32_t stream)
{
    line("free %s result=%d device=%s stream=%s address=%#" PRIx64, hook_api_names[call->api], result,
         device(call->device), strings[stream], storage->address);
    record_leave(call);
}
void record_storage_begin(struct record_call *call, enum cap_memory_kind kind, uint8_t number,
                          uint64_t address, uint64_t bytes)
{
    line("begin %s kind=%d device=%s address=%#" PRIx64 " bytes=%" PRIu64, hook_api_names[call->api],
         (int)kind, device(number), address, bytes);
}
void record_storage_end(struct record_call *call, const struct record_storage *storage)
{
    line("end %s address=%#" PRIx64, hook_api_names[call->api], storage->address);
}
void record_storage_moved(uint64_t from, uint64_t to)
{
    line("moved from=%#" PRIx64 " to=%#" PRIx64, from, to);
}
void record_owner_end(struct record_call *call, uint64_t owner, enum cap_end_reason reason)
{
    line("owner_end %s owner=%#" PRIx64 " reason=%d", hook_api_names[call->api], owner, (int)reason);
}
void record_sample(struct record_call *call, uint8_t number, uint64_t used_bytes, uint64_t free_bytes,
                   uint64_t reserved, uint64_t capacity)
{
    (void)reserved;
    line("sample %s device=%s used=%" PRIu64 " free=%" PRIu64 " capacity=%" PRIu64, hook_api_names[call->api],
         device(number), used_bytes, free_bytes, capacity);
}
uint32_t record_string(const char *bytes, size_t length)
{
    for (uint32_t i = 1; i < used; i++)
        if (strlen(strings[i]) == length && !memcmp(strings[i], bytes, length)) return i;
    if (used == 4096 || length >= sizeof *strings) return 0;
    memcpy(strings[used], bytes, length);
    return used++;
}
/* Names that NVTX gives to streams are the recorder's matter. */
void hook_stream_numbered(CUstream stream, uint32_t string)
{
    (void)stream;
    (void)string;
}
void record_driver(int version)
{
    line("driver %d", version);
}
void record_watch_exit(void) {}
void record_hold(void) {}
void record_device(uint8_t ordinal, const char *name, uint64_t bytes)
{
    line("device %u %s %" PRIu64, ordinal, name, bytes);
}
void record_no_forks(void)
{
    line("no forks");
}
void record_gap(enum record_gap gap, uint64_t count)
{
    line("gap %d count=%" PRIu64, (int)gap, count);
}
void stacks_unloading(void)
{
}
void stacks_unloaded(void)
{
}

/* Times of devices are the recorder's matter too. */
_Atomic uint8_t device_mode = DEVICE_OFF;
_Atomic bool device_touched;
_Atomic uint64_t device_pools[256 / 64];
_Thread_local struct device_thread device_thread;
void device_ask_pool(uint8_t device, uint64_t *reserved, uint64_t *pool_used)
{
    (void)device;
    *reserved = *pool_used = UINT64_MAX;
}
void device_touch_slow(void)
{
}
void device_begin_slow(struct device_timer *timer, const struct device_stream *stream)
{
    (void)timer, (void)stream;
}
void device_end_slow(struct device_timer *timer, CUresult result, enum cap_activity activity, uint32_t name,
                     uint64_t bytes, const struct device_stream *stream)
{
    (void)timer, (void)result, (void)activity, (void)name, (void)bytes, (void)stream;
}
void device_untimed(const struct record_call *call, enum cap_untimed why)
{
    (void)call, (void)why;
}
uint8_t device_context_opens(CUcontext context, uint8_t number)
{
    return (void)context, (void)number, 0;
}
void device_context_ends(uint8_t slot)
{
    (void)slot;
}
void device_stream_ends(CUstream stream, uint8_t slot)
{
    (void)stream, (void)slot;
}
void device_synchronized(const struct device_stream *stream)
{
    (void)stream;
}
void device_forked(void)
{
}
