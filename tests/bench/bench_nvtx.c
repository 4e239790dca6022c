/* What an NVTX range costs a program that is recorded: push and pop against two bare slots of a prefaulted
 * shared mapping with one clock read each, in turns, the writer running. The program is this one, started
 * again with the recorder preloaded. */
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/capture.h"
#include "tests/bench/child.h"
#include "tests/bench/pairs.h"

static void run_plain(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxRangePushA("forward");
        nvtxRangePop();
    }
}

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                      .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                      .colorType = NVTX_COLOR_ARGB,
                                      .color = 0xff00ff00,
                                      .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

static void run_registered(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
}

static int child(void)
{
    if (!open_floor() || nvtxRangePushA("recorded?") != 0) return 1;
    nvtxRangePop();
    domain = nvtxDomainCreateA("library");
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    compare("nvtx.push_pop", run_plain, "<=1.5");
    compare("nvtx.push_pop_registered", run_registered, "<=1.5");
    return 0;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench_nvtx.XXXXXX", command[2048];

    if (argc > 1 && !strcmp(argv[1], "child")) return child();
    if (!mkdtemp(folder)) return 1;
    snprintf(command, sizeof command,
             "CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/trace.jsonl LD_PRELOAD=%s/libcgtrace.so %s child", folder,
             child_build(), argv[0]);
    int failed = system(command);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
