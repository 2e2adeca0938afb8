#ifndef ETWSHIP_PIPELINE_GUARD_SLAB_H
#define ETWSHIP_PIPELINE_GUARD_SLAB_H

#include "pipeline/slab/slab.h"

/* A SLAB_GUARD with a copy of ${report} and its texts. It has no number, as it was not seen at the
 * source. NULL: no memory. */
struct slab *guard_slab_create(uint32_t session, const struct guard_report *report);

#endif
