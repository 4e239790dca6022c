#include "analyzer/evidence/storage_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/jsonl_text.h"

static const char not_known[] = "(not known)", outer_left_out[] = "… / ";

/* Cut at a character's border. */
static size_t copy(char name[STORAGE_NAME_SIZE], size_t used, struct cg_text text)
{
    size_t length = text.length ? jsonl_prefix(text.bytes, text.length, STORAGE_NAME_SIZE - 1 - used) : 0;
    if (length) memcpy(name + used, text.bytes, length);
    name[used + length] = '\0';
    return used + length;
}

size_t span_path_name(const struct cg_trace *trace, const struct span_paths *paths, uint32_t path,
                      char name[STORAGE_NAME_SIZE])
{
    cg_str names[STORAGE_PATH_NAMES];
    size_t depth = span_path_names(paths, path, names, STORAGE_PATH_NAMES), used = 0;
    size_t shown = depth < STORAGE_PATH_NAMES ? depth : STORAGE_PATH_NAMES, first = shown;
    size_t room = STORAGE_NAME_SIZE - 1 - strlen(outer_left_out);
    while (first > 0 && (first == shown || trace_text(trace, names[first - 1]).length + 3 <= room)) {
        size_t length = trace_text(trace, names[--first]).length + 3;
        room -= length < room ? length : room;
    }
    if (first > 0 || shown < depth)
        used = copy(name, used, (struct cg_text){outer_left_out, strlen(outer_left_out)});
    for (size_t i = first; i < shown; i++) {
        if (i > first) used = copy(name, used, (struct cg_text){" / ", 3});
        used = copy(name, used, trace_text(trace, names[i]));
    }
    return used;
}

static size_t call_name(const struct storage_view *view, const struct storage_group *group,
                        char name[STORAGE_NAME_SIZE])
{
    uint32_t stack = storage_group_stack(view->groups, group), count = 0;
    if (stack != CG_NONE) {
        const uint32_t *frames = trace_stack_frames(view->trace, stack, &count);
        return trace_frame_name(view->trace, frames[0], name, STORAGE_NAME_SIZE);
    }
    cg_str call = storage_group_call(view->groups, group);
    return copy(name, 0,
                call == CG_ABSENT ? (struct cg_text){not_known, strlen(not_known)}
                                  : trace_text(view->trace, call));
}

size_t storage_group_name(const struct storage_view *view, const struct storage_group *group,
                          char name[STORAGE_NAME_SIZE])
{
    uint64_t from, to;
    switch (view->groups->by) {
    case GROUP_BY_STACK:
        return call_name(view, group, name);
    case GROUP_BY_SPAN:
        if (storage_group_path(group) == CG_NONE)
            return copy(name, 0, (struct cg_text){not_known, strlen(not_known)});
        return span_path_name(view->trace, view->paths, storage_group_path(group), name);
    case GROUP_BY_CATEGORY:
        return (size_t)snprintf(name, STORAGE_NAME_SIZE, "%s",
                                cg_name_CATEGORY[storage_group_category(group)]);
    case GROUP_BY_SIZE:
        break;
    }
    storage_group_sizes(group, &from, &to);
    return (size_t)snprintf(name, STORAGE_NAME_SIZE, "%" PRIu64 " to %" PRIu64 " bytes", from, to);
}

bool storage_group_each_name(const struct storage_view *view, const struct storage_group *group,
                             bool (*visit)(void *context, const char *name), void *context)
{
    char name[STORAGE_NAME_SIZE];
    storage_group_name(view, group, name);
    if (visit(context, name)) return true;
    uint32_t stack = view->groups->by == GROUP_BY_STACK ? storage_group_stack(view->groups, group) : CG_NONE;
    uint32_t count = 0;
    const uint32_t *frames = stack == CG_NONE ? NULL : trace_stack_frames(view->trace, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        trace_frame_name(view->trace, frames[i], name, sizeof name);
        if (visit(context, name)) return true;
    }
    uint32_t path = view->groups->by == GROUP_BY_SPAN ? storage_group_path(group) : CG_NONE;
    for (; path != CG_NONE; path = view->paths->parent[path]) {
        copy(name, 0, trace_text(view->trace, view->paths->name[path]));
        if (visit(context, name)) return true;
    }
    return false;
}

void emit_frames(struct json_doc *doc, const struct cg_trace *trace, uint32_t stack)
{
    char name[STORAGE_NAME_SIZE];
    uint32_t count = 0;
    const uint32_t *frames = stack == CG_NONE ? NULL : trace_stack_frames(trace, stack, &count);
    doc_key(doc, "frames");
    if (!frames) {
        doc_null(doc);
        return;
    }
    doc_array(doc);
    for (uint32_t i = 0; i < count; i++)
        doc_string_bytes(doc, name, trace_frame_name(trace, frames[i], name, sizeof name));
    doc_array_end(doc);
}

void emit_span_path(struct json_doc *doc, const struct cg_trace *trace, const struct span_paths *paths,
                    uint32_t path)
{
    cg_str names[STORAGE_PATH_NAMES];
    doc_key(doc, "span_path");
    if (path == CG_NONE) {
        doc_null(doc);
        return;
    }
    size_t depth = span_path_names(paths, path, names, STORAGE_PATH_NAMES);
    doc_array(doc);
    if (depth > STORAGE_PATH_NAMES) doc_string(doc, "…");
    for (size_t i = 0; i < depth && i < STORAGE_PATH_NAMES; i++) {
        struct cg_text name = trace_text(trace, names[i]);
        doc_string_bytes(doc, name.bytes, name.length);
    }
    doc_array_end(doc);
}

void emit_storage_group_place(struct json_doc *doc, const struct storage_view *view,
                              const struct storage_group *group)
{
    if (view->groups->by == GROUP_BY_STACK)
        emit_frames(doc, view->trace, storage_group_stack(view->groups, group));
    else if (view->groups->by == GROUP_BY_SPAN && !view->people)
        emit_span_path(doc, view->trace, view->paths, storage_group_path(group));
}
