#include "input/windows/etw_loss.h"

#include <string.h>

void etw_loss_begin(struct etw_loss *loss, const struct etw_session_state *state, uint64_t now)
{
    *loss = (struct etw_loss){.since = now, .counts = state != NULL};
    if (state) {
        loss->events = state->events_lost;
        loss->log_buffers = state->log_buffers_lost;
        loss->real_time_buffers = state->real_time_buffers_lost;
    }
}

void etw_loss_note(struct etw_loss *loss, enum etw_loss_mark mark, uint32_t count, uint64_t time)
{
    loss->marks[mark] += count;
    loss->marked = time > loss->marked ? time : loss->marked;
}

struct gaps {
    struct gap *list;
    size_t count;
    struct gap common;
};

static void add(struct gaps *gaps, const char *reason, const char *unit, uint32_t count, bool exact)
{
    if (count) {
        struct gap *gap = &gaps->list[gaps->count++];
        *gap = gaps->common;
        gap->reason = reason;
        gap->unit = unit;
        gap->count = count;
        gap->exact = exact;
    }
}

size_t etw_loss_look(struct etw_loss *loss, const struct etw_session_state *state, uint64_t now,
    const struct trace_info *trace, struct gap ret_gaps[ETW_LOSS_GAPS])
{
    struct gaps gaps = {.list = ret_gaps};
    now = now < loss->since ? loss->since : now; /* the clock was set back */
    bool narrows = loss->marked > loss->since && loss->marked < now;
    gaps.common = (struct gap){
        .stage = "etw", .from = loss->since, .to = narrows ? loss->marked : now, .trace = trace};
    /* unsigned differences also work across a wrap */
    if (state && loss->counts) {
        add(&gaps, "events_lost", "events", state->events_lost - loss->events, true);
        add(&gaps, "realtime_buffers_lost", "buffers",
            state->real_time_buffers_lost - loss->real_time_buffers, true);
        add(&gaps, "log_buffers_lost", "buffers", state->log_buffers_lost - loss->log_buffers,
            true);
    } else {
        add(&gaps, "rt_lost_event", "events", loss->marks[ETW_LOSS_MARK_EVENT], false);
        add(&gaps, "rt_lost_buffer", "buffers", loss->marks[ETW_LOSS_MARK_BUFFER], false);
    }
    add(&gaps, "rt_lost_file", "buffers", loss->marks[ETW_LOSS_MARK_FILE], false);
    if (state) {
        etw_loss_begin(loss, state, now);
    } else {
        loss->since = now;
        loss->marked = 0;
        memset(loss->marks, 0, sizeof(loss->marks));
    }
    return gaps.count;
}
