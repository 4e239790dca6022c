/* Process-wide state: environment, lock, threads, objects, injected failures, fork. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sim/internal.h"

struct sim_state sim = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static __thread struct sim_thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_key;

void *sim_realloc(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (!p && bytes) {
        fputs("simulated driver: the host is out of memory\n", stderr);
        abort();
    }
    return p;
}

void *sim_alloc(size_t bytes)
{
    void *p = sim_realloc(NULL, bytes);
    return memset(p, 0, bytes);
}

char *sim_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(sim_alloc(n), s, n);
}

/* ---- objects ------------------------------------------------------------------------------------------- */

static struct sim_object *slab_free[SIM_MAGIC_END - SIM_CONTEXT];

void *sim_new(enum sim_magic magic, size_t size)
{
    struct sim_object **list = &slab_free[magic - SIM_CONTEXT];
    if (!*list) {
        enum { PER_CHUNK = 32 };
        size_t step = sim_round(size, 16);
        char *chunk = sim_alloc(step * PER_CHUNK);
        for (size_t i = PER_CHUNK; i-- > 0;) {
            struct sim_object *o = (struct sim_object *)(chunk + i * step);
            o->next_free = *list;
            *list = o;
        }
    }
    struct sim_object *o = *list;
    *list = o->next_free;
    memset(o, 0, size);
    o->magic = magic;
    return o;
}

void sim_delete(void *object)
{
    struct sim_object *o = object;
    struct sim_object **list = &slab_free[o->magic - SIM_CONTEXT];
    o->magic = SIM_DEAD;
    o->next_free = *list;
    *list = o;
}

bool sim_is(const void *object, enum sim_magic magic)
{
    return object && ((uintptr_t)object & 7) == 0 && ((const struct sim_object *)object)->magic == magic;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static void thread_end(void *arg)
{
    struct sim_thread *thread = arg;
    pthread_mutex_lock(&sim.lock);
    for (size_t i = 0; i < sizeof thread->per_thread / sizeof *thread->per_thread; i++)
        if (thread->per_thread[i]) sim_stream_free(thread->per_thread[i]);
    for (struct sim_thread **p = &sim.threads; *p; p = &(*p)->next)
        if (*p == thread) {
            *p = thread->next;
            break;
        }
    pthread_mutex_unlock(&sim.lock);
    self = NULL;
    free(thread);
}

/* NULL: no memory, which is not the end of a thread that the program knows nothing of. */
struct sim_thread *sim_thread(void)
{
    if (!self) {
        self = calloc(1, sizeof *self);
        if (!self) return NULL;
        self->tid = (pid_t)syscall(SYS_gettid);
        self->capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        self->next = sim.threads;
        sim.threads = self;
        pthread_setspecific(thread_key, self);
    }
    return self;
}

struct sim_context *sim_current(const struct sim_call *call)
{
    return call->thread->depth ? call->thread->stack[call->thread->depth - 1] : NULL;
}

/* ---- environment --------------------------------------------------------------------------------------- */

static uint64_t env_number(const char *name, uint64_t fallback)
{
    const char *s = getenv(name);
    if (!s || !*s) return fallback;
    char *end;
    errno = 0;
    uint64_t v = strtoull(s, &end, 10);
    if (*end || errno || *s == '-') {
        fprintf(stderr, "simulated driver: %s=%s is not a whole number; %llu is used\n", name, s,
                (unsigned long long)fallback);
        return fallback;
    }
    return v;
}

/* SIM_FAIL=symbol:nth:code,…  nth counts from 1, `*` is every one. */
static void read_rules(void)
{
    const char *text = getenv("SIM_FAIL");
    if (!text || !*text) return;
    char *copy = sim_strdup(text), *rest = NULL;
    for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char symbol[128], nth[16];
        int code;
        if (sscanf(item, "%127[^:]:%15[^:]:%d", symbol, nth, &code) != 3 || code <= 0 ||
            (strcmp(nth, "*") != 0 && atoi(nth) <= 0)) {
            fprintf(stderr, "simulated driver: SIM_FAIL: %s is not symbol:nth:code\n", item);
            continue;
        }
        sim.rules = sim_realloc(sim.rules, (sim.rule_count + 1) * sizeof *sim.rules);
        sim.rules[sim.rule_count++] = (struct sim_rule){
            .symbol = sim_strdup(symbol), .nth = (unsigned)atoi(nth), .code = (CUresult)code};
    }
    free(copy);
}

static void fork_prepare(void)
{
    pthread_mutex_lock(&sim.lock);
}
static void fork_parent(void)
{
    pthread_mutex_unlock(&sim.lock);
}

/* A driver that was initialised before the fork is of no use to the child, as on a GPU; one that was not, is
 * fresh. */
static void fork_child(void)
{
    pthread_mutex_init(&sim.lock, NULL);
    pthread_cond_init(&sim.done, NULL);
    sim.forked = sim.forked || sim.initialised;
    if (self) self->tid = (pid_t)syscall(SYS_gettid);
    sim_ledger_fork_child();
}

static void configure(void)
{
    sim.configured = true;
    pthread_key_create(&thread_key, thread_end);
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    sim.device_count = (int)env_number("SIM_DEVICES", 1);
    if (sim.device_count > SIM_MAX_DEVICES) sim.device_count = SIM_MAX_DEVICES;
    sim.driver_version = (int)env_number("SIM_DRIVER_VERSION", CUDA_VERSION);
    sim.kernel_ns = env_number("SIM_KERNEL_US", 2) * 1000;
    sim.record_cost_ns = env_number("SIM_EVENT_COST_NS", 0);
    sim.read_cost_ns = env_number("SIM_EVENT_READ_NS", 0);
    sim.event_step_ns = env_number("SIM_EVENT_STEP_NS", 1);
    if (!sim.event_step_ns) sim.event_step_ns = 1;
    sim.jump_ns = env_number("SIM_JUMP_S", 0) * 1000000000u;
    sim.ledger_events = env_number("SIM_LEDGER_EVENTS", 0) != 0;
    size_t total = (size_t)env_number("SIM_MEM_MB", 16384) << 20;
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        sim.devices[i].total = total;
    sim.next_id = 1;
    read_rules();
    const char *kernels = getenv("SIM_KERNELS");
    if (kernels && *kernels && !(sim.kernels = dlopen(kernels, RTLD_NOW | RTLD_LOCAL)))
        fprintf(stderr, "simulated driver: SIM_KERNELS: %s\n", dlerror());
    sim_ledger_open();
}

/* ---- a call's begin and end ---------------------------------------------------------------------------- */

static CUresult injected(const char *symbol)
{
    CUresult code = CUDA_SUCCESS;
    for (size_t i = 0; i < sim.rule_count; i++) {
        struct sim_rule *r = &sim.rules[i];
        if (strcmp(r->symbol, symbol) != 0) continue;
        r->seen++;
        if (!code && (r->nth == 0 || r->seen == r->nth)) code = r->code;
    }
    return code;
}

CUresult sim_begin(struct sim_call *call, unsigned need)
{
    static struct sim_thread nobody;

    pthread_mutex_lock(&sim.lock);
    if (!sim.configured) configure();
    call->thread = sim_thread();
    if (!call->thread) {
        call->thread = &nobody;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (sim.rule_count) {
        CUresult code = injected(call->site->name);
        if (code) return code;
    }
    unsigned what = need & 3;
    if (what == SIM_NEED_NOTHING) return CUDA_SUCCESS;
    if (sim.gone) return CUDA_ERROR_DEINITIALIZED;
    if (!sim.initialised || sim.forked) return CUDA_ERROR_NOT_INITIALIZED;
    if (what == SIM_NEED_CONTEXT) {
        const struct sim_context *c = sim_current(call);
        if (!c) return CUDA_ERROR_INVALID_CONTEXT;
        if (c->object.magic != SIM_CONTEXT) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (need & SIM_NEED_UNCAPTURED) return sim_capture_forbids(call);
    return CUDA_SUCCESS;
}

CUresult sim_end(struct sim_call *call, CUresult result, struct sim_line *line)
{
    if (line && sim.ledger) sim_ledger_write(call, line, result);
    pthread_mutex_unlock(&sim.lock);
    return result;
}
