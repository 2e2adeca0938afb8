#ifndef ETWSHIP_FILTER_FILTER_EMIT_H
#define ETWSHIP_FILTER_FILTER_EMIT_H

#include "filter/filter_program.h"

/* An expression as a tree, between parser and program. `and` and `or` have any number of children,
 * so that only parentheses and `not` nest. */
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
    struct filter_node *last; /* children, the last one first */
    struct filter_node *before;
};

/* Lay the ${count} tests of the tree out into ${ops}, in the order in which they were written, and
 * complete ${code}, but for its action and name. */
void filter_emit(const struct filter_node *root, struct filter_op *ops, uint32_t count,
    struct filter_code *code);

#endif
