/* dlclose: what is known of the code on stacks may be wrong behind it (record/stacks.h). Exported under
 * libc's versions, as dlsym and dlopen are. */
#include <dlfcn.h>
#include <errno.h>

#include "preload/record/stacks.h"
#include "preload/resolve/resolve.h"

#if defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#else
#define FIRST "GLIBC_2.2.5"
#endif

#define EXPORTED __attribute__((visibility("default"), used))

static int (*real)(void *handle);

EXPORTED int dlclose_later(void *handle);
EXPORTED int dlclose_first(void *handle);
__asm__(".symver dlclose_later,dlclose@@GLIBC_2.34,remove");
__asm__(".symver dlclose_first,dlclose@" FIRST ",remove");

int dlclose_later(void *handle)
{
    int result;

    if (!real) {
        int past = errno;

        real = (int (*)(void *))resolve_true_dlsym()(RTLD_NEXT, "dlclose");
        errno = past;
    }
    stacks_unloading();
    result = real(handle);
    stacks_unloaded();
    return result;
}

int dlclose_first(void *handle)
{
    return dlclose_later(handle);
}
