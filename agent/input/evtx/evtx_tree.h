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
    uint16_t
        given; /* of a value: its place among those of the record; EVTX_TREE_NONE: the template has it */
    uint8_t kind; /* enum evtx_node_kind */
    uint8_t type; /* of a value: enum evtx_type, maybe with EVTX_ARRAY */
};

/* A value that a record gives its template. */
struct evtx_given {
    struct span bytes;
    uint8_t type;
};

/* The first node stands for the document. */
struct evtx_tree {
    struct evtx_node *nodes;
    uint32_t count;
};

/* Memory for a tree that is being made. */
struct evtx_room {
    struct evtx_node nodes[EVTX_TREE_NODES];
    struct evtx_given values[EVTX_TREE_VALUES];
    uint32_t value_count;
};

/* Where the binary XML of a record is. */
struct evtx_source {
    struct span chunk;
    uint32_t at; /* in the chunk */
    uint32_t size;
    bool
        may_be_overwritten; /* names and templates that it refers to may be overwritten: compare hashes and ids */
};

/*
 * Make the tree of the binary XML at ${source}; it lives in ${room}. ${work} is what the chunk's records may cost together, counted down: templates can repeat each other. NULL, or a static text that
 * describes the first error: then the tree has everything before it.
 */
const char *evtx_tree_read(struct evtx_tree *tree, struct evtx_room *room,
    const struct evtx_source *source, uint32_t *work);

/*
 * A record whose binary XML is one instance of a template and nothing else. So may be one of its values, and one of
 * that instance's values: the instances of a chain. (Windows has the System in the first, and the data of the event in
 * the second.)
 */
enum { EVTX_TREE_INSTANCES = 4 };

struct evtx_instance {
    uint32_t definitions[EVTX_TREE_INSTANCES]; /* offsets in the chunk */
    uint32_t count;
    uint32_t value_count; /* of all */
};

/* Read the instances, their values into ${room}. False: the record is something else, or damaged. */
bool evtx_tree_read_instance(struct evtx_room *room, struct span chunk, uint32_t at, uint32_t size,
    struct evtx_instance *ret_instance);

/* What evtx_tree_read takes of its ${work} for each node that has these bytes. */
uint32_t evtx_tree_cost(struct span bytes);

/* Begin an empty tree in ${room}. */
void evtx_tree_begin(struct evtx_tree *tree, struct evtx_room *room);

/* Add the last child of node ${parent}. EVTX_TREE_NONE: the tree is full. */
uint16_t evtx_tree_add(struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind,
    uint8_t type, struct span bytes);

/* The first child of node ${parent} that is of this kind and called ${name} (ASCII); EVTX_TREE_NONE: there is none. */
uint16_t evtx_tree_find(
    const struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind, const char *name);

/* Is UTF-16 ${name} the ASCII text ${text}? */
bool evtx_tree_is_name(struct span name, const char *text);

#endif
