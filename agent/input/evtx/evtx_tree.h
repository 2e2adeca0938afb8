#ifndef ETWSHIP_INPUT_EVTX_TREE_H
#define ETWSHIP_INPUT_EVTX_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/*
 * The XML of one record as a tree: binary XML with its templates filled in. Names and values are views into
 * the chunk that the record lies in. Everything has a maximum, whatever the chunk says.
 */
enum {
    EVTX_TREE_NODES = 8192,
    EVTX_TREE_VALUES = 4096, /* of all template instances of one record */
    EVTX_TREE_NONE = UINT16_MAX,
};

enum evtx_node_kind { EVTX_NODE_ELEMENT, EVTX_NODE_ATTRIBUTE, EVTX_NODE_VALUE };

struct evtx_node {
    struct span bytes; /* the name, UTF-16; or the value, as its type has it */
    uint16_t parent;
    uint16_t first; /* child; EVTX_TREE_NONE: there is none. So are the others */
    uint16_t last;
    uint16_t next; /* sibling */
    uint8_t kind;  /* enum evtx_node_kind */
    uint8_t type;  /* of a value: enum evtx_type, maybe with EVTX_ARRAY */
};

/* A value that a record gives its template. */
struct evtx_given {
    struct span bytes;
    uint8_t type;
};

struct evtx_tree {
    struct evtx_node nodes[EVTX_TREE_NODES]; /* the first stands for the document */
    uint32_t count;
    struct evtx_given values[EVTX_TREE_VALUES];
    uint32_t value_count;
};

/*
 * Make the tree of the binary XML at ${at}, ${size} bytes, in ${chunk}. ${work} is what the chunk's
 * records may cost together, counted down: templates can repeat each other. NULL, or a static text that says what
 * is wrong: then the tree has what stood before that.
 */
const char *evtx_tree_read(
    struct evtx_tree *tree, struct span chunk, uint32_t at, uint32_t size, uint32_t *work);

/* To make a tree of another form of the XML: an empty document; one more child of ${parent}. EVTX_TREE_NONE: the tree
 * is full. */
void evtx_tree_begin(struct evtx_tree *tree);
uint16_t evtx_tree_add(struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind,
    uint8_t type, struct span bytes);

/* The first child of node ${parent} that is of this kind and called ${name} (ASCII); EVTX_TREE_NONE: there is none. */
uint16_t evtx_tree_find(
    const struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind, const char *name);

/* Is UTF-16 ${name} the ASCII text ${text}? */
bool evtx_tree_is_name(struct span name, const char *text);

#endif
