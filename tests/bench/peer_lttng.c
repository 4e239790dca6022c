/* LTTng-UST for bench_peers: a tracepoint of five fields. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/peer_lttng_tp.h"

#include "tests/bench/peer.h"

static void run(void)
{
    for (uint32_t i = 0; i < PEER_COUNT; i++)
        lttng_ust_tracepoint(cgtrace_bench, launch, 0x1230, i, 256, 48, 0x10);
}

int main(void)
{
    if (!lttng_ust_tracepoint_enabled(cgtrace_bench, launch)) return 1;
    peer_report(run);
    return 0;
}
