#ifndef ETWSHIP_OUTPUTS_OTLP_TRY_H
#define ETWSHIP_OUTPUTS_OTLP_TRY_H

#include "outputs/output.h"

/* output_ops.examine */
bool otlp_try_run(const void *settings, const struct output_talk *talk);

#endif
