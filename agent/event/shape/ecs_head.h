#ifndef ETWSHIP_EVENT_ECS_HEAD_H
#define ETWSHIP_EVENT_ECS_HEAD_H

#include "event/write/event_writer_state.h"

/*
 * The parts of an ecs event that are constant per event type and per trace, for event_head_get_as
 * and event_trace_get_as. Parts of a head:
 *
 *     ","event":{"code":"3008",…,"sequence":   at[0]
 *     "level":"information"                    at[1]; empty where there is no level
 *     ,"channel":"…",…,"version":0             members of winlog
 *
 * Parts of the text of a trace:
 *
 *     start   ,"session":"…"
 *     file    "file":{"path":"…"}
 *     end     ,"host":{…},"data_stream":{…},"ecs":{…}, the writer's tail, `}` and a newline
 */
extern const struct event_head_shape ecs_head_shape;
void ecs_head_trace(struct event_writer *writer, const struct trace_info *trace, struct buf *out,
    size_t *ret_file, size_t *ret_end);

/* The head of an event of the agent itself. */
void ecs_head_agent(struct event_writer *writer, const char *action, unsigned code, uint8_t level,
    struct buf *out, struct event_head_cuts *ret_cuts);

/* `,"flags":["64_BIT_HEADER",…],"flags_raw":"0x240"`. Valid until the next call. */
struct span ecs_head_flags(struct event_writer *writer, uint16_t flags);

#endif
