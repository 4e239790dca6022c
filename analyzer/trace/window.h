/* Pieces of a regular file, mapped where they would be copied. Of a file that lies in memory in large folios,
 * as one does that was written or read in large pieces, 1 GB is there in 3 ms; copying it takes 150 to 190, a
 * third of the time of reading a trace. Only of what is in memory already.
 *
 * What is mapped may go away: the file may become shorter, or its device fail. Reading there is SIGBUS, which
 * is caught here: line feeds stand there then, so that whoever reads lines comes to an end, and it is told
 * that something broke. What is mapped may also change under the reader, to anything: behind the window one
 * more page holds line feeds, and whoever reads asks at the end whether the file is the one that it was. */
#ifndef CGTRACE_ANALYZER_TRACE_WINDOW_H
#define CGTRACE_ANALYZER_TRACE_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window;

/* Several huge pages, since what a window shares with the one before it is mapped twice. */
enum { WINDOW_MOST = 8 << 20 };

/* The file's bytes from the page of `at` on, up to `end` (where the file ends, or before) and no more than
 * WINDOW_MOST. The caller holds it. broken is set when some of them cannot be had; it outlives the window.
 * NULL: they are not in memory, or cannot be mapped. */
struct window *window_open(int fd, uint64_t at, uint64_t end, atomic_bool *broken);
/* Whether its pages come in less time than copies of them, of which it tries some; the calling thread is in
 * no window then. Under a hypervisor that has page tables of its own each page is a fault there, which the
 * guest sees as a slow load: mapped, 1 GB took 1.1 s to read, and copied 0.5. */
bool window_pays(struct window *window, int fd);
/* One more holder; one less: with the last one it goes. Of any thread. NULL: none. */
struct window *window_retain(struct window *window);
void window_release(struct window *window);

/* The byte at this place of the file, which is in the window, and how many there are from it on. */
const char *window_text(const struct window *window, uint64_t at);
uint64_t window_left(const struct window *window, uint64_t at);

/* The calling thread reads in this window from now on, and in no other one; NULL: in none. */
void window_enter(struct window *window);

#endif
