#include "analyzer/symbolize/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/symbolize/demangle.h"
#include "analyzer/symbolize/frames.h"
#include "analyzer/trace/input.h"

struct symbolizer {
    const char *path;
    struct debug_info *info;
    struct output *output;
    struct symbolize_report *report;
    struct cg_error *error;
    json_t *known;   /* what was found, by module, build-id, offset and symbol */
    json_t *modules; /* those that were counted */
    uint64_t line;
};

/* ---- one frame ---- */

static void set_text(json_t *object, const char *key, const char *text)
{
    json_t *string = text ? json_string(text) : NULL; /* NULL also for what is not UTF-8 */

    if (string) json_object_set_new(object, key, string);
}

/* A source of the trace from one of the debug information; NULL: it has no name. symbol: the frame's own. */
static json_t *source_of(const struct debug_source *found, const char *symbol)
{
    char *demangled = found->linkage ? demangle(found->linkage) : NULL;
    const char *function = demangled ? demangled : found->function ? found->function : found->linkage;
    json_t *name = function ? json_string(function) : NULL, *source = name ? json_object() : NULL;

    if (source) {
        json_object_set(source, "function", name);
        if (found->linkage && strcmp(found->linkage, function) != 0 &&
            (!symbol || strcmp(found->linkage, symbol) != 0))
            set_text(source, "mangled", found->linkage);
        set_text(source, "file", found->file);
        if (found->file && found->line > 0) json_object_set_new(source, "line", json_integer(found->line));
    }
    json_decref(name);
    free(demangled);
    return source;
}

static void count_module(struct symbolizer *s, const char *module, const char *build_id)
{
    struct symbolize_report *report = s->report;

    if (json_object_get(s->modules, module)) return;
    json_object_set_new(s->modules, module, json_true());
    if (debug_info_module(s->info, module, build_id) == DEBUG_HAS_LINES) return;
    if (report->modules_without < SYMBOLIZE_MODULES_MAX)
        snprintf(report->without[report->modules_without], sizeof report->without[0], "%s", module);
    report->modules_without++;
}

/* The list of sources of a frame; empty: nothing is known. */
static json_t *find(struct symbolizer *s, const char *module, const char *build_id, uint64_t offset,
                    const char *symbol)
{
    struct debug_source found[DEBUG_SOURCES_MAX];
    size_t count = module ? debug_info_find(s->info, module, build_id, offset, found) : 0;
    json_t *sources = json_array();
    bool lines = count > 0 && found[0].file != NULL;

    if (module) count_module(s, module, build_id);
    if (count == 0 && symbol) found[count++] = (struct debug_source){.linkage = symbol};
    for (size_t i = 0; i < count; i++) {
        json_t *source = source_of(&found[i], symbol);
        /* A name that says no more than the symbol does is left out. */
        if (source && !lines && symbol &&
            strcmp(json_string_value(json_object_get(source, "function")), symbol) == 0)
            json_decref(source);
        else if (source)
            json_array_append_new(sources, source);
    }
    s->report->frames++;
    s->report->with_lines += lines;
    s->report->with_names += !lines && json_array_size(sources) > 0;
    return sources;
}

static const char *text_of(const json_t *frame, const char *key)
{
    return json_string_value(json_object_get(frame, key));
}

/* False: memory is short. *changed: set when the frame has got something. */
static bool add_source(struct symbolizer *s, json_t *frame, bool *changed)
{
    const char *module = text_of(frame, "module"), *build_id = text_of(frame, "build_id");
    const char *symbol = text_of(frame, "symbol");
    json_t *offset = json_object_get(frame, "offset"), *sources;
    char *key;

    if (!json_is_integer(offset) || json_integer_value(offset) < 0) return true;
    if (asprintf(&key, "%s\n%s\n%" JSON_INTEGER_FORMAT "\n%s", module ? module : "", build_id ? build_id : "",
                 json_integer_value(offset), symbol ? symbol : "") < 0)
        return false;
    sources = json_object_get(s->known, key);
    if (!sources) {
        sources = find(s, module, build_id, (uint64_t)json_integer_value(offset), symbol);
        json_object_set_new(s->known, key, sources);
    }
    free(key);
    if (json_array_size(sources) == 0) return sources != NULL;
    *changed = true;
    return json_object_set(frame, "source", sources) == 0;
}

/* ---- one line ---- */

static int write_bytes(const char *bytes, size_t length, void *output)
{
    return output_write(output, bytes, length) ? -1 : 0;
}

/* The line with its frames rewritten; *done: behind what was written of it. 0, or the status of the error. */
static int take_frames(struct symbolizer *s, const char *line, const char **done)
{
    const char *begin, *end;
    json_t *frames = frames_in(line, &begin, &end) ? json_loadb(begin, (size_t)(end - begin), 0, NULL) : NULL;
    json_t *frame;
    bool good = true, changed = false;
    size_t i;

    json_array_foreach(frames, i, frame)
    {
        if (json_is_object(frame)) good = good && add_source(s, frame, &changed);
    }
    if (changed && output_write(s->output, line, (size_t)(begin - line)) == 0) {
        json_dump_callback(frames, write_bytes, s->output, JSON_COMPACT);
        *done = end;
    }
    json_decref(frames);
    return good ? 0 : cg_out_of_memory(s->error);
}

static int take_line(struct symbolizer *s, const char *line, const char *end)
{
    const char *done = line, *text = line;
    int status = 0;

    s->line++;
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r'))
        text++;
    if (text < end && *text != '{' && *text != '\n')
        return cg_fail(s->error, CG_EXIT_INPUT, "%s:%" PRIu64 ": expected a JSON object", s->path, s->line);
    if (memmem(line, (size_t)(end - line), "\"frames\"", 8)) status = take_frames(s, line, &done);
    /* A failed write is told when the output is closed. */
    if (status == 0) output_write(s->output, done, (size_t)(end - done));
    return status;
}

static int take_lines(struct symbolizer *s, struct input *input)
{
    struct input_block block = {0};
    int status;

    while ((status = input_lines(input, &block, s->error)) == 0 && block.length > 0) {
        const char *line = block.lines, *last = line + block.length;

        for (const char *end; status == 0 && line < last; line = end) {
            end = (const char *)memchr(line, '\n', (size_t)(last - line)) + 1;
            status = take_line(s, line, end);
        }
        if (status != 0) break;
    }
    input_block_free(&block);
    if (status != 0) return status;
    return s->line > 0 ? 0 : cg_fail(s->error, CG_EXIT_INPUT, "%s: no record at all", s->path);
}

int symbolize_trace(const char *path, const struct debug_places *places, struct output *output,
                    struct symbolize_report *report, struct cg_error *error)
{
    struct symbolizer s = {.path = input_name(path), .output = output, .report = report, .error = error};
    struct input *input = input_open(path, error);
    int status;

    if (!input) return error->status;
    *report = (struct symbolize_report){.frames = 0};
    s.info = debug_info_new(places);
    s.known = json_object();
    s.modules = json_object();
    status = s.info && s.known && s.modules ? take_lines(&s, input) : cg_out_of_memory(error);
    input_close(input);
    debug_info_free(s.info);
    json_decref(s.known);
    json_decref(s.modules);
    return status;
}
