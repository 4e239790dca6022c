#include "analyzer/cmd/screen.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define GREEN  "\033[32m"
#define DIM    "\033[2m"

enum {
    WIDEST_NAME = 44, /* names are padded to at most this */
    LEAST_ROOM = 10   /* columns that a value has at the least */
};

static const char *const sequences[] = {
    [SCREEN_PLAIN] = "\033[0m", [SCREEN_BOLD] = "\033[1m", [SCREEN_DIM] = DIM};

static size_t columns_of_terminal(void)
{
    struct winsize size;
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0; /* LONG_MAX when it is beyond that */
    if (columns > 0) return (size_t)columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

static bool want_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !(no_colour && *no_colour) && !(terminal && strcmp(terminal, "dumb") == 0);
}

struct screen screen_of(struct output *output, bool on_stdout)
{
    bool real = on_stdout && isatty(STDOUT_FILENO);
    return (struct screen){
        .output = output, .width = real ? columns_of_terminal() : SIZE_MAX, .colour = real && want_colour()};
}

bool screen_is_real(const struct screen *screen)
{
    return screen->width != SIZE_MAX;
}

void screen_put_bytes(struct screen *screen, const char *text, size_t length)
{
    static const char blanks[] = "                                ";
    if (length == 0) return;
    if (text[0] == '\n') screen->blanks = 0;
    while (screen->blanks > 0) {
        size_t some = screen->blanks < sizeof blanks - 1 ? screen->blanks : sizeof blanks - 1;
        output_write(screen->output, blanks, some);
        screen->blanks -= some;
    }
    output_write(screen->output, text, length);
}

void screen_put(struct screen *screen, const char *text)
{
    screen_put_bytes(screen, text, strlen(text));
}

size_t screen_cut(struct screen *screen, const char *text, size_t length, size_t columns, bool name)
{
    size_t whole = terminal_width(text, length);
    if (whole <= columns) {
        screen_put_bytes(screen, text, length);
        return whole;
    }
    if (columns == 0) return 0;
    size_t room = columns - 1, head = terminal_fit(text, length, name ? room / 3 : room);
    size_t taken = terminal_width(text, head);
    size_t tail = name ? terminal_fit_end(text, length, room - taken) : 0;
    screen_put_bytes(screen, text, head);
    screen_put(screen, "…");
    screen_put_bytes(screen, text + length - tail, tail);
    return taken + 1 + terminal_width(text + length - tail, tail);
}

void screen_pad(struct screen *screen, size_t columns)
{
    screen->blanks += columns;
}

void screen_colour(struct screen *screen, enum screen_colour colour)
{
    if (!screen->colour) return;
    if (colour == SCREEN_PLAIN) /* before the blanks that may follow: they have no colour */
        output_write(screen->output, sequences[colour], strlen(sequences[colour]));
    else
        screen_put(screen, sequences[colour]);
}

/* Verdicts stand out; everything else is plain (NULL). */
static const char *verdict_colour(const struct screen *screen, const char *text, size_t length)
{
    if (!screen->colour) return NULL;
    static const struct {
        const char *word, *sequence;
    } verdicts[] = {
        {"complete", GREEN}, {"available", GREEN}, {"present", GREEN}, {"bound", GREEN},
        {"partial", YELLOW}, {"warning", YELLOW},  {"zero", YELLOW},   {"missing", YELLOW},
        {"invalid", RED},    {"error", RED},       {"failed", RED},    {"non_finite", RED},
        {"mismatch", RED},   {"unavailable", DIM},
    };
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (strlen(verdicts[i].word) == length && memcmp(verdicts[i].word, text, length) == 0)
            return verdicts[i].sequence;
    return NULL;
}

/* A value, or a line of one, in the colour of the whole value. */
static void put_value(struct screen *screen, const char *text, size_t length, const char *sequence)
{
    if (sequence) screen_put(screen, sequence);
    screen_put_bytes(screen, text, length);
    if (sequence) screen_put(screen, sequences[SCREEN_PLAIN]);
}

size_t screen_line(const char *text, size_t length, size_t room)
{
    size_t fit = terminal_fit(text, length, room), cut = fit;
    if (fit == 0 || fit == length) return length; /* a character wider than the room, or the rest */
    while (cut > 0 && text[cut] != ' ')
        cut--;
    return cut > 0 ? cut : fit;
}

void screen_wrapped(struct screen *screen, const char *text, size_t length, size_t column)
{
    size_t room = screen->width > column + LEAST_ROOM ? screen->width - column : LEAST_ROOM;
    const char *sequence = verdict_colour(screen, text, length);
    while (length > 0) {
        size_t cut = screen_line(text, length, room);
        put_value(screen, text, cut, sequence);
        text += cut;
        length -= cut;
        while (length > 0 && *text == ' ') {
            text++;
            length--;
        }
        if (length > 0) screen_put(screen, "\n");
        if (length > 0) screen_pad(screen, column);
    }
    screen_put(screen, "\n");
}

size_t screen_name_width(const struct screen *screen, size_t widest)
{
    size_t most = screen_is_real(screen) && screen->width / 2 < WIDEST_NAME ? screen->width / 2 : WIDEST_NAME;
    return widest < most ? widest : most;
}

void screen_pair(struct screen *screen, size_t indent, const char *name, size_t width, const char *text,
                 size_t length)
{
    size_t bytes = strlen(name), columns = terminal_width(name, bytes);
    screen_pad(screen, indent);
    if (columns <= width) {
        screen_put(screen, name);
        screen_pad(screen, width - columns + SCREEN_GAP);
        screen_wrapped(screen, text, length, indent + width + SCREEN_GAP);
        return;
    }
    screen_wrapped(screen, name, bytes, indent);
    screen_pad(screen, indent + width + SCREEN_GAP);
    screen_wrapped(screen, text, length, indent + width + SCREEN_GAP);
}

void screen_cell(struct screen *screen, const char *text, size_t length, size_t width, unsigned how)
{
    bool left = how & CELL_LEFT, last = how & CELL_LAST;
    size_t columns = terminal_width(text, length);
    if (columns > width) {
        size_t taken = screen_cut(screen, text, length, width, how & CELL_NAME);
        if (!last) screen_pad(screen, width - taken);
    } else {
        if (!left) screen_pad(screen, width - columns);
        put_value(screen, text, length, verdict_colour(screen, text, length));
        if (left && !last) screen_pad(screen, width - columns);
    }
    if (!last) screen_pad(screen, SCREEN_GAP);
}
