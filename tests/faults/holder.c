/* Preloaded: holds a thread inside of dl_iterate_phdr(), with the loader's lock, until the program lets it
 * go. */
#define EXPORT __attribute__((visibility("default")))

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

typedef int look_fn(struct dl_phdr_info *, size_t, void *);
struct wrapped {
    look_fn *look_at;
    void *argument;
};

enum { HANGS_MS = 60000 };
static int (*real)(look_fn *, void *);
static _Thread_local bool next; /* the calling thread's next look is held */
static _Atomic bool is_inside, may_go;
static _Atomic int stays_ms;

EXPORT int dl_iterate_phdr(look_fn *look_at, void *argument);
EXPORT void holder_hold_next(void);
EXPORT bool holder_is_inside(void);
EXPORT void holder_let_go(int ms);

__attribute__((constructor)) static void find_real(void)
{
    real = (int (*)(look_fn *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
}

static int hold(struct dl_phdr_info *object, size_t size, void *argument)
{
    const struct wrapped *wrapped = argument;
    const struct timespec nap = {0, 1000 * 1000};

    if (next) {
        next = false;
        atomic_store(&is_inside, true);
        for (int i = 0; i < HANGS_MS && !atomic_load(&may_go); i++)
            nanosleep(&nap, NULL);
        for (int i = 0; i < atomic_load(&stays_ms); i++)
            nanosleep(&nap, NULL);
    }
    return wrapped->look_at(object, size, wrapped->argument);
}

int dl_iterate_phdr(look_fn *look_at, void *argument)
{
    struct wrapped wrapped = {look_at, argument};

    if (!real) find_real();
    return next ? real(hold, &wrapped) : real(look_at, argument);
}

/* The calling thread's next look lasts until it is let go. */
void holder_hold_next(void)
{
    next = true;
}

bool holder_is_inside(void)
{
    return atomic_load(&is_inside);
}

/* In so many milliseconds. */
void holder_let_go(int ms)
{
    atomic_store(&stays_ms, ms);
    atomic_store(&may_go, true);
}
