#ifndef ETWSHIP_FILTER_FILTER_EMIT_H
#define ETWSHIP_FILTER_FILTER_EMIT_H

#include "filter/filter_program.h"

/* Expression tree between parser and program. `and` and `or` have any number of children, so only
 * parentheses and `not` increase the depth. */
enum filter_node_type {
    FILTER_NODE_TEST,
    FILTER_NODE_TRUE,
    FILTER_NODE_AND,
    FILTER_NODE_OR,
    FILTER_NODE_NOT,
};

struct filter_node {
    enum filter_node_type type;
    struct filter_op *op;     /* TEST, without its jumps */
    struct filter_node *last; /* list of children, starting with the last */
    struct filter_node *before;
};

/* Write the ${count} tests of the tree into ${ops} in source order and complete ${code}, except its
 * action and name. */
void filter_emit(const struct filter_node *root, struct filter_op *ops, uint32_t count,
    struct filter_code *code);

#endif
