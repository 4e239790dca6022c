#include "man/mdoc.h"

#include <ctype.h>
#include <stdbool.h>
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

void mdoc_text(FILE *page, const char *text, size_t length)
{
    size_t column = 0;
    for (size_t i = 0; i < length;) {
        size_t word = strcspn(text + i, " ");
        if (word > length - i) word = length - i;
        bool fresh = column > 0 && (sentence_ends(text, i - 1) || column + 1 + word > LINE);
        if (column > 0) fputc(fresh ? '\n' : ' ', page);
        column = fresh || column == 0 ? 0 : column + 1;
        if (column == 0 && (text[i] == '.' || text[i] == '\'')) fputs("\\&", page);
        for (size_t k = i; k < i + word; k++)
            mdoc_character(page, text, k);
        column += word;
        i += word + 1;
    }
    fputc('\n', page);
}

void mdoc_sentence(FILE *page, const char *text)
{
    char sentence[1024];
    int length = snprintf(sentence, sizeof sentence, "%s.", text);
    if (islower(sentence[0]) && sentence[1] != ' ') sentence[0] = (char)toupper(sentence[0]);
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
