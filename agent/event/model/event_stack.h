#ifndef ETWSHIP_EVENT_EVENT_STACK_H
#define ETWSHIP_EVENT_EVENT_STACK_H

#include "base/bytes.h"
#include "event/model/event.h"

/* The frames of an event's call stack, the innermost first: those of its own items
 * (EVENT_HEADER_EXT_TYPE_STACK_TRACE32 and 64: a match id, then addresses), then the joined
 * ones. */
struct event_frames {
    const struct event *event;
    size_t item; /* the next frame stands in this one … */
    size_t at;   /* … so many bytes after the match id */
    uint32_t joined;
};

static inline bool event_stack_is_item(uint16_t type)
{
    return type == EXTENDED_STACK_TRACE32 || type == EXTENDED_STACK_TRACE64;
}

/* May be empty even so. */
static inline bool event_stack_is_there(const struct event *event)
{
    for (size_t i = 0; i < event->record->extended_count; i++) {
        if (event_stack_is_item(event->record->extended[i].type)) {
            return true;
        }
    }
    return event->stack_count > 0;
}

/* ${frames} begins with its event alone. False: there are no more. */
static inline bool event_stack_next(struct event_frames *frames, uint64_t *ret_frame)
{
    enum { MATCH_ID_BYTES = 8 };
    const struct event_record *record = frames->event->record;
    for (; frames->item < record->extended_count; frames->item++, frames->at = 0) {
        const struct extended_item *item = &record->extended[frames->item];
        size_t width = item->type == EXTENDED_STACK_TRACE32 ? 4 : 8;
        size_t at = MATCH_ID_BYTES + frames->at;
        if (event_stack_is_item(item->type) && at + width <= item->data.size) {
            *ret_frame = width == 4 ? load_le32(item->data.data + at)
                                    : load_le64(item->data.data + at);
            frames->at += width;
            return true;
        }
    }
    if (frames->joined == frames->event->stack_count) {
        return false;
    }
    *ret_frame = frames->event->stack[frames->joined++];
    return true;
}

#endif
