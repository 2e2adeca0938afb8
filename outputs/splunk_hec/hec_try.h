#ifndef ETWSHIP_OUTPUTS_HEC_TRY_H
#define ETWSHIP_OUTPUTS_HEC_TRY_H

#include "outputs/output.h"

/* output_ops.examine: the connection to each collector, its health, the token, and whether it
 * acknowledges. */
bool hec_try_run(const void *settings, const struct output_talk *talk);

#endif
