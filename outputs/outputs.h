#ifndef ETWSHIP_OUTPUTS_OUTPUTS_H
#define ETWSHIP_OUTPUTS_OUTPUTS_H

#include "outputs/output.h"

/* Every output of this build by its name, output_<id>: for the registry, and for tests of one output.
 * Others ask the registry, so that a line in outputs.def rebuilds the registry alone. */
#define OUTPUT(id) extern const struct output_ops output_##id;
#include "outputs/outputs.def"
#undef OUTPUT

#endif
