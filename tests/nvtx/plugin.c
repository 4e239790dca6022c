/* A shared object with a copy of NVTX of its own, all of it hidden. */
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) int plugin(int depth);

/* A range in a range; answers the level of the inner one. */
int plugin(int depth)
{
    nvtxRangePushA("plugin");
    int level = nvtxRangePushA(depth ? "plugin/inner" : "other");
    nvtxRangePop();
    nvtxRangePop();
    return level;
}
