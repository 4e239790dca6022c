/* For objects that several files of the library use on fast paths: their address needs no look-up then.
 * -fvisibility=hidden tells the compiler so of definitions alone. */
#ifndef CGTRACE_PRELOAD_HIDDEN_H
#define CGTRACE_PRELOAD_HIDDEN_H

#define HIDDEN __attribute__((visibility("hidden")))

#endif
