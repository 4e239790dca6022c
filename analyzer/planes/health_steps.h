/* The steps of the health pass, in the order in which they report (doc/spec/trace.md 10.1). Each returns
 * false only when memory is short. */
#ifndef CGTRACE_ANALYZER_PLANES_HEALTH_STEPS_H
#define CGTRACE_ANALYZER_PLANES_HEALTH_STEPS_H

#include "analyzer/planes/health_codes.h"
#include "analyzer/planes/planes.h"

struct health_pass {
    const struct cg_trace *trace;
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

/* A set of strings of the trace, one bit each. */
struct string_set {
    uint64_t *bits;
};
bool string_set_make(struct string_set *set, const struct cg_trace *trace);
void string_set_free(struct string_set *set);
static inline bool string_set_has(const struct string_set *set, cg_str string)
{
    return set->bits[string / 64] >> string % 64 & 1;
}
/* Was it new? */
static inline bool string_set_add(struct string_set *set, cg_str string)
{
    bool had = string_set_has(set, string);
    set->bits[string / 64] |= (uint64_t)1 << string % 64;
    return !had;
}

#endif
