/* What the program declares of its runs by cgtrace_identity(), cgtrace_contract() and cgtrace_tag(), in place
 * of what the settings name: for the trace that is open and for later ones. */
#ifndef CGTRACE_PRELOAD_RECORD_DECLARED_H
#define CGTRACE_PRELOAD_RECORD_DECLARED_H

#include "preload/record/capture_session.h"

enum declared_kind { DECLARED_IDENTITY, DECLARED_CONTRACT, DECLARED_TAGS, DECLARED_KINDS };

/* Takes over a mapped JSON object of `room` bytes; bytes NULL: nothing is declared any more. */
void declared_set(enum declared_kind kind, struct capture_text text, size_t room);

/* Between these two they stay as they are. */
const struct capture_text *declared_hold(void);
void declared_let_go(void);

#endif
