#include "analyzer/trace/index_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/trace/same_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK = 4096, BLOCKS = 32, READ_BYTES = 1 << 20 };

struct index_hasher {
    XXH3_state_t state;
};

struct index_hasher *index_hasher_new(void)
{
    struct index_hasher *hasher = aligned_alloc(64, (sizeof *hasher + 63) / 64 * 64);
    if (hasher) XXH3_128bits_reset(&hasher->state);
    return hasher;
}

void index_hasher_tap(void *context, const void *bytes, size_t length)
{
    struct index_hasher *hasher = context;
    XXH3_128bits_update(&hasher->state, bytes, length);
}

void index_hasher_end(struct index_hasher *hasher, uint64_t hash[2])
{
    XXH128_hash_t made = XXH3_128bits_digest(&hasher->state);
    hash[0] = made.low64;
    hash[1] = made.high64;
    free(hasher);
}

/* As much as is there; -1 with errno. */
static ssize_t read_at(int fd, void *to, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Blocks from the first to the last, evenly spread: a file that was put in the place of another one, with its
 * size and times, differs in some of them unless it was made to deceive. */
static bool hash_sample(int fd, uint64_t size, uint64_t *sample)
{
    char *blocks = malloc(BLOCK * BLOCKS);
    uint64_t last = size > BLOCK ? size - BLOCK : 0;
    bool good = blocks != NULL;
    size_t length = 0;

    for (uint64_t i = 0; good && i < BLOCKS; i++) {
        uint64_t at = (uint64_t)((unsigned __int128)last * i / (BLOCKS - 1));
        ssize_t got = read_at(fd, blocks + length, BLOCK, at);
        good = got >= 0;
        length += good ? (size_t)got : 0;
    }
    if (good) *sample = XXH3_64bits(blocks, length);
    free(blocks);
    return good;
}

bool index_identity_of(int fd, struct index_identity *identity)
{
    struct stat status;

    if (fstat(fd, &status) != 0) return false;
    *identity = (struct index_identity){.size = (uint64_t)status.st_size,
                                        .device = (uint64_t)status.st_dev,
                                        .inode = (uint64_t)status.st_ino,
                                        .modified_ns = timespec_ns(&status.st_mtim),
                                        .changed_ns = timespec_ns(&status.st_ctim)};
    return hash_sample(fd, identity->size, &identity->sample);
}

bool index_identity_settle(int fd, struct index_identity *identity)
{
    if (!index_identity_of(fd, identity)) return false;
    int64_t age = file_age_ns(identity->changed_ns);
    if (age >= 0 && age < FILE_SETTLED_NS) {
        int64_t rest = FILE_SETTLED_NS - age;
        struct timespec pause = {rest / 1000000000, rest % 1000000000};
        while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
            ;
        if (!index_identity_of(fd, identity)) return false;
        age = file_age_ns(identity->changed_ns);
    }
    /* In the future: the file system's clock is another one, and says nothing. */
    identity->by_hash = age < FILE_SETTLED_NS;
    return true;
}

bool index_identity_equal(const struct index_identity *a, const struct index_identity *b)
{
    return a->size == b->size && a->device == b->device && a->inode == b->inode &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns && a->sample == b->sample;
}

static bool hash_content(int fd, uint64_t hash[2])
{
    struct index_hasher *hasher = index_hasher_new();
    char *buffer = malloc(READ_BYTES);
    ssize_t got = -1;

    for (uint64_t at = 0; hasher && buffer; at += (uint64_t)got) {
        got = read_at(fd, buffer, READ_BYTES, at);
        if (got <= 0) break;
        index_hasher_tap(hasher, buffer, (size_t)got);
    }
    if (hasher) index_hasher_end(hasher, hash);
    free(buffer);
    return got == 0;
}

bool index_identity_check(int fd, const struct index_identity *made_from, bool verify, char why[INDEX_WHY])
{
    struct index_identity now, after;
    uint64_t hash[2];
    bool read = index_identity_of(fd, &now);

    if (read && now.size == made_from->size && !verify && !made_from->by_hash &&
        index_identity_equal(&now, made_from))
        return true;
    if (read && now.size != made_from->size) {
        snprintf(why, INDEX_WHY, "the trace has changed since: it has another size");
        return false;
    }
    read = read && hash_content(fd, hash) && index_identity_of(fd, &after);
    if (read && index_identity_equal(&now, &after) && hash[0] == made_from->hash[0] &&
        hash[1] == made_from->hash[1])
        return true;
    if (read)
        snprintf(why, INDEX_WHY, "the trace has changed since: its content is another one");
    else
        snprintf(why, INDEX_WHY, "the trace cannot be read to be compared: %s", strerror(errno));
    return false;
}
