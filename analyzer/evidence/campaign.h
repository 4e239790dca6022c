/* Campaigns: which captures of a plan are there (doc/spec/compare.md 2 and 3). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_CAMPAIGN_H
#define CGTRACE_ANALYZER_EVIDENCE_CAMPAIGN_H

#include "analyzer/evidence/run_load.h"

#define CAMPAIGN_SCHEMA        "candle-graph/campaign/1"
#define CAMPAIGN_STATUS_SCHEMA "candle-graph/campaign-status/1"

/* States of a planned capture: S(constant suffix, "wire value", "what it means"). */
#define CAMPAIGN_STATES(S)                                                                                   \
    S(PUBLISHED, "published", "its bundle verifies and holds the planned capture, complete")                 \
    S(MISSING, "missing", "there is no bundle")                                                              \
    S(VERIFICATION_FAILED, "verification_failed", "its bundle does not verify or cannot be read")            \
    S(IDENTITY_MISMATCH, "identity_mismatch", "its bundle holds another entrypoint or step")                 \
    S(FAILED_RUN, "failed_run", "its bundle holds a capture that failed")
enum campaign_state {
#define CAMPAIGN_STATE(suffix, wire, meaning) CAMPAIGN_##suffix,
    CAMPAIGN_STATES(CAMPAIGN_STATE)
#undef CAMPAIGN_STATE
};
const char *campaign_state_name(enum campaign_state state);

struct campaign_capture {
    uint64_t capture_step;
    char *bundle; /* as the plan writes it */
    char *root;   /* where that is */
    enum campaign_state state;
    char *run_id; /* published, failed_run */
    size_t run_id_length;
    char manifest_sha256[SHA256_HEX]; /* published */
    char *message;                    /* why, or the failed run's reason */
};

struct campaign {
    struct text_arena arena; /* owns the texts */
    struct cg_text campaign_id, entrypoint;
    struct campaign_capture *captures; /* ascending capture_step */
    size_t count;
};

/* Reads and validates a plan; the first fault in the order of doc/spec/compare.md 2 is reported.
 * CG_EXIT_INPUT or CG_EXIT_IO. */
int campaign_read(const char *path, struct campaign *campaign, struct cg_error *error);
/* Finds the state of every capture. A capture's fault is its state, never an error: CG_EXIT_IO only without
 * memory. */
int campaign_reconcile(struct campaign *campaign, struct cg_error *error);
void campaign_free(struct campaign *campaign);

/* The campaign-status/1 document as one object, in declared order. */
void emit_campaign_status(struct json_doc *doc, const struct campaign *campaign);

#endif
