#ifndef ETWSHIP_OUTPUTS_REGISTRY_H
#define ETWSHIP_OUTPUTS_REGISTRY_H

#include "outputs/output.h"

/* The outputs of this build, in the order of outputs.def. */

/* All of them; ${ret_count} gets their number. */
const struct output_ops *const *registry_outputs(size_t *ret_count);

/* The output whose `type` is ${name}, or NULL. */
const struct output_ops *registry_find_output(struct span name);

#endif
