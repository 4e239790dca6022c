/* How groups of storages, stacks and span paths are called and written. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_STORAGE_VIEW_H
#define CGTRACE_ANALYZER_EVIDENCE_STORAGE_VIEW_H

#include "analyzer/planes/storage_groups.h"
#include "common/json_doc.h"

/* A frame's or a group's name is cut there; of a path the innermost names are shown. */
enum { STORAGE_NAME_SIZE = 1024, STORAGE_PATH_NAMES = 32 };

struct storage_view {
    const struct cg_trace *trace;
    const struct span_paths *paths;
    const struct storage_groups *groups;
    bool people; /* a path is in the name already */
};

/* What a group is called: its innermost frame, its operation or entry point, its path, category or sizes. Cut
 * at the size, ended by NUL; returns the length. */
size_t storage_group_name(const struct storage_view *view, const struct storage_group *group,
                          char name[STORAGE_NAME_SIZE]);

/* The names of a path, joined by " / ", in the same way; the outer ones are left out first. */
size_t span_path_name(const struct cg_trace *trace, const struct span_paths *paths, uint32_t path,
                      char name[STORAGE_NAME_SIZE]);

/* Calls visit for each name that a suppression may mean: the group's own, and those of all its frames or of
 * the parts of its path. Ends early when visit returns true, which it then returns. */
bool storage_group_each_name(const struct storage_view *view, const struct storage_group *group,
                             bool (*visit)(void *context, const char *name), void *context);

/* The member `frames` or `span_path` of a group that has one. */
void emit_storage_group_place(struct json_doc *doc, const struct storage_view *view,
                              const struct storage_group *group);

/* Members: frames, innermost first, and span_path, outermost first; null when not known (CG_NONE). */
void emit_frames(struct json_doc *doc, const struct cg_trace *trace, uint32_t stack);
void emit_span_path(struct json_doc *doc, const struct cg_trace *trace, const struct span_paths *paths,
                    uint32_t path);

#endif
