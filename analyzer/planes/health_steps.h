/* The steps of the health pass, in the order in which they report (doc/spec/trace.md 10.1). Each returns
 * false only when memory is short. */
#ifndef CGTRACE_ANALYZER_PLANES_HEALTH_STEPS_H
#define CGTRACE_ANALYZER_PLANES_HEALTH_STEPS_H

#include "analyzer/planes/health_codes.h"
#include "analyzer/planes/planes.h"
#include "analyzer/planes/string_set.h"

struct health_pass {
    const struct cg_trace *trace;
    const struct logical_memory *memory; /* NULL: not made */
    struct health *health;
    size_t issue_capacity;
    bool failed; /* the capture's outcome */
    bool short_of_memory;
};

/* Appends an issue; the severity comes from the code's class and the outcome. Members of the issue that do
 * not apply are left out of the call: report(pass, HEALTH_OPEN_SPAN, .subject = id). When memory is short
 * that is remembered in the pass. */
void health_report(struct health_pass *pass, struct health_issue issue);
#define report(pass, issue_code, ...)                                                                        \
    health_report(pass, (struct health_issue){.code = (issue_code), __VA_ARGS__})

bool health_spans(struct health_pass *pass);     /* steps 5 to 8 */
bool health_evidence(struct health_pass *pass);  /* steps 9 to 13 */
bool health_edges(struct health_pass *pass);     /* step 14 */
bool health_memory(struct health_pass *pass);    /* steps 15 and 16 */
bool health_gradients(struct health_pass *pass); /* step 17 */
bool health_labels(struct health_pass *pass);    /* steps 19 and 20 */

#endif
