/* First forms. */
#include "preload/hooks/bodies.h"
#include "preload/hooks/extent.h"

static uint64_t hook_array_v1_bytes(const struct hook_array_v1 *shape)
{
    return shape
               ? hook_array_size(shape->Format, shape->NumChannels, shape->Width, shape->Height, 0, false, 1)
               : 0;
}

static uint64_t hook_array3d_v1_bytes(const struct hook_array3d_v1 *shape)
{
    if (!shape) return 0;
    return hook_array_size(shape->Format, shape->NumChannels, shape->Width, shape->Height, shape->Depth,
                           shape->Flags & CUDA_ARRAY3D_LAYERED, 1);
}

static struct hook_box hook_box_2d_v1(const struct hook_box2d_v1 *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_UNIFIED};
    struct hook_side to = HOOK_SIDE(box, dst, 0, 0), from = HOOK_SIDE(box, src, 0, 0);
    return hook_box_of(&to, &from, (uint64_t)box->WidthInBytes * box->Height);
}

static struct hook_box hook_box_3d_v1(const struct hook_box3d_v1 *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_UNIFIED};
    struct hook_side to = HOOK_SIDE(box, dst, box->dstZ, box->dstHeight),
                     from = HOOK_SIDE(box, src, box->srcZ, box->srcHeight);
    return hook_box_of(&to, &from, (uint64_t)box->WidthInBytes * box->Height * box->Depth);
}

#define HOOK_FAMILY "preload/hooks/v1.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"
