#ifndef ETWSHIP_EVENT_EVENT_EDITS_H
#define ETWSHIP_EVENT_EVENT_EDITS_H

#include "event/write/event_writer.h"

/*
 * What rules have changed of an event beside its fields and its record, which event_editor.h replaces:
 * whoever writes the event writes this. Borrowed from the editor, as long as the event.
 */
enum { EVENT_EDITS_MAX_MARKS = 16 };

struct event_edits {
    const struct event_agent *agent; /* with the labels and tags of this event */

    /* What its host, labels and tags depend on, for caches: the trace of the record as it came, the
     * agent, and the edits of them in order. More than fit: it is not worth caching. */
    const struct trace_info *trace;
    const struct event_agent *agent_before;
    const void *marks[EVENT_EDITS_MAX_MARKS];
    size_t mark_count; /* 0: host, labels and tags are as they were */

    /* Fields of the process, and file.path, that rules removed, and hashed, whether they are known or not:
     * bits of event_edits_process_bit(). What is mapped to the same field from the payload goes, too. */
    uint32_t process_removed;
    uint32_t process_hashed;

    bool has_message;    /* it is … */
    struct span message; /* … this, UTF-8; empty: it has none */
};

/* Of a field from PATH_PROCESS_START_KEY to PATH_FILE_PATH (event_path_internal.h), fewer than 32. */
static inline uint32_t event_edits_process_bit(uint8_t field)
{
    return UINT32_C(1) << (field % 32);
}

/* Whose labels and tags an event has: ${agent}'s, unless rules changed them. */
static inline const struct event_agent *event_edits_agent(
    const struct event *event, const struct event_agent *agent)
{
    return event->edits && event->edits->mark_count ? event->edits->agent : agent;
}

#endif
