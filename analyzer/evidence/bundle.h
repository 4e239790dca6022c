/* Evidence bundles: a directory whose manifest vouches for every byte in it (doc/spec/bundle.md). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_BUNDLE_H
#define CGTRACE_ANALYZER_EVIDENCE_BUNDLE_H

#include <sys/stat.h>

#include "analyzer/evidence/sha256.h"
#include "analyzer/evidence/text.h"
#include "common/json_doc.h"

#define BUNDLE_SCHEMA              "candle-graph/bundle/1"
#define BUNDLE_VERIFICATION_SCHEMA "candle-graph/bundle-verification/1"
#define BUNDLE_MANIFEST            "bundle.json"

/* Limits of ours (7). */
enum {
    BUNDLE_MANIFEST_BYTES = 64 << 20,
    BUNDLE_FILES_MAX = 1000000,
    BUNDLE_DEPTH_MAX = 64,
    BUNDLE_PATH_MAX = 4096
};

struct bundle_file {
    const char *path; /* relative to the root */
    uint64_t bytes;
    char sha256[SHA256_HEX]; /* as the manifest writes it */
    struct stat seen;        /* of the descriptor that was hashed */
    bool observed;
};

/* A bundle that was verified. Owns everything. */
struct bundle {
    struct text_arena arena; /* owns the texts */
    const char *root;        /* as given */
    int root_fd;
    struct cg_text run_id;
    struct bundle_file *files; /* byte order of paths */
    size_t count;
    char manifest_sha256[SHA256_HEX];
    uint64_t bytes_verified;
};

/* Is this path one that a manifest may declare? (2) */
bool bundle_path_safe(const char *path);

/* Steps 1 to 10 of section 7 on the directory root. quick: sizes only, nothing is hashed. On success *bundle
 * is the caller's. Else CG_EXIT_CONDITION with the first fault when the bundle does not verify, CG_EXIT_IO
 * when something cannot be read. Further faults of step 9 are written to standard error, one line each. Opens
 * nothing outside root, writes nothing. */
int bundle_verify(const char *root, bool quick, struct bundle *bundle, struct cg_error *error);
void bundle_close(struct bundle *bundle);

/* What is loaded of a bundle. */
struct bundle_load {
    const struct cg_load_options *options; /* of the trace; NULL: none. Their tap is not the caller's. */
    bool packet_wanted;                    /* evidence.json too */
    /* Filled in; the caller's. */
    struct cg_trace *trace;
    char *packet; /* the bytes of evidence.json, with EVIDENCE_PADDING writable bytes behind packet_length */
    size_t packet_length;
    struct cg_error unreadable; /* why a file that verifies cannot be understood; status 0: it can */
};
/* Verifies the bundle and loads from it in the same pass; every byte that is parsed is one that was hashed. A
 * bundle that does not verify is refused, whatever could be read from it; so is one whose trace is not there,
 * is not accepted or names another run than the manifest. 0, and *bundle and what was loaded are the
 * caller's; else CG_EXIT_INPUT or CG_EXIT_IO. bundle_unchanged() must be asked when reading is over. */
int bundle_load(const char *root, struct bundle_load *load, struct bundle *bundle, struct cg_error *error);

/* The declared file of this path; NULL when there is none. */
const struct bundle_file *bundle_find(const struct bundle *bundle, const char *path);
/* Opens a declared file for reading, without following links; it must be the very file that was hashed. The
 * descriptor is the caller's; -1 after filling *error. */
int bundle_open_file(const struct bundle *bundle, const char *path, struct cg_error *error);
/* Reads a declared file whole; *bytes is the caller's, with EVIDENCE_PADDING writable bytes behind length. */
int bundle_read_file(const struct bundle *bundle, const char *path, char **bytes, size_t *length,
                     struct cg_error *error);
/* The check after reading (11): the manifest still has its digest, and the files named are still those that
 * were hashed. */
int bundle_unchanged(const struct bundle *bundle, const char *const *paths, size_t count,
                     struct cg_error *error);

/* The bundle-verification/1 receipt as one object, in declared order (8). */
void emit_bundle_receipt(struct json_doc *doc, const struct bundle *bundle);

#endif
