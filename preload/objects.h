/* The loader's list of objects: who looks at it holds a lock of the C library's, which that does not open in
 * a forked child. A fork while another thread looks would leave a child that hangs at its own first look, so
 * the two exclude each other here. */
#ifndef CGTRACE_PRELOAD_OBJECTS_H
#define CGTRACE_PRELOAD_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* dl_iterate_phdr(), what it returns, with all signals of the thread held back: no handler may fork in there,
 * or look itself. -1, and nothing was looked at: another thread was forking for long, or this is a child that
 * was forked while the list was being looked at for long. look_at takes no lock under which anybody looks,
 * and never calls the loader. */
int objects_look(int (*look_at)(struct dl_phdr_info *object, size_t size, void *argument), void *argument);

/* The same around what looks by itself. false: it must not, and nothing is held. */
bool objects_hold(void);
void objects_release(void);

/* This child was forked while the list was being looked at: nothing more can be loaded. */
bool objects_are_lost(void);

#endif
