/* The overview document, for the command and for the page (doc/spec/cli.md 5.2). */
#ifndef CGTRACE_ANALYZER_CMD_OVERVIEW_H
#define CGTRACE_ANALYZER_CMD_OVERVIEW_H

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/rankings.h"
#include "analyzer/evidence/oom_view.h"

struct overview {
    const struct command_input *input;
    struct rankings rankings;   /* made by rankings_make() */
    const struct oom_view *oom; /* failed allocations; NULL: there are none */
    bool people;                /* laid out for a table */
};

/* object: the struct overview. */
document_emitter emit_overview;

#endif
