#ifndef ETWSHIP_SCHEMA_PACK_PARAMETERS_H
#define ETWSHIP_SCHEMA_PACK_PARAMETERS_H

#include "event/model/schema_parameters.h"
#include "schema/pack/pack_line.h"

/* Texts of parameters (schema_parameters.h) that a schema pack has, by provider. */

enum { PACK_MAX_PARAMETERS = 1 << 20 /* of one provider */ };

/* Those of one provider. */
struct pack_parameters {
    struct guid provider;
    struct span name;
    struct schema_parameters texts;
};

struct pack_parameter_sets {
    struct pack_parameters *sets;
    size_t count;
    size_t capacity;
    /* the set that is being read; NULL: none */
    struct schema_parameter *list;
    size_t list_count;
    size_t list_capacity;
};

void pack_parameters_fini(struct pack_parameter_sets *sets);

/* Read the rest of a line `parameters LANGUAGE`, which begins the set of ${provider}; ${name} must
 * outlive it. */
bool pack_parameters_begin(struct pack_parameter_sets *sets, struct pack_line *in,
    const struct guid *provider, struct span name);

/* Read the rest of a line `parameter NUMBER "text"`, which adds to the set. */
bool pack_parameters_add(struct pack_parameter_sets *sets, struct pack_line *in);

/* The set is complete. */
bool pack_parameters_end(struct pack_parameter_sets *sets, struct pack_line *in);

/* The texts of a provider, by its GUID or its name; NULL: there are none. */
const struct schema_parameters *pack_parameters_find(
    const struct pack_parameter_sets *sets, const struct guid *provider, struct span name);

#endif
