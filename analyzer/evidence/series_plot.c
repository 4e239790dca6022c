#include "analyzer/evidence/series_plot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/markdown.h"

/* ---- panels ---- */

static struct svg_panel *begin_panel(struct series_plot *plot, const char *group, struct cg_text name,
                                     enum svg_unit unit, const struct svg_point *points)
{
    struct svg_panel *panel = &plot->panels[plot->panel_count++];
    *panel = (struct svg_panel){.group = md_string(group), .name = name, .unit = unit, .points = points};
    return panel;
}

static struct svg_point *add_times(struct series_plot *plot, struct svg_point *next)
{
    const struct series *series = plot->document->series;
    struct svg_panel *panel =
        begin_panel(plot, "duration of the measured region", (struct cg_text){0}, SVG_NANOSECONDS, next);

    for (size_t i = 0; i < series->count; i++) {
        const struct run_facts *facts = &series->runs[i].facts;
        double duration = (double)facts->measured_duration_ns;
        if (facts->measured_count == 1)
            next[panel->count++] = (struct svg_point){facts->capture_step, duration, duration, duration, 1};
        else
            panel->missing++;
    }
    return next + panel->count;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Values in any order, at least one; they are sorted. */
static struct svg_point point_of(uint64_t step, double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    double below = values[(count - 1) / 2], above = values[count / 2];
    return (struct svg_point){step, count % 2 ? above : below / 2 + above / 2, values[0], values[count - 1],
                              count};
}

/* The value of an event; false when it has none. */
typedef bool event_value(const struct series_point *point, double *value);

static bool stats_value(const struct series_point *point, double *value)
{
    *value = point->run->facts.stats[point->event].rms;
    return true;
}

static bool gradient_value(const struct series_point *point, double *value)
{
    const struct fact_gradient *gradient = &point->run->facts.gradients[point->event];
    *value = gradient->norm;
    return gradient->norm_known;
}

/* A panel for each key; the points of a key stand together, and in them those of a step. values has room for
 * all. */
static struct svg_point *add_measures(struct series_plot *plot, const char *group,
                                      const struct series_points *points, event_value *value, double *values,
                                      struct svg_point *next)
{
    for (size_t i = 0; i < points->count;) {
        struct cg_text key = points->at[i].key;
        struct svg_panel *panel = begin_panel(plot, group, key, SVG_PLAIN, next);
        while (i < points->count && text_equal(points->at[i].key, key)) {
            const struct series_run *run = points->at[i].run;
            size_t count = 0;
            for (; i < points->count && points->at[i].run == run && text_equal(points->at[i].key, key); i++)
                count += value(&points->at[i], &values[count]);
            if (count > 0)
                next[panel->count++] = point_of(run->facts.capture_step, values, count);
            else
                panel->missing++;
        }
        next += panel->count;
    }
    return next;
}

bool series_plot_make(const struct series_document *document, struct series_plot *plot)
{
    size_t events = document->stats.count + document->gradients.count;
    double *values = calloc(events + 1, sizeof *values);

    *plot =
        (struct series_plot){.document = document,
                             .panels = calloc(events + 1, sizeof *plot->panels),
                             .points = calloc(events + document->series->count + 1, sizeof *plot->points)};
    bool ok = values && plot->panels && plot->points;
    if (ok) {
        struct svg_point *next = add_times(plot, plot->points);
        next = add_measures(plot, "rms of tensor", &document->stats, stats_value, values, next);
        add_measures(plot, "norm of gradient", &document->gradients, gradient_value, values, next);
    }
    free(values);
    if (!ok) series_plot_free(plot);
    return ok;
}

void series_plot_free(struct series_plot *plot)
{
    free(plot->panels);
    free(plot->points);
    *plot = (struct series_plot){0};
}

/* ---- as a plot ---- */

int series_plot_svg(const struct series_plot *plot, json_sink *sink, void *context)
{
    size_t shown = plot->panel_count < SERIES_PANELS_MAX ? plot->panel_count : SERIES_PANELS_MAX;
    struct svg_plot svg = {.title = plot->document->series->runs[0].facts.entrypoint,
                           .x_label = "capture step",
                           .panels = plot->panels,
                           .panel_count = shown,
                           .panel_total = plot->panel_count};
    return svg_plot_write(&svg, sink, context);
}

/* ---- as a report ---- */

/* The destination of a link: whatever could end it or be read as markup is percent-encoded. */
static void put_link(struct markdown *md, const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *name; name++)
        md_line(md, strchr(plain, *name) ? "%c" : "%%%02X", (unsigned char)*name);
}

static void put_inputs(struct markdown *md, const struct series *series)
{
    md_line(md,
            "\n## Runs\n\n| Capture step | Run | Measured region | Bundle manifest |\n|---:|---|---:|---|\n");
    for (size_t i = 0; i < series->count; i++) {
        const struct run_facts *facts = &series->runs[i].facts;
        md_line(md, "| %" PRIu64 " | ", facts->capture_step);
        md_code(md, facts->run_id, true);
        if (facts->measured_count == 1)
            md_line(md, " | %" PRIu64 " ns | ", facts->measured_duration_ns);
        else
            md_line(md, " | not known | ");
        md_line(md, "`%.12s…` |\n", series->runs[i].receipt.manifest_sha256);
    }
}

static void put_number(struct markdown *md, double value)
{
    char text[33];
    json_double_text(text, value);
    md_line(md, " %s |", text);
}

static void put_measures(struct markdown *md, const struct series_plot *plot)
{
    md_line(
        md,
        "\n## Measures\n\nFirst and last are medians of a step; lowest and highest are over all events.\n\n"
        "| Measure | Of | Steps | First | Last | Lowest | Highest |\n|---|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 1; i < plot->panel_count; i++) {
        const struct svg_panel *panel = &plot->panels[i];
        md_line(md, "| ");
        md_text(md, panel->group, true);
        md_line(md, " | ");
        md_code(md, panel->name, true);
        md_line(md, " | %zu |", panel->count);
        if (panel->count == 0) {
            md_line(md, " | | | |\n");
            continue;
        }
        double low = panel->points[0].low, high = panel->points[0].high;
        for (size_t k = 1; k < panel->count; k++) {
            if (panel->points[k].low < low) low = panel->points[k].low;
            if (panel->points[k].high > high) high = panel->points[k].high;
        }
        put_number(md, panel->points[0].median);
        put_number(md, panel->points[panel->count - 1].median);
        put_number(md, low);
        put_number(md, high);
        md_line(md, "\n");
    }
}

int series_plot_markdown(const struct series_plot *plot, const char *image, json_sink *sink, void *context)
{
    const struct series *series = plot->document->series;
    struct markdown md;

    md_start(&md, sink, context);
    md_line(&md, "# cg-analyze series report\n\n- entrypoint: ");
    md_code(&md, series->runs[0].facts.entrypoint, false);
    md_line(&md, "\n- phase: `%s`\n- runs: %zu, capture steps %" PRIu64 " to %" PRIu64 "\n\n",
            cg_name_PHASE[series->runs[0].facts.phase], series->count, series->runs[0].facts.capture_step,
            series->runs[series->count - 1].facts.capture_step);
    md_line(&md, "![Plot of the series](");
    put_link(&md, image);
    md_line(&md, ")\n");
    put_inputs(&md, series);
    if (plot->panel_count > 1) put_measures(&md, plot);
    return md_finish(&md);
}
