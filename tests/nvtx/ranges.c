/* Uses NVTX in one way, and prints what it returned. usage: ranges WAY [PLUGIN] */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cgtrace.h"

static const char *plugin_path = "";

static nvtxEventAttributes_t event(const char *message)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = message;
    return attributes;
}

static int push_in(nvtxDomainHandle_t domain, const char *message)
{
    nvtxEventAttributes_t attributes = event(message);

    return nvtxDomainRangePushEx(domain, &attributes);
}

static void nested(void)
{
    int levels[6];

    levels[0] = nvtxRangePushA("outer");
    levels[1] = nvtxRangePushA("trainer/update-000000000010/forward");
    levels[2] = nvtxRangePushW(L"wide \u00e9\U0001f600");
    levels[3] = nvtxRangePop();
    levels[4] = nvtxRangePop();
    levels[5] = nvtxRangePop();
    for (int i = 0; i < 6; i++)
        printf("%d\n", levels[i]);
}

static void attributes_way(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library"), wide = nvtxDomainCreateW(L"wide \u00e9");
    nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "registered");
    nvtxEventAttributes_t attributes = event("all of it");

    printf("%d\n", domain == nvtxDomainCreateA("library"));
    nvtxNameCategoryA(3, "loading");
    nvtxDomainNameCategoryW(domain, 3, L"other loading");
    attributes.category = 3;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = 0xff8040c0;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = 18446744073709551615u;
    printf("%d\n", nvtxRangePushEx(&attributes));
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = string;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    attributes.payload.dValue = -0.1;
    printf("%d\n", nvtxDomainRangePushEx(domain, &attributes));
    attributes = event("signed");
    attributes.category = 9;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    attributes.payload.iValue = -5;
    printf("%d\n", nvtxDomainRangePushEx(wide, &attributes));
    attributes = event("not finite");
    attributes.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    attributes.payload.fValue = 1.0f / 0.0f;
    nvtxMarkEx(&attributes);
    nvtxDomainMarkEx(domain, NULL);
    printf("%d\n", nvtxDomainRangePop(wide));
    printf("%d\n", nvtxDomainRangePop(domain));
    printf("%d\n", nvtxRangePop());
    nvtxMarkA("mark");
    nvtxMarkW(L"wide mark");
    nvtxRangePushA(NULL);
    nvtxRangePop();
    nvtxRangePushA("bytes \xff\"\n");
    nvtxRangePop();
}

/* Two domains whose ranges cross, and one that is popped from below the other. */
static void crossing(void)
{
    nvtxDomainHandle_t a = nvtxDomainCreateA("a"), b = nvtxDomainCreateA("b");

    push_in(a, "a1");
    push_in(b, "b1");
    push_in(a, "a2");
    push_in(b, "forward");
    printf("%d\n", nvtxDomainRangePop(a));
    push_in(b, "b3");
    printf("%d\n", nvtxDomainRangePop(a));
    printf("%d\n", nvtxDomainRangePop(b));
    printf("%d\n", nvtxDomainRangePop(b));
    printf("%d\n", nvtxDomainRangePop(b));
    printf("%d\n", nvtxDomainRangePop(b) < 0);
}

static void unmatched(void)
{
    printf("%d\n", nvtxRangePop() < 0);
    nvtxRangePushA("one");
    nvtxRangePop();
    printf("%d\n", nvtxRangePop() < 0);
    printf("%d\n", nvtxRangePop() < 0);
    nvtxRangeEnd(12345);
}

static void *push_and_leave(void *name)
{
    nvtxRangePushA(name);
    return NULL;
}

static void open_way(void)
{
    pthread_t thread;

    nvtxRangePushA("never popped");
    nvtxRangePushA("nor this");
    nvtxRangeStartA("never ended");
    pthread_create(&thread, NULL, push_and_leave, "left by its thread");
    pthread_join(thread, NULL);
}

static void deep(void)
{
    enum { DEPTH = 700 };
    nvtxDomainHandle_t other = nvtxDomainCreateA("other");
    int good = 1;

    for (int i = 0; i < DEPTH; i++)
        good &= nvtxRangePushA("deep") == i;
    good &= push_in(other, "other") == 0 && nvtxDomainRangePop(other) == 0;
    for (int i = DEPTH; i-- > 0;)
        good &= nvtxRangePop() == i;
    printf("%d %d\n", good, nvtxRangePop() < 0);
}

static nvtxRangeId_t handed_over, kept;

static void *end_there(void *unused)
{
    (void)unused;
    nvtxRangeEnd(handed_over);
    return NULL;
}

static void started(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
    nvtxEventAttributes_t attributes = event("in a domain");
    pthread_t thread;

    nvtxRangePushA("pushed");
    handed_over = nvtxRangeStartA("handed over");
    kept = nvtxRangeStartW(L"kept");
    nvtxRangeId_t in_domain = nvtxDomainRangeStartEx(domain, &attributes);
    printf("%d\n", handed_over != kept && kept != in_domain && handed_over && kept && in_domain);
    nvtxRangePop();
    pthread_create(&thread, NULL, end_there, NULL);
    pthread_join(thread, NULL);
    nvtxRangeEnd(kept);
    nvtxDomainRangeEnd(domain, in_domain);
    nvtxRangeEnd(kept); /* once more */
    printf("%d\n", nvtxRangeStartA("new number") != kept);
}

static void *many(void *index)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");

    for (int i = 0; i < 2000; i++) {
        nvtxRangePushA("step");
        push_in(domain, "inner");
        nvtxMarkA("mark");
        nvtxRangeId_t id = nvtxRangeStartA("async");
        nvtxRangePop(); /* the outer one first */
        nvtxDomainRangePop(domain);
        nvtxRangeEnd(id);
    }
    return index;
}

static void threads(void)
{
    pthread_t thread[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, many, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

static void forked(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");

    push_in(domain, "parent's");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        push_in(domain, "child's");
        nvtxDomainRangePop(domain);
        exit(0);
    }
    waitpid(child, NULL, 0);
    nvtxDomainRangePop(domain);
}

static pid_t parent;
static volatile sig_atomic_t children;

static void fork_here(int signal)
{
    int past = errno;
    pid_t child = getpid() == parent ? fork() : -1;

    (void)signal;
    if (child == 0) usleep(2000); /* the parent has gone on when it comes back */
    if (child > 0) children++;
    errno = past;
}

/* Forks wherever a signal finds the thread, inside of a call mostly; each child ends the call that its parent
 * was in. */
static void forked_inside(void)
{
    enum { CHILDREN = 100 };
    const struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    const struct itimerval tick = {{0, 3001}, {0, 3001}}, stop = {{0, 0}, {0, 0}};
    unsigned pairs = 0;

    parent = getpid();
    nvtxRangePushA("step");
    nvtxRangePop();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &tick, NULL);
    for (; children < CHILDREN && getpid() == parent; pairs++) {
        nvtxRangePushA("step");
        nvtxRangePop();
    }
    setitimer(ITIMER_REAL, &stop, NULL);
    signal(SIGALRM, SIG_IGN);
    /* Behind the last signal, which may have come since the last pair. */
    if (getpid() != parent) _exit(0);
    while (wait(NULL) > 0)
        ;
    printf("%u\n", pairs + 1);
}

static void plugins(void)
{
    void *handle = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    int (*call)(int) = handle ? (int (*)(int))dlsym(handle, "plugin") : NULL;

    if (!call) exit(1);
    nvtxRangePushA("program");
    printf("%d\n", call(1));
    printf("%d\n", nvtxRangePop());
}

static void through_tool(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
    nvtxEventAttributes_t attributes = event(NULL);

    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    printf("%d\n", nvtxRangePushA("pushed"));
    printf("%d\n", nvtxDomainRangePushEx(domain, &attributes));
    printf("%d\n", nvtxDomainRangePop(domain)); /* the tool has no such function */
    printf("%d\n", nvtxRangePop());
    nvtxRangeId_t id = nvtxRangeStartA("started");
    printf("%llu\n", (unsigned long long)id);
    nvtxRangeEnd(id);
}

static void streams(void)
{
    CUcontext context;
    CUstream stream;
    CUdeviceptr pointer;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
        exit(1);
    nvtxNameCuStreamA(stream, "copies");
    nvtxNameCuDeviceW(0, L"the first");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "old name");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main \"loop\"");
    if (cuMemAlloc(&pointer, 64) || cuMemsetD8Async(pointer, 0, 64, stream) || cuStreamSynchronize(stream))
        exit(1);
    printf("%ld\n", (long)syscall(SYS_gettid));
}

/* Beside spans of cgtrace.h, which has no span for 0 and takes fewer texts as names. */
static void beside_spans(void)
{
    static char long_name[CGTRACE_NAME_MAX + 2];
    const char *const refused[] = {" \t", "", memset(long_name, 'x', CGTRACE_NAME_MAX + 1)};

    nvtxRangePushA("pushed");
    printf("%d\n", cgtrace_span_end(0));
    printf("%d\n", nvtxRangePop());
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
        nvtxRangePushA(refused[i]);
        printf("%lld\n", (long long)cgtrace_span_begin(refused[i]));
        printf("%d\n", cgtrace_scalar(refused[i], 1.0));
        nvtxRangePop();
    }
}

static void none(void)
{
    nvtxDomainCreateA("library");
    nvtxNameCategoryA(1, "category");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"nested", nested},
                {"attributes", attributes_way},
                {"crossing", crossing},
                {"unmatched", unmatched},
                {"open", open_way},
                {"deep", deep},
                {"started", started},
                {"threads", threads},
                {"forked", forked},
                {"plugin", plugins},
                {"tool", through_tool},
                {"streams", streams},
                {"forked-inside", forked_inside},
                {"beside", beside_spans},
                {"none", none}};

    if (argc > 2) plugin_path = argv[2];
    for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, argv[1]) == 0) {
            ways[i].run();
            return 0;
        }
    fprintf(stderr, "usage: ranges WAY [PLUGIN]\n");
    return 2;
}
