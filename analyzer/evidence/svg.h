/* Line plots as SVG 1.1: small multiples, one panel for each measure, over one common axis. Self-contained:
 * no script, no font, nothing fetched. Colours follow the reader's scheme, light or dark, by a media query.
 */
#ifndef CGTRACE_ANALYZER_EVIDENCE_SVG_H
#define CGTRACE_ANALYZER_EVIDENCE_SVG_H

#include "analyzer/trace/trace.h"
#include "common/json_doc.h"

enum svg_unit { SVG_PLAIN, SVG_NANOSECONDS };

/* The values at one place: their median, and the interval from the lowest to the highest. All finite. */
struct svg_point {
    uint64_t x;
    double median, low, high;
    size_t values;
};
struct svg_panel {
    struct cg_text group, name; /* the measure, and of what it is one; name may be empty */
    enum svg_unit unit;
    const struct svg_point *points; /* ascending x */
    size_t count;
    size_t missing; /* places that have no value */
};
struct svg_plot {
    struct cg_text title;
    const char *x_label;
    const struct svg_panel *panels;
    size_t panel_count;
    size_t panel_total; /* with those that are left out */
};

/* Writes the document. Each point carries its numbers, unrounded, as data attributes and as a title in words.
 * Texts are UTF-8; what XML 1.0 does not allow in them is written as U+FFFD. 0 or the sink's errno value. */
int svg_plot_write(const struct svg_plot *plot, json_sink *sink, void *context);

#endif
