#ifndef ETWSHIP_OUTPUTS_OUTPUTS_H
#define ETWSHIP_OUTPUTS_OUTPUTS_H

#include "outputs/output.h"

/* Every output of this build as output_<id>, for the registry and for tests of one output. Other
 * code uses the registry, so that a new line in outputs.def rebuilds the registry only. */
#define OUTPUT(id) extern const struct output_ops output_##id;
#include "outputs/outputs.def"
#undef OUTPUT

#endif
