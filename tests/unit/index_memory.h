/* Indexes in memory, and what a hostile hand does to them: any change, with all checksums right again. */
#ifndef CGTRACE_TESTS_INDEX_MEMORY_H
#define CGTRACE_TESTS_INDEX_MEMORY_H

/* The file's structs are its own business; this stands in the place of its object. */
#include "analyzer/trace/index_file.c" /* NOLINT(bugprone-suspicious-include) */

#include "analyzer/evidence/evidence_index.h"
#include "analyzer/planes/rank_columns.h"
#include "analyzer/trace/index.h"
#include "analyzer/trace/strings.h"

struct index_memory {
    unsigned char *bytes; /* aligned as a mapping is */
    size_t length, room;
};

static inline int index_memory_sink(void *context, const char *bytes, size_t length)
{
    struct index_memory *memory = context;
    if (memory->length + length > memory->room) {
        size_t room = (memory->length + length) * 2 / 4096 * 4096 + 4096;
        unsigned char *larger = aligned_alloc(4096, room);
        if (!larger) return ENOMEM;
        if (memory->length) memcpy(larger, memory->bytes, memory->length);
        free(memory->bytes);
        memory->bytes = larger;
        memory->room = room;
    }
    memcpy(memory->bytes + memory->length, bytes, length);
    memory->length += length;
    return 0;
}

/* The index of a trace with its extra fields; evidence may be NULL. False when memory is short. */
static inline bool index_memory_make(const struct cg_trace *trace, const struct evidence *evidence,
                                     struct index_memory *memory)
{
    struct index_identity identity = {.size = 1};
    struct index_arrays arrays = {0};
    struct trace_index_copy copy;
    struct evidence_planes planes;
    uint64_t size = 0;

    *memory = (struct index_memory){0};
    bool made = trace_index_add(trace, &copy, &arrays) &&
                (!evidence || evidence_index_add(evidence, &planes, &arrays)) &&
                index_file_write(&identity, trace_index_layout(), arrays.items, arrays.count,
                                 index_memory_sink, memory, &size) == 0;
    index_arrays_free(&arrays);
    trace_index_copy_free(&copy);
    return made && size == memory->length;
}

/* Where the bytes of arrays are: those behind the directory. */
static inline size_t index_memory_begin(const struct index_memory *memory)
{
    struct header header;
    memcpy(&header, memory->bytes, sizeof header);
    return (size_t)aligned(aligned(sizeof header) + header.arrays * sizeof(struct entry));
}

/* Makes every checksum right that can be. */
static inline void index_memory_seal(struct index_memory *memory)
{
    struct header *header = (struct header *)(void *)memory->bytes;
    struct entry *entries = (struct entry *)(void *)(memory->bytes + aligned(sizeof *header));
    size_t begin = (size_t)aligned(sizeof *header);
    size_t room = memory->length > begin ? (memory->length - begin) / sizeof *entries : 0;
    size_t count = header->arrays < room ? (size_t)header->arrays : room;

    for (size_t i = 0; i < count; i++)
        if (entries[i].offset <= memory->length && entries[i].stored <= memory->length - entries[i].offset)
            entries[i].checksum = XXH3_64bits(memory->bytes + entries[i].offset, (size_t)entries[i].stored);
    memcpy(header->magic, magic, sizeof magic);
    header->byte_order = BYTE_ORDER_MARK;
    header->version = VERSION;
    header->layout = trace_index_layout();
    header->size = memory->length;
    header->directory = XXH3_64bits(entries, count * sizeof *entries);
    header->checksum = header_checksum(header);
}

#endif
