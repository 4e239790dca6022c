/* Folded stacks: a line `outermost;...;innermost NUMBER` for each stack, as flamegraph.pl, inferno and
 * speedscope read them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/export/stacks_of.h"
#include "analyzer/viewer/buffer.h"
#include "analyzer/planes/array.h"

/* The separators of the format cannot stand in a name. */
static void add_name(struct buffer *line, struct cg_text name)
{
    for (size_t i = 0; i < name.length; i++) {
        char byte = name.bytes[i];
        if (byte == ';') byte = ':';
        if ((unsigned char)byte < 0x20) byte = ' ';
        buffer_add(line, &byte, 1);
    }
}

/* The nodes from `node` up to the outermost; false when memory is short. */
static bool climb(const struct stack_tree *tree, uint32_t node, uint32_t **way, size_t *depth, size_t *room)
{
    *depth = 0;
    for (; node != CG_NONE; node = tree->nodes[node].above) {
        if (!array_room(way, *depth, room, sizeof **way)) return false;
        (*way)[(*depth)++] = node;
    }
    return true;
}

static int write_lines(struct export_job *job, const struct stack_tree *tree)
{
    struct buffer line = {0};
    uint32_t *way = NULL;
    size_t depth, room = 0;
    int failure = 0;
    for (uint32_t node = 0; node < tree->count && !failure; node++) {
        if (!tree->nodes[node].weight) continue;
        line.used = 0;
        if (!climb(tree, node, &way, &depth, &room)) {
            failure = ENOMEM;
            break;
        }
        while (depth-- > 0) {
            add_name(&line, strings_text(tree->names, tree->nodes[way[depth]].name));
            if (depth) buffer_add(&line, ";", 1);
        }
        char number[24];
        int length = snprintf(number, sizeof number, " %" PRIu64 "\n", tree->nodes[node].weight);
        buffer_add(&line, number, (size_t)length);
        failure = line.failed ? ENOMEM : job->sink(job->context, (const char *)line.bytes, line.used);
        job->records++;
    }
    free(way);
    buffer_free(&line);
    return failure;
}

static int write_folded(struct export_job *job)
{
    struct stack_tree tree;
    bool good = stack_tree_start(&tree) && stacks_of(job, &tree);
    int failure = good ? write_lines(job, &tree) : ENOMEM;
    stack_tree_free(&tree);
    return failure;
}

static const char *const losses[] = {
    "sums alone: no times, no order, no threads beside one another",
    "one weight: host time counts what no span or operation within takes, device time and bytes count in "
    "full",
    "with host time, what overlaps on a thread without nesting stands on a thread of its own",
    "stacks of weight 0 and operations without a time are left out",
    "in names ; becomes : and control characters become spaces",
    NULL,
};
const struct export_format export_folded = {
    .name = "folded",
    .about = "folded stacks, for flame graphs",
    .weighed = true,
    .losses = losses,
    .write = write_folded,
};
