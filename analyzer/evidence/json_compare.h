/* Comparison of two JSON documents by value, without making trees of them. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_JSON_COMPARE_H
#define CGTRACE_ANALYZER_EVIDENCE_JSON_COMPARE_H

#include "analyzer/evidence/shape.h"

enum json_equality { JSON_EQUAL, JSON_EQUAL_EXCEPT_FREE, JSON_DIFFERENT, JSON_COMPARE_NO_MEMORY };

#define JSON_POINTER_SIZE 512

/* Are the documents of both readers, checked before, the same value? Objects are compared by members in any
 * order, a missing member is not null, integers are never doubles, doubles are compared by value
 * (doc/spec/bundle.md 10.1). What lies below one of the free pointers (NULL-ended list; "*" stands for any
 * one part) may differ or be missing, which is JSON_EQUAL_EXCEPT_FREE. On JSON_DIFFERENT pointer is the JSON
 * pointer (RFC 6901) of the first difference in the order of ours, cut when it is very long. No recursion. */
enum json_equality json_compare(struct shape_reader *ours, struct shape_reader *theirs,
                                const char *const *free_pointers, char pointer[JSON_POINTER_SIZE]);

#endif
