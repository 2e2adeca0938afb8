#ifndef ETWSHIP_EVENT_SCHEMA_PARAMETERS_H
#define ETWSHIP_EVENT_SCHEMA_PARAMETERS_H

#include "base/buf.h"

/*
 * Texts that the values and messages of a provider's events refer to by number, such as %%1843. The
 * provider's parameter message file has them. Source: [MS-EVEN] 3.2.4.1.2, "Retrieving Event
 * Parameter Strings".
 */
struct schema_parameter {
    uint32_t number;
    struct span text; /* UTF-8 */
};

/* Immutable; lives as long as the schemas that point to it. */
struct schema_parameters {
    const struct schema_parameter *list; /* ascending by number */
    size_t count;
    uint16_t language; /* LANGID; 0: unknown */
};

void schema_parameters_sort(struct schema_parameter *list, size_t count);

/* The text of ${number}; NULL data: there is none. ${parameters} may be NULL. */
struct span schema_parameters_find(const struct schema_parameters *parameters, uint32_t number);

/*
 * ${utf16}, up to its first NUL, as UTF-8 with the texts of its parameters in place of their
 * numbers. Empty with NULL data if it refers to none that is known, or ${memory} is full. Valid
 * until ${memory} changes, which may be NULL: then only a value that is one parameter has a text.
 */
struct span schema_parameters_expand(
    const struct schema_parameters *parameters, struct span utf16, struct buf *memory);

#endif
