/* Copies. */
#include "preload/hooks/bodies.h"
#include "preload/hooks/extent.h"

/* A NULL box is an error of the program's that the driver will tell it. */
static struct hook_box hook_box_2d(const CUDA_MEMCPY2D *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_UNIFIED};
    struct hook_side to = HOOK_SIDE(box, dst, 0, 0), from = HOOK_SIDE(box, src, 0, 0);
    return hook_box_of(&to, &from, box->WidthInBytes * box->Height);
}

static struct hook_box hook_box_3d(const CUDA_MEMCPY3D *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_UNIFIED};
    struct hook_side to = HOOK_SIDE(box, dst, box->dstZ, box->dstHeight),
                     from = HOOK_SIDE(box, src, box->srcZ, box->srcHeight);
    return hook_box_of(&to, &from, box->WidthInBytes * box->Height * box->Depth);
}

static struct hook_box hook_box_peer(const CUDA_MEMCPY3D_PEER *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_PEER};
    struct hook_side to = HOOK_SIDE(box, dst, box->dstZ, box->dstHeight),
                     from = HOOK_SIDE(box, src, box->srcZ, box->srcHeight);
    struct hook_box whole = hook_box_of(&to, &from, box->WidthInBytes * box->Height * box->Depth);
    whole.kind = RECORD_COPY_PEER;
    return whole;
}

static uint64_t hook_sum(const size_t *sizes, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; sizes && i < count; i++)
        sum += sizes[i];
    return sum;
}

#define HOOK_FAMILY "preload/hooks/copy.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"
