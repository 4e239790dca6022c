#include "preload/hooks/extent.h"

#include <errno.h>

#include "preload/hooks/ask.h"

static uint64_t first_byte(const struct hook_side *side)
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

struct hook_box hook_box_of(const struct hook_side *to, const struct hook_side *from, uint64_t bytes)
{
    return (struct hook_box){direction(to->type, from->type), first_byte(to), first_byte(from), bytes};
}

static uint64_t or_one(uint64_t extent)
{
    return extent ? extent : 1;
}

/* Bytes of one element, or of one block of 4 by 4 (*blocks). By the numbers of the formats, of which older
 * headers lack some. */
static uint64_t element_bytes(unsigned format, unsigned channels, bool *blocks)
{
    *blocks = false;
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2u * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
    case 0x50: /* UNORM_INT_101010_2 */
        return format == 0x50 ? 4 : 4u * channels;
    default:
        break;
    }
    if (format >= 0xc0 &&
        format <= 0xcb) /* UNORM_INT8X1 ... SNORM_INT16X4: 1, 2, 4 channels of 1 or 2 bytes */
        return (UINT64_C(1) << (format - 0xc0) % 3) << ((format - 0xc0) / 3 & 1);
    if (format >= 0x91 && format <= 0x9e) { /* BC1 ... BC7, in pairs: BC1 and BC4 have 8 bytes a block */
        *blocks = true;
        return format <= 0x92 || format == 0x97 || format == 0x98 ? 8 : 16;
    }
    return 0; /* planar formats */
}

uint64_t hook_array_size(CUarray_format format, unsigned channels, uint64_t width, uint64_t height,
                         uint64_t depth, bool layered, unsigned levels)
{
    bool blocks;
    uint64_t elements = 0, bytes = element_bytes((unsigned)format, channels, &blocks);

    height = or_one(height);
    depth = or_one(depth);
    for (unsigned level = 0; level < levels && level < 64; level++) {
        elements += blocks ? (width + 3) / 4 * ((height + 3) / 4) * depth : width * height * depth;
        width = or_one(width / 2);
        height = or_one(height / 2);
        if (!layered) depth = or_one(depth / 2);
    }
    return elements * bytes;
}

#if CUDA_VERSION >= 12080
/* The extent is in elements of the array that takes part, else in bytes. */
static uint64_t operation_bytes(const CUDA_MEMCPY3D_BATCH_OP *operation)
{
    const CUmemcpy3DOperand *sides[] = {&operation->src, &operation->dst};
    uint64_t width = operation->extent.width, height = operation->extent.height,
             depth = operation->extent.depth;

    for (unsigned i = 0; i < 2; i++) {
        CUDA_ARRAY3D_DESCRIPTOR shape;
        if (sides[i]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) continue;
        if (ASK(cuArray3DGetDescriptor_v2, &shape, sides[i]->op.array.array) != CUDA_SUCCESS) return 0;
        return hook_array_size(shape.Format, shape.NumChannels, width, height, depth, true, 1);
    }
    return width * height * depth;
}

static uint64_t operand_address(const CUmemcpy3DOperand *side)
{
    return side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? (uintptr_t)side->op.array.array : side->op.ptr.ptr;
}

struct hook_box hook_box_batch(const void *operations, size_t count)
{
    const CUDA_MEMCPY3D_BATCH_OP *list = operations;
    struct hook_box all = {.kind = RECORD_COPY_UNIFIED};
    int kept = errno;

    for (size_t i = 0; list && i < count; i++)
        all.bytes += operation_bytes(&list[i]);
    if (list && count) {
        all.to = operand_address(&list[0].dst);
        all.from = operand_address(&list[0].src);
    }
    errno = kept;
    return all;
}
#else
/* Headers before CUDA 12.8 do not know the structure: the call is recorded without its bytes. */
struct hook_box hook_box_batch(const void *operations, size_t count)
{
    (void)operations;
    (void)count;
    return (struct hook_box){.kind = RECORD_COPY_UNIFIED};
}
#endif
