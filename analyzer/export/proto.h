/* Protocol buffers on the wire (protobuf.dev, "Encoding"): fields appended to a buffer. */
#ifndef CGTRACE_ANALYZER_EXPORT_PROTO_H
#define CGTRACE_ANALYZER_EXPORT_PROTO_H

#include "analyzer/viewer/buffer.h"

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

static inline void proto_number(struct buffer *message, uint32_t field, uint64_t value)
{
    buffer_number(message, field << 3 | PROTO_VARINT);
    buffer_number(message, value);
}
/* Also for a message in it and for packed numbers. */
static inline void proto_bytes(struct buffer *message, uint32_t field, const void *bytes, size_t length)
{
    buffer_number(message, field << 3 | PROTO_BYTES);
    buffer_number(message, length);
    buffer_add(message, bytes, length);
}
/* Eight bytes, the lowest first. */
static inline void proto_fixed64(struct buffer *message, uint32_t field, uint64_t value)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    buffer_number(message, field << 3 | PROTO_FIXED64);
    buffer_add(message, bytes, sizeof bytes);
}

#endif
