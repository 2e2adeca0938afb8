#ifndef ETWSHIP_PIPELINE_EDIT_STAGE_H
#define ETWSHIP_PIPELINE_EDIT_STAGE_H

#include "pipeline/work/decode_worker.h"

/*
 * Applies rules that edit to the events that a worker writes: first those of the agent's, the
 * session's and its providers' lists, for all streams; then those of an output's list, for its
 * stream. One per worker thread.
 */
struct edit_stage {
    struct event_editor *all;
    struct event_editor *one; /* on top, for a stream */
};

bool edit_stage_init(struct edit_stage *stage, struct error *err);
void edit_stage_fini(struct edit_stage *stage); /* zeroed is fine */

/* Can a list of these, or one of the streams', edit anything? */
bool edit_stage_is_needed(const struct worker_session *session, const struct gate_view *gates,
    const struct gate_view *stream_gates);

/* ${event}, decoded and accepted by ${gates}, as all streams have it. Valid until the next one. */
const struct event *edit_stage_begin(struct edit_stage *stage, const struct worker_session *session,
    struct gate_view *gates, struct filter_scratch *scratch, const struct event *event);

/* The event as the stream of ${view} has it, which accepted it; ${edited} is the result of
 * edit_stage_begin. Valid until the next one. */
const struct event *edit_stage_stream(struct edit_stage *stage, struct gate_view *view,
    struct filter_scratch *scratch, const struct event *event, const struct event *edited);

#endif
