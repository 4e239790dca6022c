/* Parses a file line by line with yyjson and prints the processor time that this took; reading the file is
 * not counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "yyjson.h"

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static char *read_whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long size;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) return NULL;
    rewind(file);
    *length = (size_t)size;
    text = malloc(*length + YYJSON_PADDING_SIZE);
    if (text && fread(text, 1, *length, file) != *length) text = NULL;
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    size_t length;
    char *text = argc == 2 ? read_whole(argv[1], &length) : NULL;
    enum { POOL = 4 << 20 }; /* its documents lie in memory that is given once, its quickest way */
    void *pool = malloc(POOL);
    yyjson_alc memory;
    if (!text || !pool) return 1;
    memset(text + length, 0, YYJSON_PADDING_SIZE);
    const double begin = processor_time();
    for (char *at = text, *end = text + length; at < end;) {
        char *feed = memchr(at, '\n', (size_t)(end - at));
        if (!feed) feed = end;
        if (!yyjson_alc_pool_init(&memory, pool, POOL) ||
            !yyjson_read_opts(at, (size_t)(feed - at), YYJSON_READ_NOFLAG, &memory, NULL))
            return 1;
        at = feed + 1;
    }
    printf("%.9f\n", processor_time() - begin);
    return 0;
}
