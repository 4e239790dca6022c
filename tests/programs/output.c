/* Writes much, binary too, to both outputs, moves descriptors about, and prints what the process looks like
 * from inside. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <unistd.h>

/* Of many tries, lest one comes upon a descriptor that a thread is about to move out of the way, and waits
 * for a processor. */
static int lowest_number(void)
{
    enum { TRIES = 100 };
    int lowest = INT_MAX;
    for (int i = 0; i < TRIES; i++, usleep(1000)) {
        int fd = open("/dev/null", O_RDONLY);
        if (fd < lowest) lowest = fd;
        close(fd);
    }
    return lowest;
}

int main(void)
{
    CUdeviceptr pointer;
    target_open(0);
    setlocale(LC_ALL, "");
    errno = 1234;
    CUresult result = cuMemAlloc(&pointer, 64);
    printf("errno after a call: %d (%d)\n", errno, (int)result);
    errno = 4321;
    result = cuMemFree(pointer);
    printf("errno after a free: %d (%d)\n", errno, (int)result);
    for (int i = 0; i < 2000; i++) {
        putchar(i & 0xff);
        if (i % 100 == 0) fprintf(stderr, "line %d\n", i);
        CU(cuMemAlloc(&pointer, 64));
        CU(cuMemFree(pointer));
    }
    fflush(stdout);
    printf("\nlowest free descriptor: %d\n", lowest_number());
    fflush(stdout);
    int old = dup(2);
    int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, 2);
    fprintf(stderr, "not to be seen\n");
    dup2(old, 2);
    fprintf(stderr, "seen again\n");
    return 0;
}
