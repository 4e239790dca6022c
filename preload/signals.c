#include "preload/signals.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A set as the kernel has it. The C library's own functions leave out the signals that it cancels threads by
 * and changes their user with. */
typedef uint64_t kernel_set;
enum { TRIES = 3 };
#define BIT(signal) (UINT64_C(1) << ((signal)-1))

static const kernel_set all_but_faults =
    ~(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS));

/* Changed while signals are held back alone: no handler sees it half done, or leaves it so. */
static __thread struct {
    kernel_set past;
    int past_cancel;
    unsigned depth;
    bool refused; /* by a filter of system calls: no signal is held back */
} held __attribute__((tls_model("initial-exec")));

static bool set_blocked(const kernel_set *blocked, kernel_set *past)
{
    int kept = errno;
    bool done = syscall(SYS_rt_sigprocmask, SIG_SETMASK, blocked, past, sizeof *blocked) == 0;

    errno = kept;
    return done;
}

void signals_hold(void)
{
    if (held.depth == 0) {
        kernel_set past = 0;

        held.refused = !set_blocked(&all_but_faults, &past);
        held.past = past;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &held.past_cancel);
    }
    held.depth++;
}

void signals_release(void)
{
    int none;

    if (--held.depth > 0) return;
    /* First, or a handler that jumps out would leave it as it is. */
    pthread_setcancelstate(held.past_cancel, &none);
    /* The kernel does not refuse this; who stands between may, once. The program's signals must come through.
     */
    for (int i = 0; !held.refused && i < TRIES && !set_blocked(&held.past, NULL); i++)
        ;
}

/* Likewise. While signals are held back the thread is not cancelled either, so past_cancel is what it comes
 * to. */
static __thread struct {
    int past;
    unsigned depth;
} waits __attribute__((tls_model("initial-exec")));

void cancel_hold(void)
{
    signals_hold();
    if (waits.depth++ == 0) {
        waits.past = held.past_cancel;
        held.past_cancel = PTHREAD_CANCEL_DISABLE;
    }
    signals_release();
}

static void set_waits(unsigned depth)
{
    signals_hold();
    if (waits.depth > 0 && depth == 0) held.past_cancel = waits.past;
    waits.depth = depth;
    signals_release();
}

void cancel_release(void)
{
    if (waits.depth > 0) set_waits(waits.depth - 1);
}

void signals_left(void)
{
    if (waits.depth > 0) set_waits(0);
}

void signals_of_program(sigset_t *blocked)
{
    pthread_sigmask(SIG_SETMASK, NULL, blocked);
    if (held.depth > 0 && !held.refused) memcpy(blocked, &held.past, sizeof held.past);
}
