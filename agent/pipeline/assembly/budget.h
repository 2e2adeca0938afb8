#ifndef ETWSHIP_PIPELINE_BUDGET_H
#define ETWSHIP_PIPELINE_BUDGET_H

#include "pipeline/assembly/pipeline.h"

/* How agent.memory is shared out. */

/* A table of processes, one of ${tables}, where agent.memory is ${memory_bytes}. */
size_t budget_process_bytes(size_t memory_bytes, size_t tables);

/* The table of file names that each table of processes has beside it. */
size_t budget_file_bytes(size_t memory_bytes, size_t tables);

/* Memory that one of ${caches} definition caches may use for definitions from events. */
size_t budget_learned_bytes(size_t memory_bytes, size_t caches);

/* Memory left for definitions from files, after the needs of these settings and room for
 * batches. */
size_t budget_definition_bytes(const struct pipeline_settings *settings);

/* True if a session is live: it needs room for bursts. Also true while sessions are unknown. */
bool budget_has_live(const struct pipeline_settings *settings);

/* Slabs before decoding. */
size_t budget_queue_bytes(const struct pipeline_settings *s);

/* One slab of records. */
size_t budget_slab_bytes(const struct pipeline_settings *s);

/* All that lies in blocks of the pool: slabs, what workers make of them, batches. */
size_t budget_block_bytes(const struct pipeline_settings *s);

/* Batches that wait for their outputs: the rest, and an eighth at the least. */
size_t budget_spool_bytes(const struct pipeline_settings *s);

/* The least `memory_bytes`, in whole MB, that covers what these settings need in any case and
 * leaves room for batches to wait. With less an eighth of it is used for them all the same, so that
 * the process takes more than it was given. Of the settings only numbers and sizes count. */
size_t budget_memory_needed(const struct pipeline_settings *settings);

#endif
