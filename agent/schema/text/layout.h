#ifndef ETWSHIP_SCHEMA_LAYOUT_H
#define ETWSHIP_SCHEMA_LAYOUT_H

#include "event/model/schema.h"

/*
 * Builds the property table of an event. The caller adds properties in payload order, with structs
 * as brackets around their members. The table has all top-level properties first, then the members
 * of each struct in one block, as TDH numbers them (EVENT_PROPERTY_INFO, tdh.h).
 *
 *   layout_add … layout_open, layout_add …, layout_close … layout_write
 *
 * Nodes live in the arena given to layout_init, which may be freed once the table is written.
 */
struct layout_node {
    struct schema_field field; /* the caller fills it */
    struct span count_name;    /* earlier property that holds the count or length */
    struct span length_name;
    struct span map_name; /* for the caller */
    struct layout_node *parent;
    struct layout_node *first;
    struct layout_node *last;
    struct layout_node *next;     /* sibling */
    struct layout_node *previous; /* in payload order, regardless of nesting */
    uint16_t index;               /* in the table, valid after layout_write */
};

struct layout {
    struct arena *arena;
    struct layout_node root; /* its children are the top-level properties */
    struct layout_node *open;
    struct layout_node *newest;
    size_t count;
    size_t depth;
};

void layout_init(struct layout *layout, struct arena *arena);

/* Append a property to the open struct. NULL with ${err} set at a limit or if memory is short. */
struct layout_node *layout_add(struct layout *layout, struct error *err);

/* Make the last property a struct: the following ones are its members until layout_close. */
bool layout_open(struct layout *layout, struct error *err);
void layout_close(struct layout *layout);

/*
 * Write fields, field_count and top_count of ${schema} into ${arena}, resolve count_name and
 * length_name, and set the corresponding flags. Fails if a count or length names a property that
 * does not precede it in its own struct or an enclosing one.
 */
bool layout_write(const struct layout *layout, struct event_schema *schema, struct arena *arena,
    struct error *err);

#endif
