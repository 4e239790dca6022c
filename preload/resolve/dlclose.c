/* dlclose: what is known of the code on stacks may be wrong behind it (record/stacks.h), and of callers of
 * the runtime. Exported under libc's versions, as dlsym and dlopen are. */
#include <dlfcn.h>
#include <errno.h>

#include "preload/record/stacks.h"
#include "preload/resolve/resolve.h"
#include "preload/resolve/runtime.h"

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

int resolve_dlclose(void *handle)
{
    if (!real) {
        int past = errno;

        real = (int (*)(void *))resolve_true_dlsym()(RTLD_NEXT, "dlclose");
        errno = past;
    }
    return real(handle);
}

int dlclose_later(void *handle)
{
    int result;

    stacks_unloading();
    runtime_forget_callers();
    result = resolve_dlclose(handle);
    runtime_forget_callers(); /* destructors may have called */
    stacks_unloaded();
    return result;
}

int dlclose_first(void *handle)
{
    return dlclose_later(handle);
}
