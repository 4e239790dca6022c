/* The return addresses of the calling thread's calls. */
#ifndef CGTRACE_PRELOAD_RECORD_UNWIND_H
#define CGTRACE_PRELOAD_RECORD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/capture.h"

/* Calls of a stack that are asked for at most: with those on its top that may have to be left out. */
enum { UNWIND_OWN_MAX = 24, UNWIND_MAX = CAP_FRAMES_MAX + UNWIND_OWN_MAX };

#define UNWIND_BY_RBP (UINT64_C(1) << 63)
/* A stack as it was walked, innermost call first. */
struct unwind_frames {
    uint64_t time; /* of the rules that it was walked by */
    uint64_t hash; /* the caller's, of the addresses; 0: not known */
    int all;       /* frames */
    int count;     /* of the first of them, all of whose rules are kept */
    uintptr_t rsp; /* of the walk itself */
    bool to_top;   /* a rule that is kept says that no frame is above the last one, whose rbp is */
    uintptr_t top_rbp;
    uintptr_t addresses[UNWIND_MAX];
    /* Where each frame ends | how many words below that its caller's rbp is saved, 0: it is not, |
     * UNWIND_BY_RBP where its end follows from its rbp; and its caller's rbp. */
    uintptr_t ends[UNWIND_MAX], rbps[UNWIND_MAX];
};
/* A thread's last stack, to go by in the next walk. All zero: none. */
struct unwind_last {
    struct unwind_frames frames[2]; /* the last one, and room for the next */
    unsigned current;
};

/* Opens the unwinder, once for the process. Calls dlopen: off the hot path. stays: whether the code at an
 * address is there until unwind_forget() is called; of other code, such as a just-in-time compiler's, nothing
 * is kept. */
void unwind_open(bool (*stays)(uintptr_t address));

/* Which one answers: libgcc or none. */
const char *unwind_name(void);

/* The return addresses, innermost first, at most limit of them (and UNWIND_MAX); returns how many. They stand
 * in (*frames)->addresses, of *last, until the next call with it, which is the calling thread's alone. A hash
 * other than 0 is the one that the caller stored there when it was given these addresses before. Calls of
 * this library come first. None on a stack that the program has made itself (a coroutine's, an alternate
 * signal stack). The first call of a thread reads the list of mappings (own_stack.h). Allocates nothing.
 * steady: no code is being unloaded, so that what was learned of addresses holds. */
int unwind_stack(struct unwind_last *last, int limit, bool steady, struct unwind_frames **frames);

/* Code was unloaded: what was learned of addresses is forgotten. Still between unsteady calls. */
void unwind_forget(void);

#endif
