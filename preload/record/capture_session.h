/* Sessions that the program opens and closes itself, through the API.
 *
 * Once a program has asked for one, sessions come and go: nothing is captured between them but what is needed
 * to begin the next one, the table of live storages and the open ranges of each thread. None of these
 * functions changes errno. All may be called from any thread, and from a signal handler: but capture_begin()
 * starts a thread, for which the C library allocates, so not from one that has interrupted the heap. */
#ifndef CGTRACE_PRELOAD_RECORD_CAPTURE_SESSION_H
#define CGTRACE_PRELOAD_RECORD_CAPTURE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not ended by NUL; bytes NULL: none. */
struct capture_text {
    const char *bytes;
    size_t length;
};

/* What a session is asked for with. All of it is copied. */
struct capture_request {
    const char *entrypoint; /* NULL: CGTRACE_ENTRYPOINT, else the program's name */
    /* Name of the measured region; NULL: "region". It spans the session: what its thread records belongs to
     * it, what others do belongs to the root. */
    const char *region;
    /* There is none such: the one span that record_span_measured() begins is the measured region. */
    bool own_region;
    bool synchronised;     /* with the device, before this; what the region ends with is then so too */
    unsigned phase;        /* enum cg_phase_setting */
    uint64_t capture_step; /* one-based; 0: the number of the session in the process */
    uint64_t warmup_steps; /* UINT64_MAX: capture_step - 1 */
    struct capture_text correlation; /* none: <entrypoint>/update-<step> or <entrypoint>/inference-<step> */
    /* JSON objects, whose syntax the caller has checked: comparison identity, capture contract (levels are
     * lowered to what was seen), tags (texts by key). None: CGTRACE_IDENTITY, _CONTRACT, _TAGS. */
    struct capture_text identity, contract, tags;
    const char *output; /* template of the trace's path, as CGTRACE_OUTPUT; NULL: that */
};

enum capture_result {
    CAPTURE_DONE,
    CAPTURE_BUSY,     /* a session is open: the whole process', a selected region's or one of these */
    CAPTURE_NONE,     /* no session is open, or not one of these */
    CAPTURE_DISABLED, /* by a setting, or because the recorder has given up; nothing is ever captured */
    CAPTURE_IO,       /* the files cannot be made or completed: capture_error() says which and why */
};

/* Opens a session. The calling thread is the region's. */
enum capture_result capture_begin(const struct capture_request *request);
/* Ends it, from any thread: drains, writes and places the trace before it returns. failed: the trace says so,
 * with reason, which is not blank. path: takes the trace's path, cut off at size; NULL: not wanted. */
enum capture_result capture_end(bool failed, const char *reason, char *path, size_t size);
/* From now on nothing but sessions of capture_begin() is captured. BUSY when another one is open already. */
enum capture_result capture_explicit_only(void);
/* A session of capture_begin() is open. */
bool capture_is_open(void);
/* What went wrong last in capture_begin() or capture_end() of this thread; never NULL. */
const char *capture_error(void);

#endif
