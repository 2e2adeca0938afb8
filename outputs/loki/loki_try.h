#ifndef ETWSHIP_OUTPUTS_LOKI_TRY_H
#define ETWSHIP_OUTPUTS_LOKI_TRY_H

#include "outputs/output.h"

/* output_ops.examine */
bool loki_try_run(const void *settings, const struct output_talk *talk);

#endif
