#include "analyzer/trace/index_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "analyzer/trace/index_watch.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char magic[8] = {'c', 'g', 't', 'r', 'i', 'n', 'd', 'x'};
enum { VERSION = 4, ALIGN = 64, ARRAYS_MAX = 4096 };
#define BYTE_ORDER_MARK UINT64_C(0x0102030405060708)

struct header {
    char magic[8];
    uint64_t byte_order, version, layout;
    uint64_t size; /* of the whole file */
    uint64_t arrays;
    uint64_t directory; /* checksum of the directory */
    struct index_identity identity;
    uint64_t checksum; /* of the header up to here */
};
struct entry {
    char name[INDEX_NAME]; /* ended and filled up with NUL */
    uint64_t offset, length;
    uint64_t stored; /* bytes in the file: length, or 0 when all of them are zero */
    uint64_t checksum;
};
_Static_assert(sizeof(struct header) % 8 == 0 && sizeof(struct entry) % 8 == 0, "no padding");

static uint64_t aligned(uint64_t offset)
{
    return (offset + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t header_checksum(const struct header *header)
{
    return XXH3_64bits(header, offsetof(struct header, checksum));
}

/* ---- writing ---- */

static bool all_zero(const void *bytes, uint64_t length)
{
    const char *begin = bytes;
    return length > 0 && *begin == 0 && memcmp(begin, begin + 1, (size_t)length - 1) == 0;
}

static int put(json_sink *sink, void *context, const void *bytes, uint64_t length, uint64_t *at)
{
    static const char zeros[ALIGN];
    uint64_t rest = aligned(*at + length) - *at - length;
    int failure = length > 0 ? sink(context, bytes, (size_t)length) : 0;

    if (!failure && rest > 0) failure = sink(context, zeros, (size_t)rest);
    *at += length + rest;
    return failure;
}

int index_file_write(const struct index_identity *identity, uint64_t layout, const struct index_array *arrays,
                     size_t count, json_sink *sink, void *context, uint64_t *size)
{
    struct header header = {
        .byte_order = BYTE_ORDER_MARK, .version = VERSION, .layout = layout, .arrays = count};
    struct entry *entries = calloc(count + 1, sizeof *entries);
    uint64_t at = aligned(aligned(sizeof header) + count * sizeof *entries), done = 0;

    if (!entries) return ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &entries[i];
        strcpy(entry->name, arrays[i].name);
        entry->offset = at;
        entry->length = arrays[i].length;
        entry->stored = all_zero(arrays[i].bytes, arrays[i].length) ? 0 : arrays[i].length;
        entry->checksum = XXH3_64bits(arrays[i].bytes, (size_t)entry->stored);
        at = aligned(at + entry->stored);
    }
    memcpy(header.magic, magic, sizeof magic);
    header.size = at;
    header.directory = XXH3_64bits(entries, count * sizeof *entries);
    header.identity = *identity;
    header.checksum = header_checksum(&header);
    int failure = put(sink, context, &header, sizeof header, &done);
    if (!failure) failure = put(sink, context, entries, count * sizeof *entries, &done);
    for (size_t i = 0; i < count && !failure; i++)
        failure = put(sink, context, arrays[i].bytes, entries[i].stored, &done);
    free(entries);
    *size = at;
    return failure;
}

/* ---- reading ---- */

struct index_file {
    const unsigned char *bytes;
    size_t size;
    struct index_watch *watch; /* NULL: not mapped */
    struct header header;
    const struct entry *entries;
    size_t next;       /* entry that is asked for next, if they come in order */
    const void *zeros; /* what arrays of zeros alone point to */
    size_t zeros_length;
};

static bool refuse(char why[INDEX_WHY], const char *text)
{
    snprintf(why, INDEX_WHY, "%s", text);
    return false;
}

static bool check_header(const struct index_file *file, uint64_t layout, char why[INDEX_WHY])
{
    const struct header *header = &file->header;

    if (memcmp(header->magic, magic, sizeof magic) != 0) return refuse(why, "it is no index");
    if (header->byte_order != BYTE_ORDER_MARK)
        return refuse(why, "it was written by a machine of another byte order");
    if (header->version != VERSION || header->layout != layout)
        return refuse(why, "it was written by another version of cg-analyze");
    if (header->checksum != header_checksum(header)) return refuse(why, "its header is damaged");
    if (header->size != file->size) return refuse(why, "it is cut off, or has grown");
    return true;
}

static bool check_directory(struct index_file *file, char why[INDEX_WHY])
{
    uint64_t begin = aligned(sizeof file->header), count = file->header.arrays;
    size_t zeros = 0;

    if (count > ARRAYS_MAX || begin + count * sizeof *file->entries > file->size)
        return refuse(why, "its directory is damaged");
    file->entries = (const struct entry *)(const void *)(file->bytes + begin);
    if (XXH3_64bits(file->entries, count * sizeof *file->entries) != file->header.directory)
        return refuse(why, "its directory is damaged");
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &file->entries[i];
        if (entry->name[INDEX_NAME - 1] != '\0' || entry->offset % ALIGN != 0 || entry->offset > file->size ||
            entry->stored > file->size - entry->offset ||
            (entry->stored != 0 && entry->stored != entry->length) || entry->length > SIZE_MAX / 4)
            return refuse(why, "its directory is damaged");
        if (entry->stored == 0 && entry->length > zeros) zeros = (size_t)entry->length;
    }
    file->zeros_length = zeros + ALIGN;
    return true;
}

/* One mapping serves all arrays of zeros. It takes no memory but, where it is read, a page of zeros that all
 * processes share; huge ones where the system has them, or else each 4 KiB of it would cost a fault. */
static bool map_zeros(struct index_file *file, char why[INDEX_WHY])
{
    void *zeros =
        mmap(NULL, file->zeros_length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (zeros == MAP_FAILED) return refuse(why, "there is no memory to read it");
    madvise(zeros, file->zeros_length, MADV_HUGEPAGE);
    file->zeros = zeros;
    return true;
}

static void give_back(const struct index_file *file)
{
    if (file->watch) munmap((void *)(uintptr_t)file->bytes, file->size);
    index_watch_end(file->watch);
    if (file->zeros) munmap((void *)(uintptr_t)file->zeros, file->zeros_length);
}

static struct index_file *open_bytes(const void *bytes, size_t length, struct index_watch *watch,
                                     uint64_t layout, char why[INDEX_WHY])
{
    struct index_file *file = calloc(1, sizeof *file);
    bool good = file != NULL || refuse(why, "there is no memory to read it");

    if (good) {
        *file = (struct index_file){.bytes = bytes, .size = length, .watch = watch};
        good = length >= sizeof file->header || refuse(why, "it is cut off");
    }
    if (good) {
        memcpy(&file->header, bytes, sizeof file->header);
        good = check_header(file, layout, why) && check_directory(file, why) && map_zeros(file, why);
    }
    if (good) return file;
    struct index_file none = {.bytes = bytes, .size = length, .watch = watch};
    give_back(file ? file : &none);
    free(file);
    return NULL;
}

struct index_file *index_file_of(const void *bytes, size_t length, uint64_t layout, char why[INDEX_WHY])
{
    if ((uintptr_t)bytes % ALIGN != 0) {
        refuse(why, "its bytes are not aligned");
        return NULL;
    }
    return open_bytes(bytes, length, NULL, layout, why);
}

struct index_file *index_file_open(int fd, uint64_t layout, char why[INDEX_WHY])
{
    struct stat status;
    struct index_watch *watch;
    void *bytes;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        refuse(why, "it is no regular file");
        return NULL;
    }
    if ((uint64_t)status.st_size < sizeof(struct header)) {
        refuse(why, "it is cut off");
        return NULL;
    }
    watch = index_watch_begin(fd);
    bytes = watch ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED) {
        snprintf(why, INDEX_WHY, "it cannot be mapped: %s", strerror(errno));
        index_watch_end(watch);
        return NULL;
    }
    return open_bytes(bytes, (size_t)status.st_size, watch, layout, why);
}

void index_file_close(struct index_file *file)
{
    if (!file) return;
    give_back(file);
    free(file);
}

bool index_file_rely(struct index_file *file, char why[INDEX_WHY])
{
    return index_watch_rely(file->watch) || refuse(why, "it was written into while it was read");
}

const struct index_identity *index_file_identity(const struct index_file *file)
{
    return &file->header.identity;
}

static const struct entry *find(struct index_file *file, const char *name)
{
    size_t count = (size_t)file->header.arrays;

    for (size_t i = 0; i < count; i++) {
        size_t at = file->next + i < count ? file->next + i : file->next + i - count;
        if (strcmp(file->entries[at].name, name) != 0) continue;
        file->next = at + 1 < count ? at + 1 : 0;
        return &file->entries[at];
    }
    return NULL;
}

bool index_file_length(struct index_file *file, const char *name, uint64_t *length)
{
    const struct entry *entry = find(file, name);

    *length = entry ? entry->length : 0;
    return entry != NULL;
}

bool index_file_zeros(const struct index_file *file, const void *array)
{
    return array == file->zeros;
}

const void *index_file_array(struct index_file *file, const char *name, uint64_t length)
{
    const struct entry *entry = find(file, name);

    if (!entry || entry->length != length) return NULL;
    if (entry->stored == 0) return file->zeros;
    const unsigned char *bytes = file->bytes + entry->offset;
    return XXH3_64bits(bytes, (size_t)length) == entry->checksum ? bytes : NULL;
}
