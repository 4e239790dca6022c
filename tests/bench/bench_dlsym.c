/* What the recorder adds to a look-up that is none of its business, in instructions (callgrind): figures so
 * small drown in the noise of nanoseconds. */
#include <dlfcn.h>

#include "tests/bench/child.h"

enum { FEW = 1000, MANY = 11000 };

static int child(int count)
{
    static const char *const names[] = {"malloc", "cudnnCreate", "pthread_create", "getenv"};
    for (int i = 0; i < count; i++)
        dlsym(RTLD_DEFAULT, names[i % 4]);
    return 0;
}

static double instructions(const char *self, const char *environment)
{
    double collected[2];
    for (int i = 0; i < 2; i++) {
        char command[1024];
        snprintf(
            command, sizeof command,
            "env -u LD_PRELOAD %s valgrind --tool=callgrind --callgrind-out-file=/dev/null %s child %d 2>&1",
            environment, self, i ? MANY : FEW);
        collected[i] = child_number(command, "Collected : ");
        if (collected[i] < 0) return -1;
    }
    return (collected[1] - collected[0]) / (MANY - FEW);
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "child")) return child(atoi(argv[2]));
    char preload[512], empty[512];
    snprintf(preload, sizeof preload, "CGTRACE_QUIET=1 LD_PRELOAD=%s/libcgtrace.so", child_build());
    snprintf(empty, sizeof empty, "LD_PRELOAD=%s/tests/bench/empty.so", child_build());
    double bare = instructions(argv[0], ""), with = bare < 0 ? -1 : instructions(argv[0], preload);
    if (with < 0) {
        puts("SKIP dlsym_foreign no valgrind");
        return 0;
    }
    printf("# with an empty preloaded library: %.1f instructions\n", instructions(argv[0], empty));
    printf("BENCH dlsym_foreign %.1f %.1f %.4f <=1.05 instructions\n", with, bare, with / bare);
    return 0;
}
