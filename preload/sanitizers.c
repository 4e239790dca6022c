/* What the runtime of a sanitizer asks the program for, and finds here when the program says nothing of it: a
 * program that is built with one runs beside us as it does alone. Weak in the runtimes; a runtime that is
 * linked into the program (clang's) asks the program alone. */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *__asan_default_options(void);
EXPORTED const char *__tsan_default_suppressions(void);

/* Its runtime insists on being the first library, and ends the program. What must come first are its
 * functions, of which we have none but some that go on to it. */
const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}

/* It sees memcpy() and its kin in here, but none of the barriers that order them, and reports races; unless
 * this library is built with it too. It refuses the suppression where two copies of this library are loaded.
 */
const char *__tsan_default_suppressions(void)
{
#ifdef __SANITIZE_THREAD__
    return "";
#endif
    return dlsym(RTLD_NEXT, "cgtrace_api_1") ? "" : "called_from_lib:libcgtrace.so\n";
}
