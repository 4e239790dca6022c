/* Owned text of the evidence: an arena of immutable strings, and a builder for sentences. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_TEXT_H
#define CGTRACE_ANALYZER_EVIDENCE_TEXT_H

#include "analyzer/trace/trace.h"

/* Strings that live as long as the arena; a zeroed one is empty. */
struct text_arena {
    struct text_chunk *chunks;
};
/* A copy of the bytes, ended by a NUL that is not counted. When memory is short the text has bytes NULL. */
struct cg_text arena_text(struct text_arena *arena, const char *bytes, size_t length);
struct cg_text arena_string(struct text_arena *arena, const char *string);
struct cg_text arena_printf(struct text_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_free(struct text_arena *arena);

/* A name as it is put into a sentence: controls, quotes and backslashes escaped, at most 80 bytes of it, cut
 * at a character's border and then ended by "...". */
#define TEXT_NAME_SIZE 400
const char *text_name(struct cg_text name, char buffer[TEXT_NAME_SIZE]);

/* Byte order, shorter prefix first. */
int text_compare(struct cg_text a, struct cg_text b);

#endif
