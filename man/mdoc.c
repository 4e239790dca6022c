#include "man/mdoc.h"

#include <ctype.h>
#include <string.h>

enum { LINE = 78 };

void mdoc_character(FILE *page, const char *text, size_t i)
{
    if (text[i] == '\\')
        fputs("\\e", page);
    else if (text[i] == '-' && (i == 0 || strchr(" -(", text[i - 1])))
        fputs("\\-", page);
    else
        fputc(text[i], page);
}

/* Does a sentence end before the blank at text[i]? */
static bool sentence_ends(const char *text, size_t i)
{
    return i > 1 && strchr(".:?", text[i - 1]) && islower(text[i - 2]) && isupper(text[i + 1]);
}

/* A word such as name() or name(), is marked as a function's name. */
static bool put_function(FILE *page, const char *word, size_t length)
{
    const char *parentheses = memmem(word, length, "()", 2);

    if (!parentheses || parentheses == word) return false;
    fprintf(page, ".Fn %.*s", (int)(parentheses - word), word);
    for (const char *c = parentheses + 2; c < word + length; c++)
        fprintf(page, " %c", *c);
    fputc('\n', page);
    return true;
}

void mdoc_text(FILE *page, const char *text, size_t length)
{
    size_t column = 0;
    for (size_t i = 0; i < length;) {
        size_t word = strcspn(text + i, " ");
        if (word > length - i) word = length - i;
        bool function = memmem(text + i, word, "()", 2) != NULL;
        bool fresh = column > 0 && (function || sentence_ends(text, i - 1) || column + 1 + word > LINE);
        if (column > 0) fputc(fresh ? '\n' : ' ', page);
        column = fresh || column == 0 ? 0 : column + 1;
        if (!function || !put_function(page, text + i, word)) {
            if (column == 0 && (text[i] == '.' || text[i] == '\'')) fputs("\\&", page);
            for (size_t k = i; k < i + word; k++)
                mdoc_character(page, text, k);
            column += word;
        }
        i += word + 1;
    }
    if (column > 0) fputc('\n', page);
}

void mdoc_page(FILE *page, const char *text)
{
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (*text != '.' && length > LINE)
            mdoc_text(page, text, length);
        else
            fprintf(page, "%.*s\n", (int)length, text);
    }
}

void mdoc_sentence(FILE *page, const char *text)
{
    char sentence[1024];
    int length = snprintf(sentence, sizeof sentence, "%s.", text);
    /* Not a name such as run_id or candle-graph/trace/10. */
    size_t word = strspn(sentence, "abcdefghijklmnopqrstuvwxyz");
    if (word > 0 && sentence[word] && strchr(" .,;'", sentence[word]))
        sentence[0] = (char)toupper(sentence[0]);
    mdoc_text(page, sentence, (size_t)length);
}

void mdoc_paragraphs(FILE *page, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        mdoc_text(page, text, length);
        text += length;
        if (*text == '\n') {
            fputs(".Pp\n", page);
            text++;
        }
    }
}

/* One line of a literal display. */
static void put_literal(FILE *page, const char *line, size_t length)
{
    if (length > 0 && (*line == '.' || *line == '\'')) fputs("\\&", page);
    for (size_t i = 0; i < length; i++)
        line[i] == '\\' ? fputs("\\e", page) : fputc(line[i], page);
    fputc('\n', page);
}

/* Where the declaration that begins at text ends: behind the line of its closing brace. NULL: none begins
 * there, or macros fill it in. */
static const char *declaration_end(const char *text)
{
    const char *line_end = strchr(text, '\n'), *end;

    if (strncmp(text, "struct ", 7) != 0 && strncmp(text, "enum ", 5) != 0) return NULL;
    const char *brace = strpbrk(text, "{;\n");
    if (!line_end || !brace || *brace != '{') return NULL;
    const char *close = memchr(text, '}', (size_t)(line_end - text));
    if (close) return line_end + 1;
    end = strstr(text, "\n}");
    const char *directive = strstr(text, "\n#");
    if (!end || (directive && directive < end)) return NULL;
    line_end = strchr(end + 1, '\n');
    return line_end ? line_end + 1 : NULL;
}

static void put_lines(FILE *page, const char *text, const char *end)
{
    while (text < end) {
        size_t length = strcspn(text, "\n");
        put_literal(page, text, length);
        text += length + 1;
    }
}

bool mdoc_declarations(FILE *page, const char *header)
{
    static char text[1 << 17];
    FILE *file = fopen(header, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;

    if (!file) return false;
    bool whole = size > 0 && size < sizeof text - 1 && !ferror(file);
    fclose(file);
    text[size] = '\0';
    const char *comment = NULL; /* the one directly above the line */
    fputs(".Bd -literal\n", page);
    for (const char *line = text, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        const char *end = declaration_end(line);
        next = line + length + (line[length] != '\0');
        if (strncmp(line, "/*", 2) == 0 && strncmp(line, "/* ----", 7) != 0) {
            const char *close = strstr(line, "*/");
            comment = line;
            if (close) next = close + 2 + strcspn(close + 2, "\n") + 1;
        } else if (end) {
            put_lines(page, comment ? comment : line, end);
            fputc('\n', page);
            next = end;
            comment = NULL;
        } else {
            comment = NULL;
        }
    }
    fputs(".Ed\n", page);
    return whole;
}
