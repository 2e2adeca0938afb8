#ifndef ETWSHIP_PIPELINE_BUDGET_H
#define ETWSHIP_PIPELINE_BUDGET_H

#include "pipeline/pipeline.h"

/* How agent.memory is shared out. The settings are complete. */

/* Slabs before decoding. */
size_t budget_queue_bytes(const struct pipeline_settings *s);

/* Blocks that are kept for their next use. */
size_t budget_kept_bytes(const struct pipeline_settings *s);

/* Batches that wait for their outputs: the rest, and an eighth at the least. */
size_t budget_spool_bytes(const struct pipeline_settings *s);

#endif
