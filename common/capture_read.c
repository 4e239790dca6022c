#include "common/capture_read.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t cap_publication_checksum(const struct cap_publication *publication)
{
    return XXH64(publication,
                 offsetof(struct cap_publication, tail) + publication->rings * sizeof publication->tail[0],
                 0);
}

static bool inside(const struct cap_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->size && bytes <= file->size - offset && offset % 8 == 0;
}

static void look_at_areas(struct cap_file *file)
{
    /* Acquire: what is used was stored before it was said to be. */
    file->strings_bytes = atomic_load_explicit(&file->header->strings_used, memory_order_acquire);
    file->stacks_bytes = atomic_load_explicit(&file->header->stacks_used, memory_order_acquire);
}

static const char *check_rings(struct cap_file *file)
{
    file->ring_count = atomic_load_explicit(&file->header->rings_used, memory_order_acquire);
    if (file->ring_count > CAP_RINGS_MAX) return "its number of rings is out of range";
    for (uint32_t i = 0; i < file->ring_count; i++) {
        const struct cap_ring *ring = &file->rings[i];
        uint32_t slots = ring->slots;

        if (slots == 0 || (slots & (slots - 1)) != 0 ||
            !inside(file, ring->slots_offset, (uint64_t)slots * CAP_SLOT))
            return "a ring lies outside it";
    }
    return NULL;
}

const char *cap_file_check(struct cap_file *file, const void *bytes, size_t size)
{
    const struct cap_header *header = bytes;

    *file = (struct cap_file){.bytes = bytes, .size = size, .header = header};
    if (size < sizeof *header || memcmp(header->magic, CAP_MAGIC, sizeof header->magic) != 0)
        return "not a capture file, or one whose program died before it was whole";
    if (header->endian != CAP_ENDIAN) return "made on a machine of the other byte order";
    if (header->version != CAP_VERSION) return "made by another version of libcgtrace";
    if (!inside(file, header->publication_offset, 2 * sizeof(struct cap_publication)) ||
        !inside(file, header->rings_offset, CAP_RINGS_MAX * sizeof(struct cap_ring)) ||
        !inside(file, header->strings_offset, header->strings_bytes) ||
        !inside(file, header->stacks_offset, header->stacks_bytes) ||
        header->publication_offset < sizeof *header || header->rings_offset % _Alignof(struct cap_ring) != 0)
        return "cut short: its parts lie outside it";
    if (!memchr(header->part_path, '\0', sizeof header->part_path) ||
        !memchr(header->trace_path, '\0', sizeof header->trace_path) ||
        !memchr(header->meta, '\0', header->publication_offset - sizeof *header))
        return "a text in its header has no end";
    if (header->region.enclosing_count > CAP_ENCLOSING_MAX ||
        header->region.outside !=
            (header->region.source == CAP_SOURCE_REGION ? CAP_SPAN_REGION : CAP_SPAN_ROOT))
        return "its measured region is damaged";
    if (header->clock.shift > 63 || header->clock.mult == 0) return "its clock has no rate";
    file->meta = header->meta;
    file->rings = (const struct cap_ring *)(file->bytes + header->rings_offset);
    file->strings = file->bytes + header->strings_offset;
    file->stacks = file->bytes + header->stacks_offset;
    look_at_areas(file);
    if (file->strings_bytes > header->strings_bytes) return "its strings lie outside it";
    if (file->stacks_bytes > header->stacks_bytes) return "its stacks lie outside it";
    return check_rings(file);
}

bool cap_file_publication(const struct cap_file *file, struct cap_publication *publication)
{
    const struct cap_publication *both =
        (const struct cap_publication *)(file->bytes + file->header->publication_offset);
    bool found = false;

    for (int i = 0; i < 2; i++) {
        struct cap_publication copy; /* a running program may write while we look */

        memcpy(&copy, &both[i], sizeof copy);
        if (copy.sequence == 0 || copy.rings > CAP_RINGS_MAX ||
            copy.checksum != cap_publication_checksum(&copy) ||
            (found && copy.sequence < publication->sequence))
            continue;
        *publication = copy;
        found = true;
    }
    return found;
}

static bool copy_ring(const struct cap_file *file, uint32_t index, uint64_t tail, struct cap_rest *rest)
{
    const struct cap_ring *ring = &file->rings[index];
    const struct cap_record *slots = (const struct cap_record *)(file->bytes + ring->slots_offset);
    /* Acquire: the slots before head were stored before it. */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire), mask = ring->slots - 1;

    *rest = (struct cap_rest){.first = tail, .tid = ring->tid};
    rest->lost = atomic_load_explicit(&ring->lost, memory_order_relaxed);
    if (head <= tail || head - tail > ring->slots) return true;
    rest->slots = malloc((head - tail) * sizeof *slots);
    if (!rest->slots) return false;
    rest->count = head - tail;
    for (uint64_t n = 0; n < rest->count; n++)
        rest->slots[n] = slots[(tail + n) & mask];
    return true;
}

/* Slots that a later publication covers may have been written over while they were copied. */
static void forget_published(struct cap_rest *rest, uint64_t tail)
{
    uint64_t gone = tail > rest->first ? tail - rest->first : 0;

    if (gone > rest->count) gone = rest->count;
    if (gone > 0) memmove(rest->slots, rest->slots + gone, (rest->count - gone) * sizeof *rest->slots);
    rest->first += gone;
    rest->count -= gone;
}

bool cap_file_rest(struct cap_file *file, struct cap_rest *rests, struct cap_publication *published)
{
    memset(published, 0, sizeof *published);
    memset(rests, 0, CAP_RINGS_MAX * sizeof *rests);
    cap_file_publication(file, published);
    for (uint32_t i = 0; i < file->ring_count; i++)
        if (!copy_ring(file, i, i < published->rings ? published->tail[i] : 0, &rests[i])) {
            cap_rest_free(rests);
            return false;
        }
    /* Behind the heads: what the records name is there. */
    look_at_areas(file);
    if (file->strings_bytes > file->header->strings_bytes) file->strings_bytes = file->header->strings_bytes;
    if (file->stacks_bytes > file->header->stacks_bytes) file->stacks_bytes = file->header->stacks_bytes;
    /* Slots are given back only behind a publication that covers them: what the one read now does not cover
     * was not written over before. */
    cap_file_publication(file, published);
    for (uint32_t i = 0; i < file->ring_count && i < published->rings; i++)
        forget_published(&rests[i], published->tail[i]);
    return true;
}

void cap_rest_free(struct cap_rest *rests)
{
    for (uint32_t i = 0; i < CAP_RINGS_MAX; i++)
        free(rests[i].slots);
}
