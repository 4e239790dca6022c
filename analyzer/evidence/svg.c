#include "analyzer/evidence/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Lengths in user units. */
enum {
    WIDTH = 760,
    LEFT = 90, /* of the axis: room for the numbers beside it */
    RIGHT = 740,
    HEAD = 52,   /* above the first panel */
    PANEL = 216, /* from one panel to the next */
    TOP = 30,    /* of the axis, below the panel's own top */
    BOTTOM = 170,
    FOOT = 28,
    CHARACTERS = 80 /* of a name on the page; its title has it whole */
};

struct writer {
    json_sink *sink;
    void *context;
    int error;
};

static void put(struct writer *writer, const char *bytes, size_t length)
{
    if (!writer->error && length) writer->error = writer->sink(writer->context, bytes, length);
}

static void markup(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void markup(struct writer *writer, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(writer, text, (size_t)length);
}

/* ---- texts ---- */

/* XML 1.0 allows no control but tab and line ends, and neither U+FFFE nor U+FFFF. Returns the bytes of such a
 * character at the beginning of text, else 0. */
static size_t forbidden(const char *text, size_t length)
{
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') return 1;
    return length >= 3 && (memcmp(text, "\xEF\xBF\xBE", 3) == 0 || memcmp(text, "\xEF\xBF\xBF", 3) == 0) ? 3
                                                                                                         : 0;
}

/* Bytes of the first so many characters. */
static size_t head(struct cg_text text, size_t characters)
{
    size_t i = 0;
    while (i < text.length && characters-- > 0)
        do
            i++;
        while (i < text.length && ((unsigned char)text.bytes[i] & 0xC0) == 0x80);
    return i;
}

static void put_text(struct writer *writer, struct cg_text text)
{
    static const char *const entities[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (size_t i = 0; i < text.length;) {
        unsigned char c = (unsigned char)text.bytes[i];
        size_t bad = forbidden(text.bytes + i, text.length - i);
        if (bad)
            put(writer, "\xEF\xBF\xBD", 3);
        else if (c < sizeof entities / sizeof *entities && entities[c])
            put(writer, entities[c], strlen(entities[c]));
        else
            put(writer, text.bytes + i, 1);
        i += bad ? bad : 1;
    }
}

/* Cut where it would not fit, which is said. */
static void put_short(struct writer *writer, struct cg_text text)
{
    struct cg_text shown = {text.bytes, head(text, CHARACTERS)};
    put_text(writer, shown);
    if (shown.length < text.length) markup(writer, "\xE2\x80\xA6");
}

/* ---- numbers ---- */

struct unit {
    const char *name; /* with the blank before it */
    double size;
};

/* The unit in which a number of this size is written. */
static struct unit unit_of(enum svg_unit unit, double size)
{
    static const struct unit times[] = {{" ns", 1}, {" \xC2\xB5s", 1e3}, {" ms", 1e6}, {" s", 1e9}};
    size_t i = 0;
    if (unit == SVG_PLAIN) return (struct unit){"", 1};
    while (i + 1 < sizeof times / sizeof *times && fabs(size) >= times[i + 1].size)
        i++;
    return times[i];
}

/* A step of 1, 2 or 5 times a power of ten that divides span into at most `wanted` parts. */
static double nice_step(double span, double wanted)
{
    double raw = span / wanted, power = pow(10, floor(log10(raw))), rest = raw / power;
    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

struct axis {
    double from, to;  /* in the unit */
    double step;      /* of its ticks; 0: a single tick at from */
    double near, far; /* where from and to lie on the page */
};

static double place(const struct axis *axis, double value)
{
    if (axis->to <= axis->from) return (axis->near + axis->far) / 2;
    return axis->near + (value - axis->from) / (axis->to - axis->from) * (axis->far - axis->near);
}

/* Values beyond are drawn there: spans between them must not overflow. */
static double bounded(double value)
{
    return fmax(-1e300, fmin(1e300, value));
}

/* Whole ticks around all intervals of a panel; values that are all equal lie in the middle. */
static struct axis value_axis(const struct svg_panel *panel, const struct unit *unit, double top)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < panel->count; i++) {
        low = fmin(low, bounded(panel->points[i].low / unit->size));
        high = fmax(high, bounded(panel->points[i].high / unit->size));
    }
    struct axis axis = {.near = top + BOTTOM, .far = top + TOP};
    if (high - low <= fabs(high) * 1e-9) {
        double pad = fabs(high) > 0 ? fabs(high) / 10 : 1;
        low -= pad;
        high += pad;
    }
    axis.step = nice_step(high - low, 5);
    axis.from = floor(low / axis.step) * axis.step;
    axis.to = ceil(high / axis.step) * axis.step;
    return axis;
}

/* Places are whole numbers, and the same for all panels. */
static struct axis place_axis(const struct svg_plot *plot)
{
    struct axis axis = {.from = INFINITY, .to = -INFINITY, .near = LEFT + 14, .far = RIGHT - 14};
    for (size_t i = 0; i < plot->panel_count; i++) {
        const struct svg_panel *panel = &plot->panels[i];
        if (panel->count == 0) continue;
        axis.from = fmin(axis.from, (double)panel->points[0].x);
        axis.to = fmax(axis.to, (double)panel->points[panel->count - 1].x);
    }
    if (axis.to > axis.from) axis.step = fmax(1, nice_step(axis.to - axis.from, 8));
    return axis;
}

/* ---- the parts ---- */

static const char style[] =
    "<style>"
    "text{font:12px system-ui,sans-serif;fill:#24292f}"
    ".title{font-size:16px;font-weight:600}.name{font-weight:600;unicode-bidi:plaintext}"
    ".number{text-anchor:end}.place,.axis{text-anchor:middle}"
    ".paper{fill:#fff}.grid{stroke:#d8dee4}.line{fill:none;stroke:#0969da;stroke-width:1.5}"
    ".interval{stroke:#0969da;stroke-opacity:.45;stroke-width:3}.median{fill:#0969da}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.grid{stroke:#30363d}"
    ".line,.interval{stroke:#58a6ff}.median{fill:#58a6ff}}"
    "</style>\n";

static void put_value_ticks(struct writer *writer, const struct axis *axis)
{
    int count = (int)round((axis->to - axis->from) / axis->step);
    /* As many digits as tell neighbours apart. */
    double apart = fmax(fabs(axis->from), fabs(axis->to)) / axis->step;
    int digits = (int)fmin(17, fmax(6, floor(log10(apart)) + 2));
    for (int i = 0; i <= count; i++) {
        double value = axis->from + i * axis->step, y = place(axis, value);
        if (fabs(value) < axis->step / 1e6) value = 0; /* what rounding left of it */
        markup(writer,
               "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"number\" x=\"%d\" "
               "y=\"%.1f\">%.*g</text>\n",
               LEFT, y, RIGHT, LEFT - 8, y + 4, digits, value);
    }
}

static void put_place_ticks(struct writer *writer, const struct axis *axis, double top)
{
    double from = axis->step > 0 ? ceil(axis->from / axis->step) * axis->step : axis->from;
    int last = axis->step > 0 ? (int)floor((axis->to - from) / axis->step) : 0;
    for (int i = 0; i <= last; i++) {
        double value = from + i * axis->step;
        markup(writer, "<text class=\"place\" x=\"%.1f\" y=\"%.1f\">%.0f</text>\n", place(axis, value),
               top + BOTTOM + 16, value);
    }
}

/* The number in words, and unrounded where that is not the same. */
static void put_amount(struct writer *writer, enum svg_unit unit, double value)
{
    char exact[33];
    struct unit written = unit_of(unit, value);
    if (unit == SVG_NANOSECONDS) {
        markup(writer, "%.4g%s", value / written.size, written.name);
        return;
    }
    json_double_text(exact, value);
    markup(writer, "%s", exact);
}

static void put_point(struct writer *writer, const struct svg_plot *plot, const struct svg_panel *panel,
                      const struct axis *across, const struct axis *up, const struct unit *unit,
                      const struct svg_point *point)
{
    char median[33], low[33], high[33];
    double x = place(across, (double)point->x), y = place(up, bounded(point->median / unit->size));
    json_double_text(median, point->median);
    json_double_text(low, point->low);
    json_double_text(high, point->high);
    markup(writer,
           "<g class=\"point\" data-x=\"%" PRIu64
           "\" data-median=\"%s\" data-low=\"%s\" data-high=\"%s\" data-values=\"%zu\"><title>",
           point->x, median, low, high, point->values);
    markup(writer, "%s %" PRIu64 ": ", plot->x_label, point->x);
    put_amount(writer, panel->unit, point->median);
    if (point->values > 1) {
        markup(writer, ", median of %zu from ", point->values);
        put_amount(writer, panel->unit, point->low);
        markup(writer, " to ");
        put_amount(writer, panel->unit, point->high);
    }
    markup(writer, "</title>");
    if (point->high > point->low)
        markup(writer, "<path class=\"interval\" d=\"M%.1f %.1fV%.1f\"/>", x,
               place(up, bounded(point->low / unit->size)), place(up, bounded(point->high / unit->size)));
    markup(writer, "<circle class=\"median\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/></g>\n", x, y);
}

static void put_panel(struct writer *writer, const struct svg_plot *plot, size_t number,
                      const struct axis *across)
{
    const struct svg_panel *panel = &plot->panels[number];
    double top = HEAD + PANEL * (double)number, largest = 0;
    for (size_t i = 0; i < panel->count; i++)
        largest = fmax(largest, fabs(panel->points[i].high));
    struct unit unit = unit_of(panel->unit, largest);

    markup(writer, "<g class=\"panel\"><title>");
    put_text(writer, panel->group);
    markup(writer, "%s", panel->name.length ? ": " : "");
    put_text(writer, panel->name);
    markup(writer, "</title>\n<text class=\"name\" x=\"%d\" y=\"%.1f\">", LEFT - 60, top + 14);
    put_text(writer, panel->group);
    markup(writer, "%s", panel->name.length ? ": " : "");
    put_short(writer, panel->name);
    if (panel->count && *unit.name) markup(writer, " (%s)", unit.name + 1);
    if (panel->missing) markup(writer, "; no value at %zu places", panel->missing);
    markup(writer, "</text>\n");
    if (panel->count) {
        struct axis up = value_axis(panel, &unit, top);
        put_value_ticks(writer, &up);
        put_place_ticks(writer, across, top);
        markup(writer, "<text class=\"axis\" x=\"%d\" y=\"%.1f\">%s</text>\n", (LEFT + RIGHT) / 2,
               top + BOTTOM + 32, plot->x_label);
        markup(writer, "<path class=\"line\" d=\"");
        for (size_t i = 0; i < panel->count; i++)
            markup(writer, "%c%.1f %.1f", i ? 'L' : 'M', place(across, (double)panel->points[i].x),
                   place(&up, bounded(panel->points[i].median / unit.size)));
        markup(writer, "\"/>\n");
        for (size_t i = 0; i < panel->count; i++)
            put_point(writer, plot, panel, across, &up, &unit, &panel->points[i]);
    }
    markup(writer, "</g>\n");
}

int svg_plot_write(const struct svg_plot *plot, json_sink *sink, void *context)
{
    struct writer writer = {sink, context, 0};
    size_t height = HEAD + PANEL * plot->panel_count + FOOT;
    struct axis across = place_axis(plot);

    markup(&writer,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\" "
           "role=\"img\" aria-labelledby=\"title description\">\n<title id=\"title\">",
           WIDTH, height, WIDTH, height);
    put_text(&writer, plot->title);
    markup(
        &writer,
        "</title>\n<desc id=\"description\">%zu of %zu measures over %s, a panel each. Points are medians; "
        "a bar reaches from the lowest to the highest value where a place has several.</desc>\n",
        plot->panel_count, plot->panel_total, plot->x_label);
    put(&writer, style, sizeof style - 1);
    markup(&writer,
           "<rect class=\"paper\" width=\"%d\" height=\"%zu\"/>\n<text class=\"title\" x=\"%d\" y=\"28\">",
           WIDTH, height, LEFT - 60);
    put_short(&writer, plot->title);
    markup(&writer, "</text>\n");
    for (size_t i = 0; i < plot->panel_count; i++)
        put_panel(&writer, plot, i, &across);
    markup(&writer, "<text x=\"%d\" y=\"%zu\">%zu of %zu measures shown</text>\n</svg>\n", LEFT - 60,
           height - 10, plot->panel_count, plot->panel_total);
    return writer.error;
}
