#ifndef ETWSHIP_SCHEMA_CORRECTIONS_OWN_H
#define ETWSHIP_SCHEMA_CORRECTIONS_OWN_H

#include "schema/source/corrections.h"

/* A row of the table. Texts and ranges live in the arena of the corrections. */
struct correction_range {
    uint16_t first;
    uint16_t last;
};

struct correction {
    bool any_provider;
    bool has_guid; /* else the provider is matched by name */
    struct guid guid;
    struct span provider;
    const struct correction_range *events; /* for classic events their types */
    size_t event_count;
    struct correction_range versions;
    struct span field; /* `*`: all fields, which stay as the definition has them */
    bool any_field;
    bool has_was;
    bool has_in;
    bool has_out;
    uint16_t was; /* enum in_type */
    uint16_t in;
    uint16_t out;       /* enum out_type */
    struct span length; /* number or field name; empty: none */
    struct span count;
    /* insert the field before this one if it is missing; empty: insert nothing */
    struct span before;
};

struct corrections {
    struct arena arena;
    struct correction *rows; /* on the heap */
    size_t count;
    size_t capacity;
};

/* Parse one row, ${line} without its end, into ${ret_row}. False with ${err} set and prefixed by
 * ${where}. */
bool corrections_row(struct span line, struct arena *arena, const char *where,
    struct correction *ret_row, struct error *err);

/* True if ${line} has the column names in order, separated by tabs. */
bool corrections_is_header(struct span line);

#endif
