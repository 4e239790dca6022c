/* Preloaded in front of everything: writes down what every look-up through cuGetProcAddress_v2 gives, by the
 * name and the file of the symbol at the address. What it hands on is what it was given. SPY_LOG: the file.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *dlsym_fn(void *, const char *);
typedef int look_up_fn(const char *, void **, int, unsigned long long, int *);

static look_up_fn *next_look_up;

static void write_down(const char *what, const char *name, int version, unsigned long long flags, int result,
                       void *address)
{
    static FILE *log;
    if (!log) log = fopen(getenv("SPY_LOG"), "w");
    Dl_info at = {0};
    if (result || !address || !dladdr(address, &at)) at = (Dl_info){.dli_sname = "-", .dli_fname = "-"};
    const char *slash = strrchr(at.dli_fname, '/');
    if (!*at.dli_fname) at.dli_fname = "?";
    if (!slash) slash = at.dli_fname - 1;
    fprintf(log, "%s %s %d %llu %d %s %s\n", what, *name ? name : "(none)", version, flags, result,
            at.dli_saddr == address && at.dli_sname ? at.dli_sname : "-", slash + 1);
    fflush(log);
}

static int look_up(const char *name, void **function, int version, unsigned long long flags, int *status)
{
    void *before = *function;
    int result = next_look_up(name, function, version, flags, status);
    write_down("look-up", name, version, flags, result, *function == before ? NULL : *function);
    /* The runtime goes on with what it gets for the name of the look-up itself. */
    if (!result && !strcmp(name, "cuGetProcAddress") && version >= 12000 && *function != before) {
        next_look_up = (look_up_fn *)*function;
        *function = (void *)look_up;
    }
    return result;
}

__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    dlsym_fn *next = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    void *found = next(handle, name);
    if (strcmp(name, "cuGetProcAddress_v2") != 0 || !found) return found;
    write_down("dlsym", name, 0, 0, 0, found);
    next_look_up = (look_up_fn *)found;
    return (void *)look_up;
}
