#ifndef ETWSHIP_TESTS_SUPPORT_FILTER_MODEL_H
#define ETWSHIP_TESTS_SUPPORT_FILTER_MODEL_H

#include "base/buf.h"
#include "support/json_tree.h"

/*
 * Filter expressions as trees, what they mean for an event's JSON, and how they are written. Shares
 * nothing with the filter layer: what a value is, comes from how it is shown, numbers are long
 * doubles, networks are inet_pton's and patterns regcomp's. Slow and plain on purpose.
 */
enum model_test {
    MODEL_EQUAL,
    MODEL_UNEQUAL,
    MODEL_LESS,
    MODEL_LESS_EQUAL,
    MODEL_GREATER,
    MODEL_GREATER_EQUAL,
    MODEL_IN,
    MODEL_CONTAINS,
    MODEL_STARTS,
    MODEL_ENDS,
    MODEL_LIKE,
    MODEL_MATCHES,
    MODEL_HAS,
    MODEL_CIDR,
    MODEL_EXISTS,
};

enum model_literal_type { MODEL_TEXT, MODEL_NUMBER, MODEL_RANGE, MODEL_BOOL };

enum { MODEL_TEXT_SIZE = 96, MODEL_NUMBER_SIZE = 32, MODEL_MAX_LITERALS = 6, MODEL_MAX_STEPS = 4 };

struct model_literal {
    enum model_literal_type type;
    bool exact;
    bool truth;
    char text[MODEL_TEXT_SIZE];
    char low[MODEL_NUMBER_SIZE]; /* as it is written: decimal, 0x or with a point */
    char high[MODEL_NUMBER_SIZE];
};

enum model_node_type {
    MODEL_NODE_TRUE,
    MODEL_NODE_TEST,
    MODEL_NODE_NOT,
    MODEL_NODE_AND,
    MODEL_NODE_OR
};

struct model_node {
    enum model_node_type type;
    struct model_node *children[3];
    unsigned child_count;
    enum model_test test;
    const char *path; /* plain names, dots and `[*]` */
    struct model_literal literals[MODEL_MAX_LITERALS];
    unsigned literal_count;
};

/* Is the expression true for the event whose native JSON is ${event}? */
bool filter_model_holds(const struct model_node *node, const struct json_node *event);

/* The nodes at ${path}, at most ${max}; how many. */
size_t filter_model_values(const struct json_node *event, const char *path,
    const struct json_node **ret_values, size_t max);

/* Append the expression as a user may write it: parentheses where they are needed, quotes and the
 * case of words by ${style}. */
void filter_model_write(const struct model_node *node, unsigned style, struct buf *out);

#endif
