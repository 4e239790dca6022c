#include "common/suggest.h"

#include <string.h>

/* Longer words are not compared: nobody mistypes them, they are pasted. */
enum { LONGEST = 64 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Three rows of the distance table are enough when swaps reach back two rows. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

struct suggestion suggest_start(const char *given, size_t length)
{
    /* One mistake in three letters, at most three, is still recognisable. */
    unsigned near = (unsigned)(length + 2) / 3;
    return (struct suggestion){.given = given, .length = length, .distance = (near > 3 ? 3 : near) + 1};
}

int suggest_nearer(struct suggestion *search, const char *bytes, size_t length)
{
    if (search->length == 0 || search->length > LONGEST || length == 0 || length > LONGEST) return 0;
    unsigned distance;
    if (search->length >= 3 && length > search->length && memcmp(bytes, search->given, search->length) == 0)
        distance = 1; /* the beginning of it was given */
    else
        distance = edit_distance(search->given, search->length, bytes, length);
    if (distance >= search->distance) return 0;
    search->distance = distance;
    return 1;
}

void suggest_offer(struct suggestion *search, const char *word)
{
    if (suggest_nearer(search, word, strlen(word))) search->word = word;
}
