#include "preload/hooks/ask.h"

#include "preload/resolve/resolve.h"

_Atomic(void *) ask_known[ASK_COUNT];

void *ask_look(enum ask_function function)
{
    static const char *const names[] = {
#define ASKED(symbol, parameters) #symbol,
#include "preload/hooks/asked.def"
#undef ASKED
    };
    void *found = resolve_driver_symbol(names[function]);

    atomic_store_explicit(&ask_known[function], found, memory_order_relaxed);
    return found;
}
