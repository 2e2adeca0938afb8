#ifndef ETWSHIP_INPUT_EVTX_TREE_H
#define ETWSHIP_INPUT_EVTX_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/*
 * The XML of one record as a tree: binary XML with its templates filled in. Names and values are
 * views into the record's chunk. All sizes are limited, whatever the chunk contains.
 */
enum {
    EVTX_TREE_NODES = 8192,
    EVTX_TREE_VALUES = 4096, /* of all template instances of one record */
    EVTX_TREE_NONE = UINT16_MAX,
};

enum evtx_node_kind { EVTX_NODE_ELEMENT, EVTX_NODE_ATTRIBUTE, EVTX_NODE_VALUE };

struct evtx_node {
    struct span bytes; /* name (UTF-16), or value in the form of its type */
    uint16_t parent;
    uint16_t first; /* child; EVTX_TREE_NONE: none, as in the others */
    uint16_t last;
    uint16_t next; /* sibling */
    /* of a value: its index among those of the record; EVTX_TREE_NONE: it comes from the
     * template */
    uint16_t given;
    uint8_t kind; /* enum evtx_node_kind */
    uint8_t type; /* of a value: enum evtx_type, maybe with EVTX_ARRAY */
};

/* A value that a record passes to its template. */
struct evtx_given {
    struct span bytes;
    uint8_t type;
};

/* The first node is the document. */
struct evtx_tree {
    struct evtx_node *nodes;
    uint32_t count;
};

/* Memory for one tree. */
struct evtx_room {
    struct evtx_node nodes[EVTX_TREE_NODES];
    struct evtx_given values[EVTX_TREE_VALUES];
    uint32_t value_count;
};

/* Location of a record's binary XML. */
struct evtx_fragment {
    struct span chunk;
    uint32_t at; /* in the chunk */
    uint32_t size;
};

/*
 * Make the tree of the binary XML at ${fragment}, in ${room}. ${work}: limit for all records of the
 * chunk, which the call reduces; templates may repeat each other. Returns NULL, or a static text
 * about the first error; the tree then contains everything before it.
 */
const char *evtx_tree_read(struct evtx_tree *tree, struct evtx_room *room,
    const struct evtx_fragment *fragment, uint32_t *work);

/*
 * A record whose binary XML is one instance of a template and nothing else. One of its values may
 * be such an instance, too, and so on: a chain of instances. (Windows has System in the first one,
 * and the event's data in the second.)
 */
enum { EVTX_TREE_INSTANCES = 4 };

struct evtx_instance {
    uint32_t definitions[EVTX_TREE_INSTANCES]; /* offsets in the chunk */
    uint32_t count;
    uint32_t value_count; /* of all instances */
};

/* Read the instances, and their values into ${room}. False: the record has another form, or is
 * damaged. */
bool evtx_tree_read_instance(struct evtx_room *room, struct span chunk, uint32_t at, uint32_t size,
    struct evtx_instance *ret_instance);

/* Part of the ${work} of evtx_tree_read for each node with these bytes. */
uint32_t evtx_tree_cost(struct span bytes);

/* Begin an empty tree in ${room}. */
void evtx_tree_begin(struct evtx_tree *tree, struct evtx_room *room);

/* Add the last child of node ${parent}. EVTX_TREE_NONE: the tree is full. */
uint16_t evtx_tree_add(struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind,
    uint8_t type, struct span bytes);

/* The first child of node ${parent} of this kind with the name ${name} (ASCII); EVTX_TREE_NONE:
 * there is none. */
uint16_t evtx_tree_find(
    const struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind, const char *name);

/* True if the UTF-16 ${name} equals the ASCII ${text}. */
bool evtx_tree_is_name(struct span name, const char *text);

#endif
