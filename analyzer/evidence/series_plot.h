/* A series for people: as a plot, and as a report in Markdown that shows it. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_SERIES_PLOT_H
#define CGTRACE_ANALYZER_EVIDENCE_SERIES_PLOT_H

#include "analyzer/evidence/series.h"
#include "analyzer/evidence/svg.h"

/* More measures than these are left out, which the plot says. */
enum { SERIES_PANELS_MAX = 24 };

/* The panels: the measured region's duration, then the rms of each tensor label, then the norm of each
 * gradient. Several events of one step are one point. */
struct series_plot {
    const struct series_document *document;
    struct svg_panel *panels;
    size_t panel_count;
    struct svg_point *points; /* of all panels, one after the other */
};

/* The document must outlive the plot. False when memory is short. */
bool series_plot_make(const struct series_document *document, struct series_plot *plot);
void series_plot_free(struct series_plot *plot);

/* Both return 0 or the sink's errno value. */
int series_plot_svg(const struct series_plot *plot, json_sink *sink, void *context);
/* image: the name of the plot's file as the report's reader finds it. */
int series_plot_markdown(const struct series_plot *plot, const char *image, json_sink *sink, void *context);

#endif
