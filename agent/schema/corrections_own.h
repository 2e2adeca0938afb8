#ifndef ETWSHIP_SCHEMA_CORRECTIONS_OWN_H
#define ETWSHIP_SCHEMA_CORRECTIONS_OWN_H

#include "schema/corrections.h"

/* A row of the table; texts and ranges live in the arena of its corrections. */
struct correction_range {
    uint16_t first;
    uint16_t last;
};

struct correction {
    bool any_provider;
    bool has_guid; /* else the provider is found by its name */
    struct guid guid;
    struct span provider;
    const struct correction_range *events; /* of classic events their types */
    size_t event_count;
    struct correction_range versions;
    struct span field; /* `*`: all, which stay as the definition has them */
    bool any_field;
    bool has_was;
    bool has_in;
    bool has_out;
    uint16_t was; /* enum in_type */
    uint16_t in;
    uint16_t out;       /* enum out_type */
    struct span length; /* a number or the name of a field; empty: none */
    struct span count;
    struct span before; /* the field behind it, where the definition lacks it; empty: it does not */
};

struct corrections {
    struct arena arena;
    struct correction *rows; /* on the heap */
    size_t count;
    size_t capacity;
};

/* Read the cells of ${line} (one row, without its end) into ${ret_row}. False with ${err} set, ${where}
 * in front. */
bool corrections_row(struct span line, struct arena *arena, const char *where,
    struct correction *ret_row, struct error *err);

/* The columns in their order, with tabs between them. */
bool corrections_is_header(struct span line);

#endif
