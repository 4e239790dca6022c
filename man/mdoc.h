/* Text of manual pages (mdoc), for the programs that write them from tables. */
#ifndef CGTRACE_MAN_MDOC_H
#define CGTRACE_MAN_MDOC_H

#include <stdbool.h>
#include <stdio.h>

#define MDOC_DATE "November 29, 2026"

/* The character at text[i], escaped where mdoc would take it for something else. */
void mdoc_character(FILE *page, const char *text, size_t i);
/* Text of one paragraph: mdoc's special characters escaped, a sentence begins a line as mdoc wants it. */
void mdoc_text(FILE *page, const char *text, size_t length);
/* A phrase of a table as a sentence: capital letter, full stop. */
void mdoc_sentence(FILE *page, const char *text);
/* A part of a page, as it is but for lines of text that are too long. */
void mdoc_page(FILE *page, const char *text);
/* Paragraphs, separated by ends of lines. */
void mdoc_paragraphs(FILE *page, const char *text);
/* The structures and enumerations of a C header as they stand there, each with the comment above it; those
 * that macros fill in are left out, and so is what is not at the margin. False: the header cannot be read. */
bool mdoc_declarations(FILE *page, const char *header);

#endif
