/* "did you mean": the known word that is nearest to a mistyped one. */
#ifndef CGTRACE_COMMON_SUGGEST_H
#define CGTRACE_COMMON_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *given;
    size_t length;
    unsigned distance; /* of word; anything farther is no suggestion */
    const char *word;  /* the nearest so far; NULL: none near enough */
};

/* A search for what given[0 .. length-1] may have meant. */
struct suggestion suggest_start(const char *given, size_t length);
/* Offers one known word; the nearest is kept, of equally near ones the first. word must outlive the search.
 * Distance is Damerau-Levenshtein's in its restricted form (edits, and swaps of neighbours). */
void suggest_offer(struct suggestion *search, const char *word);
/* The same for a word that is not ended by NUL; true when it became the nearest (word is then not set). */
int suggest_nearer(struct suggestion *search, const char *bytes, size_t length);

#endif
