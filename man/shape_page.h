/* Sections of manual pages (mdoc) from the shapes of JSON documents, to standard output. */
#ifndef CGTRACE_MAN_SHAPE_PAGE_H
#define CGTRACE_MAN_SHAPE_PAGE_H

#include <stdbool.h>

#include "analyzer/evidence/shape.h"

/* A section for the object and for each that it holds, under the path of its members. What they mean is said
 * by evidence_members.h or, where they are the trace's, by the event table. False, with a line on standard
 * error: a member has no meaning there. */
bool shape_page(const char *name, const struct shape_type *type);

#endif
