/* Writing a result: as a document, as a table for people or as CSV, to where --output says. */
#ifndef CGTRACE_ANALYZER_CMD_DOCUMENT_H
#define CGTRACE_ANALYZER_CMD_DOCUMENT_H

#include "analyzer/cmd/commands.h"
#include "analyzer/cmd/command_input.h"
#include "analyzer/trace/devices.h"
#include "common/json_doc.h"

typedef void document_emitter(struct json_doc *doc, const void *object);

struct document {
    enum json_order order;
    document_emitter *emit;   /* the whole document */
    document_emitter *people; /* what a table and CSV show of it; must give the same each time */
    /* Path of the list that CSV writes (keys joined by dots); "*": every list, told apart by a first column
     * `list`; NULL: no CSV. */
    const char *rows;
    const void *object;
};

/* Writes it in the format that the command line asks for. input (may be NULL) is what was read: outputs that
 * would damage it are refused. Returns 0 or the status of *error. */
int document_write(const struct arguments *arguments, const struct command_input *input,
                   const struct document *document, struct cg_error *error);

/* Refuses --format csv for a result that is no list; to be asked before anything is read. */
int document_check_format(const struct arguments *arguments, const char *what, bool has_rows,
                          struct cg_error *error);

/* Members that documents share (doc/spec/cli.md 2.5 and 4.1). */
void emit_tool(struct json_doc *doc);
void emit_input(struct json_doc *doc, const struct command_input *input);
/* The devices' names, of a trace that tells them: [{"device":"cuda:0","name":"..."}]. */
void emit_device_list(struct json_doc *doc, const struct cg_devices *devices);
void doc_member_text(struct json_doc *doc, const char *key, struct cg_text text); /* null when absent */

#endif
