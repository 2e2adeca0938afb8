#ifndef ETWSHIP_SCHEMA_LAYOUT_H
#define ETWSHIP_SCHEMA_LAYOUT_H

#include "event/schema.h"

/*
 * Builds the property table of an event from properties that arrive in the order of the payload,
 * structs as brackets around their members: first all top-level properties, then the members of
 * each struct side by side, as TDH numbers them (EVENT_PROPERTY_INFO, tdh.h).
 *
 *   layout_add … layout_open, layout_add …, layout_close … layout_write
 *
 * Nodes live in the arena given to layout_init, which may go away once the table is written.
 */
struct layout_node {
    struct schema_field field; /* to be filled by the caller */
    struct span count_name;    /* count or length is what this earlier property says */
    struct span length_name;
    struct span map_name; /* for the caller */
    struct layout_node *parent;
    struct layout_node *first;
    struct layout_node *last;
    struct layout_node *next;     /* sibling */
    struct layout_node *previous; /* in the order of the payload, whatever the nesting */
    uint16_t index;               /* in the table, once it is written */
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

/* Add a property behind the others of the struct that is open. NULL with ${err} set at the limits
 * or when memory ends. */
struct layout_node *layout_add(struct layout *layout, struct error *err);

/* The property added last is a struct; what follows are its members, until layout_close. */
bool layout_open(struct layout *layout, struct error *err);
void layout_close(struct layout *layout);

/*
 * Write fields, field_count and top_count of ${schema} into ${arena}, resolve count_name and
 * length_name and set the flags that go with them. Fails if a name is that of no earlier property
 * in the same struct or around it.
 */
bool layout_write(const struct layout *layout, struct event_schema *schema, struct arena *arena,
    struct error *err);

#endif
