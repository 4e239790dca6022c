/* Copies: where a box begins, and how many bytes it has. */
#include "preload/hooks/bodies.h"

struct hook_box {
    enum record_copy_kind kind;
    uint64_t to, from, bytes;
};

/* One side of a box, of whichever of the three structures. */
struct side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

static uint64_t first_byte(const struct side *side)
{
    if (side->type == CU_MEMORYTYPE_ARRAY) return (uintptr_t)side->array;
    uint64_t base = side->type == CU_MEMORYTYPE_HOST ? (uintptr_t)side->host : side->device;
    return base + (side->z * side->height + side->y) * side->pitch + side->x;
}

static enum record_copy_kind direction(CUmemorytype to, CUmemorytype from)
{
    if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED) return RECORD_COPY_UNIFIED;
    if (to == CU_MEMORYTYPE_HOST) return from == CU_MEMORYTYPE_HOST ? RECORD_COPY_HTOH : RECORD_COPY_DTOH;
    return from == CU_MEMORYTYPE_HOST ? RECORD_COPY_HTOD : RECORD_COPY_DTOD;
}

#define SIDE(box, which, depth, rows)                                                                        \
    {                                                                                                        \
        (box)->which##MemoryType, (box)->which##Host, (box)->which##Device, (box)->which##Array,             \
            (box)->which##XInBytes, (box)->which##Y, depth, (box)->which##Pitch, rows                        \
    }

static struct hook_box box_of(const struct side *to, const struct side *from, uint64_t bytes)
{
    return (struct hook_box){direction(to->type, from->type), first_byte(to), first_byte(from), bytes};
}

/* A NULL box is an error of the program's that the driver will tell it. */
static struct hook_box hook_box_2d(const CUDA_MEMCPY2D *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_UNIFIED};
    struct side to = SIDE(box, dst, 0, 0), from = SIDE(box, src, 0, 0);
    return box_of(&to, &from, box->WidthInBytes * box->Height);
}

static struct hook_box hook_box_3d(const CUDA_MEMCPY3D *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_UNIFIED};
    struct side to = SIDE(box, dst, box->dstZ, box->dstHeight),
                from = SIDE(box, src, box->srcZ, box->srcHeight);
    return box_of(&to, &from, box->WidthInBytes * box->Height * box->Depth);
}

static struct hook_box hook_box_peer(const CUDA_MEMCPY3D_PEER *box)
{
    if (!box) return (struct hook_box){.kind = RECORD_COPY_PEER};
    struct side to = SIDE(box, dst, box->dstZ, box->dstHeight),
                from = SIDE(box, src, box->srcZ, box->srcHeight);
    struct hook_box whole = box_of(&to, &from, box->WidthInBytes * box->Height * box->Depth);
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
