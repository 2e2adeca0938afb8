#ifndef ETWSHIP_PIPELINE_SPOOL_SETUP_H
#define ETWSHIP_PIPELINE_SPOOL_SETUP_H

#include "pipeline/assembly/pipeline.h"

/* The spool that a pipeline's settings ask for, and what a durable one asks of the pipeline.
 * Embedded, zero at first; it outlives the spool. */
struct spool_setup {
    struct pipeline_settings settings;
    struct block_pool *pool; /* borrowed; set before the spool is made, NULL: none */
    struct ledger *ledger;   /* borrowed; these two are set before the spool is started */
    struct losses *losses;   /* borrowed */
    const char **sessions;   /* names, the agent itself last: "" */
    bool *replayable;        /* by session, as is the next */
    bool *comes_again;
    struct spool_durable_stream *streams;
};

/* NULL with ${err} set on failure; then fini is needed, too. */
struct spool *spool_setup_make(
    struct spool_setup *setup, const struct pipeline_settings *settings, struct error *err);

void spool_setup_fini(struct spool_setup *setup); /* zeroed is fine */

#endif
