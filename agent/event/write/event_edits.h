#ifndef ETWSHIP_EVENT_EVENT_EDITS_H
#define ETWSHIP_EVENT_EVENT_EDITS_H

#include "event/write/event_writer.h"

/*
 * Changes by rules outside the event's fields and record (event_editor.h replaces those); the
 * writer of the event applies them. Borrowed from the editor, as long as the event.
 */
enum { EVENT_EDITS_MAX_MARKS = 16 };

struct event_edits {
    const struct event_agent *agent; /* with the labels and tags of this event */

    /* Cache key of host, labels and tags: the trace of the original record, the agent, and their
     * edits in order. More edits than fit are not cached. */
    const struct trace_info *trace;
    const struct event_agent *agent_before;
    const void *marks[EVENT_EDITS_MAX_MARKS];
    size_t mark_count; /* 0: host, labels and tags are unchanged */

    /* Fields of the process, and file.path, that rules removed or hashed, known or not: bits of
     * event_edits_process_bit(). Payload values mapped to the same field are removed too. */
    uint32_t process_removed;
    uint32_t process_hashed;

    bool has_message;    /* file.path is replaced by … */
    struct span message; /* … this, UTF-8; empty: it has none */
};

/* Of a field from PATH_PROCESS_START_KEY to PATH_FILE_PATH (event_path_ids.h), fewer than 32. */
static inline uint32_t event_edits_process_bit(uint8_t field)
{
    return UINT32_C(1) << (field % 32);
}

/* The source of an event's labels and tags: ${agent}, unless rules changed them. */
static inline const struct event_agent *event_edits_agent(
    const struct event *event, const struct event_agent *agent)
{
    return event->edits && event->edits->mark_count ? event->edits->agent : agent;
}

#endif
