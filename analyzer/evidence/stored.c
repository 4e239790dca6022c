/* Evidence read from a stored packet: what is read out of it, and how its parts are written again. */
#include "analyzer/evidence/stored.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/evidence/emit.h"
#include "analyzer/trace/strings.h"

unsigned stored_word(struct shape_reader *reader, const char *value, const char *const *words)
{
    struct cg_text text = shape_text(reader, value);
    unsigned i = 0;
    while (words[i] && text_compare(text_of(words[i]), text) != 0)
        i++;
    return i;
}

bool places_make(struct shape_reader *reader, const char *list, struct places *places)
{
    size_t room = 0;
    *places = (struct places){0};
    for (const char *at = shape_first(reader, list); at; at = shape_next(reader, at)) {
        if (places->count == room) {
            room = room ? 2 * room : 16;
            const char **more = realloc(places->at, room * sizeof *more);
            if (!more) return false;
            places->at = more;
        }
        places->at[places->count++] = at;
    }
    return true;
}

/* A text of its own, ended by a NUL. */
static struct cg_text own_text(struct evidence *evidence, const char *value)
{
    struct cg_text text = shape_text(&evidence->stored->reader, value);
    return text.bytes ? arena_text(&evidence->arena, text.bytes, text.length) : text;
}

static enum capability_level level_of(struct shape_reader *reader, const char *state)
{
    static const char *const words[] = {"unavailable", "partial", "complete", "invalid", NULL};
    return (enum capability_level)stored_word(reader, shape_member(reader, state, "level"), words);
}

static enum capability_kind kind_of(struct shape_reader *reader, const char *value)
{
    unsigned kind = 0;
    struct cg_text text = shape_text(reader, value);
    while (kind < CAPABILITY_KIND_COUNT - 1 && text_compare(text_of(capability_names[kind].kind), text) != 0)
        kind++;
    return (enum capability_kind)kind;
}

/* ---- the run: its metadata as a trace of two records, read by the trace reader ---- */

struct line {
    char *bytes;
    size_t length;
};

static int to_line(void *context, const char *bytes, size_t length)
{
    struct line *line = context;
    char *more = realloc(line->bytes, line->length + length);
    if (!more) return ENOMEM;
    line->bytes = more;
    memcpy(more + line->length, bytes, length);
    line->length += length;
    return 0;
}

/* The provenance on one line with its line feed; bytes NULL when memory is short. */
static struct line provenance_line(void (*emit)(struct json_doc *doc, const struct evidence *evidence),
                                   const struct evidence *evidence)
{
    struct line line = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, to_line, &line);
    if (!doc) return line;
    emit(doc, evidence);
    if (doc_finish(doc) != 0) {
        free(line.bytes);
        line = (struct line){0};
    }
    return line;
}

static int read_run(struct evidence *evidence, const char *name, struct cg_error *error)
{
    static const char begin[] = "{\"kind\":\"meta\",\"schema\":\"" CG_SCHEMA_TRACE_10 "\",";
    static const char end[] = "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":0}\n";
    struct line line = provenance_line(emit_provenance, evidence), whole = {0};
    int status;
    if (!line.bytes || to_line(&whole, begin, sizeof begin - 1) ||
        to_line(&whole, line.bytes + 1, line.length - 1) || to_line(&whole, end, sizeof end - 1))
        status = cg_fail(error, CG_EXIT_IO, "%s: out of memory", name);
    else
        status = trace_load_bytes(name, whole.bytes, whole.length, NULL, &evidence->stored->trace, error);
    free(line.bytes);
    free(whole.bytes);
    evidence->trace = evidence->stored->trace;
    return status;
}

bool evidence_same_run(const struct evidence *evidence, const struct cg_trace *trace)
{
    struct evidence derived = {.trace = trace};
    struct line ours = provenance_line(emit_provenance, &derived),
                theirs = provenance_line(emit_provenance, evidence);
    bool same = ours.bytes && theirs.bytes && ours.length == theirs.length &&
                memcmp(ours.bytes, theirs.bytes, ours.length) == 0;
    free(ours.bytes);
    free(theirs.bytes);
    return same;
}

/* ---- health, capabilities, findings, facts, gaps ---- */

static void read_health(struct evidence *evidence, const char *health)
{
    struct shape_reader *reader = &evidence->stored->reader;
    evidence->health.structurally_valid = shape_bool(shape_member(reader, health, "structurally_valid"));
    evidence->health.capture_complete = shape_bool(shape_member(reader, health, "capture_complete"));
    evidence->health.gradient_contract_fault = CG_NONE;
    const char *issues = shape_member(reader, health, "issues");
    for (const char *issue = shape_first(reader, issues); issue; issue = shape_next(reader, issue)) {
        struct cg_text severity = shape_text(reader, shape_member(reader, issue, "severity"));
        evidence->stored->issues[severity.bytes[0] == 'e' ? HEALTH_ERROR : HEALTH_WARNING]++;
    }
}

static bool read_capabilities(struct evidence *evidence, const char *capabilities)
{
    struct shape_reader *reader = &evidence->stored->reader;
    bool enough = true;
    for (unsigned kind = 0; kind < CAPABILITY_KIND_COUNT; kind++) {
        struct capability *capability = &evidence->capabilities[kind];
        const char *state = shape_member(reader, capabilities, capability_names[kind].member);
        if (!state) {
            *capability =
                (struct capability){CAPABILITY_UNAVAILABLE, text_of("none"), text_of("not recorded")};
            continue;
        }
        capability->level = level_of(reader, state);
        capability->source = own_text(evidence, shape_member(reader, state, "source"));
        capability->reason = own_text(evidence, shape_member(reader, state, "reason"));
        enough = enough && capability->source.bytes && capability->reason.bytes;
    }
    return enough;
}

static bool read_findings(struct evidence *evidence, const char *list)
{
    struct shape_reader *reader = &evidence->stored->reader;
    struct places places;
    bool enough = places_make(reader, list, &places);
    evidence->findings = calloc(places.count + 1, sizeof *evidence->findings);
    enough = enough && evidence->findings;
    for (size_t i = 0; enough && i < places.count; i++) {
        struct finding *finding = &evidence->findings[i];
        finding->code = own_text(evidence, shape_member(reader, places.at[i], "code")).bytes;
        finding->summary = own_text(evidence, shape_member(reader, places.at[i], "summary"));
        finding->source = own_text(evidence, shape_member(reader, places.at[i], "source"));
        static const char *const levels[] = {"unavailable", "partial", "complete", "invalid", NULL};
        finding->qualification = (enum capability_level)stored_word(
            reader, shape_member(reader, places.at[i], "qualification"), levels);
        const char *requires = shape_member(reader, places.at[i], "requires");
        for (const char *at = shape_first(reader, requires);
             at && finding->require_count < CAPABILITY_KIND_COUNT; at = shape_next(reader, at))
        finding->requires[finding->require_count++] = kind_of(reader, at);
        enough = finding->code && finding->summary.bytes && finding->source.bytes;
        evidence->finding_count++;
    }
    free(places.at);
    return enough;
}

static bool read_facts(struct evidence *evidence, const char *list)
{
    static const char *const kinds[] = {"duration_ns", "bytes", "count", "text", NULL};
    struct shape_reader *reader = &evidence->stored->reader;
    struct places places;
    bool enough = places_make(reader, list, &places);
    evidence->facts = calloc(places.count + 1, sizeof *evidence->facts);
    enough = enough && evidence->facts;
    for (size_t i = 0; enough && i < places.count; i++) {
        struct fact *fact = &evidence->facts[i];
        const char *value = shape_member(reader, places.at[i], "value");
        fact->code = own_text(evidence, shape_member(reader, places.at[i], "code")).bytes;
        fact->label = own_text(evidence, shape_member(reader, places.at[i], "label")).bytes;
        fact->source = own_text(evidence, shape_member(reader, places.at[i], "source")).bytes;
        fact->capability = kind_of(reader, shape_member(reader, places.at[i], "capability"));
        fact->kind = (enum fact_kind)stored_word(reader, shape_member(reader, value, "kind"), kinds);
        if (fact->kind == FACT_TEXT)
            fact->text = own_text(evidence, shape_member(reader, value, "value"));
        else
            fact->number = shape_u64(reader, shape_member(reader, value, "value"));
        enough = fact->code && fact->label && fact->source && (fact->kind != FACT_TEXT || fact->text.bytes);
        evidence->fact_count++;
    }
    free(places.at);
    return enough;
}

static bool read_gaps(struct evidence *evidence, const char *list)
{
    struct places places;
    bool enough = places_make(&evidence->stored->reader, list, &places);
    evidence->gaps = calloc(places.count + 1, sizeof *evidence->gaps);
    enough = enough && evidence->gaps;
    for (size_t i = 0; enough && i < places.count; i++) {
        evidence->gaps[i] = own_text(evidence, places.at[i]);
        enough = evidence->gaps[i].bytes;
        evidence->gap_count++;
    }
    free(places.at);
    return enough;
}

/* ---- graph, memory ---- */

static size_t at_most(size_t count)
{
    return count < GRAPH_SUMMARY_ROWS ? count : GRAPH_SUMMARY_ROWS;
}

static bool read_graph(struct evidence *evidence, const char *graph)
{
    struct evidence_stored *stored = evidence->stored;
    struct shape_reader *reader = &stored->reader;
    static const char *const lists[] = {[LIST_NODES] = "spans",
                                        [LIST_EDGES] = "edges",
                                        [LIST_TENSORS] = "tensors",
                                        [LIST_GRADIENTS] = "gradients"};
    if (!graph) return true;
    for (unsigned list = 0; list < COUNT_OF(lists); list++)
        if (!places_make(reader, shape_member(reader, graph, lists[list]), &stored->rows[list])) return false;
    const char *summary = shape_member(reader, graph, "summary");
    stored->part[STORED_GRAPH_SUMMARY] = summary;
    evidence->graph.effective_ns = malloc(sizeof *evidence->graph.effective_ns);
    if (!evidence->graph.effective_ns ||
        !places_make(reader, shape_member(reader, summary, "slowest_host_spans"), &stored->host) ||
        !places_make(reader, shape_member(reader, summary, "slowest_device_spans"), &stored->device) ||
        !places_make(reader, shape_member(reader, summary, "heaviest_spans"), &stored->heaviest))
        return false;
    evidence->has_graph = true;
    evidence->graph.effective_ns[0] = shape_u64(reader, shape_member(reader, summary, "outer_wall_time_ns"));
    evidence->graph.span_count = (uint32_t)stored->rows[LIST_NODES].count;
    evidence->graph.host_count = at_most(stored->host.count);
    evidence->graph.device_count = at_most(stored->device.count);
    evidence->graph.heaviest_count = at_most(stored->heaviest.count);
    for (uint32_t i = 0; i < evidence->graph.heaviest_count; i++)
        evidence->graph.heaviest[i] = i;
    return true;
}

static void read_memory(struct evidence *evidence, const char *memory)
{
    struct shape_reader *reader = &evidence->stored->reader;
    const char *plane = shape_member(reader, memory, "logical");
    struct logical_memory *logical = &evidence->logical;
    logical->present = plane != NULL;
    logical->storage_allocation_count =
        shape_u64(reader, shape_member(reader, plane, "storage_allocation_count"));
    logical->matched_storage_free_count =
        shape_u64(reader, shape_member(reader, plane, "matched_storage_free_count"));
    logical->total_allocated_bytes = shape_u64(reader, shape_member(reader, plane, "total_allocated_bytes"));
    const char *peak = shape_member(reader, plane, "peak");
    logical->peak_known = peak != NULL;
    logical->peak_live_bytes = shape_u64(reader, shape_member(reader, peak, "live_bytes"));
    logical->peak_timestamp_ns = shape_u64(reader, shape_member(reader, peak, "timestamp_ns"));
    evidence->physical.present = shape_member(reader, memory, "physical") != NULL;
}

/* ---- writing again ---- */

static void emit_place(struct json_doc *doc, const struct evidence *evidence, const struct shape_type *type,
                       const char *place)
{
    shape_emit(&evidence->stored->reader, doc, type, place);
}

void stored_emit(struct json_doc *doc, const struct evidence *evidence, enum stored_part part)
{
    static const struct shape_type *const types[] = {[STORED_PROVENANCE] = &shape_of_provenance,
                                                     [STORED_HEALTH] = &shape_of_health,
                                                     [STORED_CAPABILITIES] = &shape_of_capabilities,
                                                     [STORED_TIMING] = &shape_of_timing,
                                                     [STORED_MEMORY] = &shape_of_memory,
                                                     [STORED_GRAPH] = &shape_of_graph,
                                                     [STORED_GRAPH_SUMMARY] = &shape_of_graph_summary,
                                                     [STORED_ACTIVATIONS] = &shape_of_activations,
                                                     [STORED_PACKET] = &shape_of_packet};
    emit_place(doc, evidence, types[part], evidence->stored->part[part]);
}

uint64_t stored_issue_count(const struct evidence *evidence, enum health_severity severity)
{
    return evidence->stored->issues[severity];
}

uint64_t stored_rows(const struct evidence *evidence, enum evidence_list list)
{
    return evidence->stored->rows[list].count;
}

void stored_emit_row(struct json_doc *doc, const struct evidence *evidence, enum evidence_list list,
                     uint64_t row)
{
    static const struct shape_type *const types[] = {[LIST_NODES] = &shape_of_node,
                                                     [LIST_EDGES] = &shape_of_edge,
                                                     [LIST_TENSORS] = &shape_of_tensor,
                                                     [LIST_GRADIENTS] = &shape_of_gradient,
                                                     [LIST_TENSOR_STATS] = &shape_of_tensor_stats};
    emit_place(doc, evidence, types[list], evidence->stored->rows[list].at[row]);
}

struct cg_text stored_row_text(const struct evidence *evidence, enum evidence_list list, uint64_t row,
                               const char *member)
{
    struct shape_reader *reader = &evidence->stored->reader;
    return shape_text(reader, shape_member(reader, evidence->stored->rows[list].at[row], member));
}

bool stored_row_u64(const struct evidence *evidence, enum evidence_list list, uint64_t row,
                    const char *member, uint64_t *value)
{
    struct shape_reader *reader = &evidence->stored->reader;
    const char *place = shape_member(reader, evidence->stored->rows[list].at[row], member);
    *value = shape_u64(reader, place);
    return place != NULL;
}

void stored_emit_host_cost(struct json_doc *doc, const struct evidence *evidence, size_t row)
{
    emit_place(doc, evidence, &shape_of_host_cost, evidence->stored->host.at[row]);
}
void stored_emit_device_cost(struct json_doc *doc, const struct evidence *evidence, size_t row)
{
    emit_place(doc, evidence, &shape_of_device_cost, evidence->stored->device.at[row]);
}
void stored_emit_heavy_span(struct json_doc *doc, const struct evidence *evidence, size_t row)
{
    emit_place(doc, evidence, &shape_of_heavy_span, evidence->stored->heaviest.at[row]);
}
void stored_emit_operation(struct json_doc *doc, const struct evidence *evidence, size_t row)
{
    emit_place(doc, evidence, &shape_of_activation_operation, evidence->stored->operations.at[row]);
}
void stored_emit_activation_state(struct json_doc *doc, const struct evidence *evidence, size_t state)
{
    emit_place(doc, evidence, &shape_of_activation_state, evidence->stored->activation_states[state]);
}
void stored_emit_definition(struct json_doc *doc, const struct evidence *evidence)
{
    struct shape_reader *reader = &evidence->stored->reader;
    const char *activations = evidence->stored->part[STORED_ACTIVATIONS];
    emit_text(doc, shape_text(reader, shape_member(reader, activations, "definition")));
}

/* ---- the whole ---- */

_Static_assert(EVIDENCE_PADDING == JSON_PADDING, "room that the scanner wants");

static int read_parts(struct evidence *evidence, const char *name, struct cg_error *error)
{
    struct evidence_stored *stored = evidence->stored;
    struct shape_reader *reader = &stored->reader;
    const char *packet = stored->part[STORED_PACKET];
    stored->part[STORED_PROVENANCE] = shape_member(reader, packet, "provenance");
    stored->part[STORED_HEALTH] = shape_member(reader, packet, "health");
    stored->part[STORED_CAPABILITIES] = shape_member(reader, packet, "capabilities");
    stored->part[STORED_TIMING] = shape_member(reader, packet, "timing");
    stored->part[STORED_MEMORY] = shape_member(reader, packet, "memory");
    stored->part[STORED_GRAPH] = shape_member(reader, packet, "graph");
    stored->part[STORED_ACTIVATIONS] = shape_member(reader, packet, "activations");
    int status = read_run(evidence, name, error);
    if (status) return status;
    read_health(evidence, stored->part[STORED_HEALTH]);
    read_memory(evidence, stored->part[STORED_MEMORY]);
    if (!read_capabilities(evidence, stored->part[STORED_CAPABILITIES]) ||
        !read_findings(evidence, shape_member(reader, packet, "findings")) ||
        !read_facts(evidence, shape_member(reader, packet, "facts")) ||
        !read_gaps(evidence, shape_member(reader, packet, "gaps")) ||
        !read_graph(evidence, stored->part[STORED_GRAPH]) ||
        !places_make(reader, shape_member(reader, packet, "tensor_stats"),
                     &stored->rows[LIST_TENSOR_STATS]) ||
        !stored_gpu(reader, shape_member(reader, packet, "gpu"), &evidence->gpu))
        return cg_fail(error, CG_EXIT_IO, "%s: out of memory", name);
    return stored_activations(evidence, name, error);
}

int evidence_read(const char *name, char *bytes, size_t length, struct evidence *evidence,
                  struct cg_error *error)
{
    *evidence = (struct evidence){0};
    struct evidence_stored *stored = calloc(1, sizeof *stored);
    if (!stored) return cg_fail(error, CG_EXIT_IO, "%s: out of memory", name);
    evidence->stored = stored;
    shape_open(&stored->reader, name, bytes, length);
    int status = shape_check(&stored->reader, &shape_of_packet, error);
    if (!status) {
        stored->part[STORED_PACKET] = shape_document(&stored->reader);
        status = read_parts(evidence, name, error);
    }
    if (status) evidence_free(evidence);
    return status;
}

void stored_free(struct evidence *evidence)
{
    struct evidence_stored *stored = evidence->stored;
    for (size_t i = 0; i < COUNT_OF(stored->rows); i++)
        free(stored->rows[i].at);
    free(stored->host.at);
    free(stored->device.at);
    free(stored->heaviest.at);
    free(stored->operations.at);
    shape_close(&stored->reader);
    if (stored->trace) trace_free(stored->trace);
    free(stored);
    evidence->stored = NULL;
}
