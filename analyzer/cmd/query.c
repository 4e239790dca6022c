/* What the kinds of query share: the table, filters, pages. */
#include "analyzer/cmd/query.h"

#include <string.h>

#include "analyzer/trace/input.h"
#include "common/suggest.h"

#define KIND(name) &query_##name,
const struct query_kind *const query_kinds[] = {
#include "analyzer/cmd/query_kinds.def"
};
#undef KIND
const size_t query_kind_count = sizeof query_kinds / sizeof *query_kinds;

bool query_kind_words(size_t index, const char **word, const char **about)
{
    if (index >= query_kind_count) return false;
    *word = query_kinds[index]->name;
    *about = query_kinds[index]->about;
    return true;
}

static bool occurs(cg_str string, const cg_str *column, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        if (column[i] == string) return true;
    return false;
}

int query_device(const struct query *query, cg_str *device, struct cg_error *error)
{
    const struct option_value *option = argument(query->arguments, "device");
    const struct cg_trace *trace = query->input->trace;
    *device = option->given ? trace_find(trace, option->text, strlen(option->text)) : CG_ABSENT;
    if (!option->given ||
        (*device != CG_ABSENT && (occurs(*device, trace->memory.device, trace->memory.rows) ||
                                  occurs(*device, trace->device_memory.device, trace->device_memory.rows))))
        return 0;
    return cg_fail(error, CG_EXIT_INPUT, "%s: no memory in the trace is on a device '%s'",
                   input_name(query->input->requested_path), option->text);
}

bool query_kind_has(const struct query_kind *kind, const char *option)
{
    static const char *const paging[] = {"label", "label-prefix", "offset", "limit", "all"};
    static const char *const shared[] = {"kind", "output", "format", "threads", "no-index", "verify-index"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (strcmp(shared[i], option) == 0) return true;
    for (size_t i = 0; i < sizeof paging / sizeof *paging; i++)
        if (strcmp(paging[i], option) == 0) return kind->pages != NULL;
    for (size_t i = 0; kind->options && kind->options[i]; i++)
        if (strcmp(kind->options[i], option) == 0) return true;
    return false;
}

bool query_filtered(const struct query *query)
{
    return query->label || query->label_prefix;
}

bool query_keeps(const struct query *query, const struct cg_text *parts, size_t count)
{
    const char *wanted = query->label ? query->label : query->label_prefix;
    if (!wanted) return true;
    size_t left = strlen(wanted);
    for (size_t i = 0; i < count; i++) {
        size_t length = parts[i].length;
        if (length > left && query->label) return false;
        if (length > left) length = left;
        if (length && memcmp(parts[i].bytes, wanted, length) != 0) return false;
        wanted += length;
        left -= length;
        if (left == 0 && !query->label) return true;
    }
    return left == 0;
}

int query_span_name(const struct query *query, const char *option, cg_str *name, struct cg_error *error)
{
    const char *text = argument(query->arguments, option)->text;
    const struct cg_trace *trace = query->input->trace;
    *name = text ? trace_find(trace, text, strlen(text)) : CG_ABSENT;
    if (!text) return 0;
    for (size_t i = 0; *name != CG_ABSENT && i < trace->span.rows; i++)
        if (trace->span.name[i] == *name) return 0;
    return cg_fail(error, CG_EXIT_INPUT, "%s: no span is named '%s'",
                   input_name(query->input->requested_path), text);
}

struct page page_of(const struct query *query)
{
    const struct query_rows *rows = query->kind->pages;
    struct page page = {.query = query, .total = rows->count(query)};
    page.matched = page.total;
    if (query_filtered(query)) {
        page.matched = 0;
        for (uint64_t row = 0; row < page.total; row++)
            page.matched += rows->matches(query, row);
    }
    uint64_t rest = cg_sat_sub(page.matched, query->offset);
    page.displayed = query->all || rest < query->limit ? rest : query->limit;
    return page;
}

void query_read_page(const struct arguments *arguments, struct query *query)
{
    const struct option_value *limit = argument(arguments, "limit");
    query->arguments = arguments;
    query->label = argument(arguments, "label")->text;
    query->label_prefix = argument(arguments, "label-prefix")->text;
    query->offset = argument(arguments, "offset")->number;
    query->limit = limit->given ? limit->number : QUERY_PAGE;
    query->all = argument(arguments, "all")->given;
}

/* The name that --label may have meant; bytes NULL: nothing to suggest. */
static struct cg_text suggestion(const struct query *query)
{
    const struct query_rows *rows = query->kind->pages;
    struct cg_text nearest = {0};
    if (!rows || !query->label) return nearest;
    uint64_t count = rows->count(query);
    struct suggestion search = suggest_start(query->label, strlen(query->label));
    for (uint64_t row = 0; row < count; row++) {
        if (rows->matches(query, row)) return (struct cg_text){0};
        struct cg_text name = rows->name(query, row);
        if (suggest_nearer(&search, name.bytes, name.length)) nearest = name;
    }
    return nearest;
}

void query_suggest(const struct query *query)
{
    struct cg_text nearest = suggestion(query);
    char shown[TEXT_NAME_SIZE];
    if (nearest.bytes)
        cg_say("no row is named '%s': did you mean '%s'?", query->label, text_name(nearest, shown));
}

void page_displayed(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct page *)object)->displayed);
}

void page_limit(struct json_doc *doc, const void *object)
{
    const struct query *query = ((const struct page *)object)->query;
    if (query->all)
        doc_null(doc);
    else
        doc_u64(doc, query->limit);
}

void page_matched(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct page *)object)->matched);
}

void page_next_offset(struct json_doc *doc, const void *object)
{
    const struct page *page = object;
    uint64_t next = cg_sat_add(page->query->offset, page->displayed);
    if (next < page->matched)
        doc_u64(doc, next);
    else
        doc_null(doc);
}

void page_offset(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct page *)object)->query->offset);
}

void page_rows(struct json_doc *doc, const void *object)
{
    const struct page *page = object;
    const struct query *query = page->query;
    bool filtered = query_filtered(query);
    uint64_t skip = filtered ? query->offset : 0, left = page->displayed;
    doc_array(doc);
    for (uint64_t row = filtered ? 0 : query->offset; left > 0; row++) {
        if (filtered && !query->kind->pages->matches(query, row)) continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        query->kind->pages->emit(doc, query, row);
        left--;
    }
    doc_array_end(doc);
}

void page_total(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct page *)object)->total);
}

void page_truncated(struct json_doc *doc, const void *object)
{
    const struct page *page = object;
    doc_bool(doc, page->displayed < page->matched);
}
