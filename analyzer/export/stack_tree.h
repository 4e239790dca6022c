/* Stacks of names that share their beginnings, with a weight each: what flame graphs are made of. */
#ifndef CGTRACE_ANALYZER_EXPORT_STACK_TREE_H
#define CGTRACE_ANALYZER_EXPORT_STACK_TREE_H

#include "analyzer/planes/pair_map.h"
#include "analyzer/trace/strings.h"

/* Nodes are numbered from 0; a node stands after the one that it hangs under. */
struct stack_tree {
    struct cg_strings *names;
    struct pair_map known; /* (name, node above + 1) -> node */
    struct stack_node {
        uint32_t above; /* CG_NONE: outermost */
        cg_str name;    /* in names */
        uint64_t weight, count;
    } * nodes;
    size_t count, capacity;
};

/* False when memory is short. */
bool stack_tree_start(struct stack_tree *tree);
void stack_tree_free(struct stack_tree *tree);
/* The node of this name under another (CG_NONE: outermost), new if need be; CG_NONE when memory is short. */
uint32_t stack_tree_under(struct stack_tree *tree, uint32_t above, struct cg_text name);

#endif
