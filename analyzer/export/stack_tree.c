#include "analyzer/export/stack_tree.h"

#include "analyzer/planes/array.h"

bool stack_tree_start(struct stack_tree *tree)
{
    *tree = (struct stack_tree){.names = strings_new()};
    return tree->names;
}

void stack_tree_free(struct stack_tree *tree)
{
    strings_free(tree->names);
    pair_map_free(&tree->known);
    free(tree->nodes);
    *tree = (struct stack_tree){0};
}

uint32_t stack_tree_under(struct stack_tree *tree, uint32_t above, struct cg_text name)
{
    uint32_t hash = strings_hash(name.bytes, name.length);
    cg_str string = strings_intern(tree->names, hash, name.bytes, name.length);
    bool made;
    struct pair_entry *entry =
        string == CG_ABSENT ? NULL : pair_map_insert(&tree->known, string, above + 1, &made);
    if (!entry) return CG_NONE;
    if (!made) return entry->value;
    if (tree->count >= CG_NONE - 1 ||
        !array_room(&tree->nodes, tree->count, &tree->capacity, sizeof *tree->nodes)) {
        pair_map_remove(&tree->known, entry);
        return CG_NONE;
    }
    entry->value = (uint32_t)tree->count;
    tree->nodes[tree->count] = (struct stack_node){.above = above, .name = string};
    return (uint32_t)tree->count++;
}
