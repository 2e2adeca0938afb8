#ifndef ETWSHIP_PIPELINE_PIPELINE_TABLES_H
#define ETWSHIP_PIPELINE_PIPELINE_TABLES_H

#include "pipeline/assembly/pipeline.h"

/*
 * Sessions, streams and outputs as the parts of a pipeline see them: built once, then only read.
 * The agent itself is one more session, after the others, in every stream.
 */
struct pipeline_tables {
    size_t session_count; /* with the agent itself */
    size_t output_count;
    struct worker_stream *worker_streams;
    struct worker_session *worker_sessions;
    struct sealer_stream *sealer_streams;
    struct sealer_session *sealer_sessions;
    size_t *stream_outputs;             /* by stream: its outputs, side by side */
    size_t *all_streams;                /* of the agent itself */
    uint64_t *resume;                   /* [session * output_count + output] */
    uint64_t *output_resume;            /* [output * session_count + session] */
    struct delivered *output_delivered; /* the same way: outlet_settings.delivered */
    uint64_t *stream_resume; /* [session * stream_count + piece]: what all of its outputs have … */
    uint64_t *stream_resume_max; /* … and what one of them has */
    bool *repeats;               /* by session: an earlier run may have delivered some of it */
};

/* Room for all of it. False: out of memory, and fini is allowed. */
bool pipeline_tables_init(
    struct pipeline_tables *tables, const struct pipeline_settings *settings, struct error *err);
void pipeline_tables_fini(struct pipeline_tables *tables); /* zeroed is fine */

/* Build the tables from ${settings} and, if it keeps batches on disk, ${spool}. */
void pipeline_tables_fill(struct pipeline_tables *tables, const struct pipeline_settings *settings,
    const struct spool *spool);

/* The sequence of ${session} up to which ${output} needs no events. */
static inline uint64_t pipeline_tables_resume(
    const struct pipeline_tables *tables, size_t session, size_t output)
{
    return tables->resume[session * tables->output_count + output];
}

#endif
