/* By libgcc's unwinder, which is wherever C++ is. It reads the tables of each frame anew, about 100 ns a
 * frame, keeps nothing, and with glibc 2.35 and gcc 12 or newer takes no lock.
 *
 * libunwind is several times faster, and not used: to see whether memory is readable it keeps a pipe open and
 * never asks whether the descriptors are still its own. In a program that closes what it does not know, it
 * would read from, write to and close the program's files. And the frames it has learned are wrong when other
 * code has been loaded in their place.
 *
 * libgcc is opened with RTLD_LOCAL: the program must go on finding what it would find without us. */
#include "preload/record/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the ABI (unwind.h). */
struct context;
typedef int trace_function(struct context *context, void *argument);
enum { GO_ON = 0, END_OF_STACK = 5 };

static int (*backtrace_of)(trace_function *function, void *argument);
static uintptr_t (*address_of)(struct context *context);

void unwind_open(void)
{
    static bool opened;
    int past = errno;
    void *library;

    if (opened) return;
    opened = true;
    library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library) {
        address_of = (uintptr_t(*)(struct context *))dlsym(library, "_Unwind_GetIP");
        if (address_of) backtrace_of = (int (*)(trace_function *, void *))dlsym(library, "_Unwind_Backtrace");
    }
    dlerror(); /* the program's next call of it is not to hear of ours */
    errno = past;
}

const char *unwind_name(void)
{
    return backtrace_of ? "libgcc" : "none";
}

struct trace {
    void **addresses;
    int count, limit;
};

static int add(struct context *context, void *argument)
{
    struct trace *trace = argument;
    uintptr_t address = address_of(context);

    if (trace->count == trace->limit || !address) return END_OF_STACK;
    trace->addresses[trace->count++] = (void *)address;
    return GO_ON;
}

int unwind_stack(void **addresses, int limit)
{
    struct trace trace = {addresses, 0, limit};

    if (backtrace_of) backtrace_of(add, &trace);
    return trace.count;
}
