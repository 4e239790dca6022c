/* How many bytes boxes and arrays have, and where a box begins. */
#ifndef CGTRACE_PRELOAD_HOOKS_EXTENT_H
#define CGTRACE_PRELOAD_HOOKS_EXTENT_H

#include <stddef.h>
#include <stdint.h>

#include "preload/hooks/cuda.h"
#include "preload/record/record.h"

struct hook_box {
    enum record_copy_kind kind;
    uint64_t to, from; /* of the first byte; of an array its handle */
    uint64_t bytes;
};

/* One side of a box, of whichever of the structures. */
struct hook_side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};
#define HOOK_SIDE(box, which, depth, rows)                                                                   \
    {                                                                                                        \
        (box)->which##MemoryType, (box)->which##Host, (box)->which##Device, (box)->which##Array,             \
            (box)->which##XInBytes, (box)->which##Y, depth, (box)->which##Pitch, rows                        \
    }
struct hook_box hook_box_of(const struct hook_side *to, const struct hook_side *from, uint64_t bytes);

/* The bytes of the copies in a batch of cuMemcpy3DBatchAsync, and where the first begins. */
struct hook_box hook_box_batch(const void *operations, size_t count);

/* Bytes of an array, of all its levels when it has several, each half as large in every direction; 0 for
 * formats that are not known. height and depth 0: fewer dimensions. Layers, of which depth is the number, do
 * not shrink. */
uint64_t hook_array_size(CUarray_format format, unsigned channels, uint64_t width, uint64_t height,
                         uint64_t depth, bool layered, unsigned levels);

#endif
