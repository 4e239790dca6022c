/* The stacks of a trace by weight: threads with their spans and calls, spans with their device work, spans
 * and call stacks with what they allocated. */
#ifndef CGTRACE_ANALYZER_EXPORT_STACKS_OF_H
#define CGTRACE_ANALYZER_EXPORT_STACKS_OF_H

#include "analyzer/export/export.h"
#include "analyzer/export/stack_tree.h"

/* Fills a started tree by job->weight, and job->left_out. False when memory is short. */
bool stacks_of(struct export_job *job, struct stack_tree *tree);

#endif
