/* Writes much, binary too, to both outputs, moves descriptors about, and prints what the process looks like
 * from inside. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

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
    int lowest = open("/dev/null", O_RDONLY);
    printf("\nlowest free descriptor: %d\n", lowest);
    fflush(stdout);
    int old = dup(2);
    int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, 2);
    fprintf(stderr, "not to be seen\n");
    dup2(old, 2);
    fprintf(stderr, "seen again\n");
    return 0;
}
