/* The INPUT of a command: from the path that was given to a loaded trace (doc/spec/cli.md 2). */
#ifndef CGTRACE_ANALYZER_CMD_COMMAND_INPUT_H
#define CGTRACE_ANALYZER_CMD_COMMAND_INPUT_H

#include "analyzer/evidence/bundle.h"
#include "analyzer/evidence/evidence.h"
#include "analyzer/trace/index.h"
#include "analyzer/planes/suspects.h"

struct command_input {
    char *requested_path;   /* as given, or found */
    char *trace_path;       /* the trace file that is read, or the capture file that it is recovered from */
    char *recovered;        /* the trace made from that; NULL: none was; goes with the input */
    char *bundle_root;      /* NULL: a raw trace */
    struct bundle bundle;   /* verified; only when bundle_root is set */
    char *packet;           /* the bundle's evidence.json, which the evidence points into */
    struct cg_trace *trace; /* NULL when a bundle's evidence says all that is needed */
    struct evidence evidence;
    unsigned threads; /* that read the trace; 0: as many as help */
    enum index_use index;
    uint64_t out_of_memory_count; /* the trace's, kept when it is not */
    struct device_work work;      /* both only when asked for */
    struct suspects suspects;
    void *beside; /* what was made beside the evidence; NULL: nothing was */
    void (*beside_free)(void *made);
    bool bundle_open, evidence_made;
};

/* Something of the trace alone, made while the evidence of a raw trace is derived; goes with the input. make
 * returns NULL when memory is short. A zeroed one is none. */
struct beside {
    void *(*make)(const struct cg_trace *trace, const void *context);
    void (*free)(void *made);
    const void *context;
};

/* What a command needs of its input. */
struct input_needs {
    bool extras;    /* fields beyond the format */
    bool work;      /* devices' work and suspects, made once for all that read them; needs extras */
    unsigned parts; /* EVIDENCE_NODES, EVIDENCE_EDGES */
    struct beside beside;
    const char *nsight_dir; /* reports to read with a raw trace; NULL: none */
    unsigned threads;       /* to read the trace with; 0: as many as help */
    enum index_use index;   /* of a raw trace */
    bool trace_alone;       /* no evidence is derived of a raw trace */
    bool augmented;         /* a raw trace beside evidence or reports is taken too (doc/spec/cli.md 2.4) */
};

/* What the options of OPTION_INDEX say, of a command that has them. */
struct arguments;
enum index_use command_index_use(const struct arguments *arguments);

/* Resolves path step by step, loads the trace and derives its evidence. NULL stands for the newest trace in
 * the current directory when the program is used on a terminal (said on standard error), otherwise it is a
 * usage error; "-" is standard input. A capture file, or a trace that is not there beside one, is recovered
 * first (recovered_input.h). Returns 0 and an input that command_input_close() ends and that must
 * not be moved, or the status of *error. */
int command_input_open(const char *path, struct input_needs needs, struct command_input *input,
                       struct cg_error *error);
void command_input_close(struct command_input *input);
/* What needs.work stands for, for an input that was not opened so: work and suspects of its trace, which has
 * its extra fields. command_input_close() gives them back; the other one is for an input that is not closed.
 * 0 or the status of *error. */
int command_input_work(struct command_input *input, struct cg_error *error);
void command_input_work_free(struct command_input *input);
/* Loads the trace of an input that is not standard input once more, with its extra fields: *trace is the
 * caller's. 0 or the status of *error. */
int command_input_extras(const struct command_input *input, struct cg_trace **trace, struct cg_error *error);

/* For commands that take raw traces only: a regular file, "-", or a directory with trace.jsonl. *trace_path
 * is the caller's. A file of a bundle is taken as a plain file, which is said on standard error. */
int command_input_raw(const char *path, char **trace_path, struct cg_error *error);

#endif
