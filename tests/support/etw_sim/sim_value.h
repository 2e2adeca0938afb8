#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_VALUE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_VALUE_H

#include "base/span.h"

/*
 * What one value takes of a payload, by its TDH_IN_TYPE (comments in tdh.h). Written apart from the
 * agent's decoder, so that one can judge the other.
 */
struct sim_value_type {
    uint16_t in_type;
    uint16_t out_type;
    uint16_t length; /* UTF-16 units or bytes, where `has_length` */
    bool has_length;
    uint8_t pointer_size;
};

struct sim_value {
    struct span whole; /* with counts in front and a NUL after */
    struct span bytes; /* the value alone */
};

/* The value at the beginning of ${data}; a text without its NUL takes all of it. False if ${data}
 * is too short, or the type is none. */
bool sim_value_take(
    const struct sim_value_type *type, struct span data, struct sim_value *ret_value);

/* A number of 1, 2, 4 or 8 bytes; 0 for anything else. */
uint64_t sim_value_number(struct span bytes);

#endif
