/* Where the frames of a stack stand in the text of a record. */
#ifndef CGTRACE_ANALYZER_SYMBOLIZE_FRAMES_H
#define CGTRACE_ANALYZER_SYMBOLIZE_FRAMES_H

#include <stdbool.h>

/* The value of `frames` in `stack`, from *begin up to *end. line: a record and its line feed, followed by
 * JSON_PADDING readable bytes (common/json_scan.h). False: there is none, or the text is no JSON up to there.
 */
bool frames_in(const char *line, const char **begin, const char **end);

#endif
