#ifndef ETWSHIP_TESTS_SUPPORT_JSON_TREE_H
#define ETWSHIP_TESTS_SUPPORT_JSON_TREE_H

#include "base/arena.h"

/*
 * JSON as a tree, for tests that compare what was written with what was meant: written from RFC
 * 8259 alone, shares nothing with the writers. Duplicate keys, bad escapes and raw control
 * characters are errors, so parsing is a test by itself.
 */
enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_node {
    enum json_type type;
    struct span key;  /* of a member, unescaped */
    struct span text; /* unescaped string; digits of a number; true, false, null */
    struct json_node *child;
    struct json_node *next; /* sibling */
};

/* NULL: not JSON, or nested deeper than 64. The tree and its texts live in ${arena}. */
const struct json_node *json_tree_parse(struct span text, struct arena *arena);

/* The member of an object, or NULL. */
const struct json_node *json_tree_member(const struct json_node *object, struct span key);

#endif
