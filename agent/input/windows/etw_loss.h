#ifndef ETWSHIP_INPUT_WINDOWS_ETW_LOSS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_LOSS_H

#include "etw/etw_control.h"
#include "event/event.h"

/*
 * What ETW lost, from the counters of a session: they are 32 bits wide, only grow and wrap
 * (controltrace on learn.microsoft.com). RT_LostEvent says where and when something is missing, but
 * not how much: while the counters can be read, it only narrows the time. Pure.
 */
enum { ETW_LOSS_GAPS = 4 };

struct etw_loss {
    bool counts; /* the counters below are known */
    uint32_t events;
    uint32_t log_buffers;
    uint32_t real_time_buffers;
    uint64_t since;    /* FILETIME of the last look */
    uint64_t marked;   /* the latest RT_LostEvent since then; 0: none */
    uint32_t marks[3]; /* how many, of events, buffers, files */
};

/* What is lost from here on; ${state} NULL: its counters cannot be read. */
void etw_loss_begin(struct etw_loss *loss, const struct etw_session_state *state, uint64_t now);

enum etw_loss_mark { ETW_LOSS_MARK_EVENT, ETW_LOSS_MARK_BUFFER, ETW_LOSS_MARK_FILE };

/* RT_LostEvent came ${count} times, the last time at ${time}. */
void etw_loss_note(struct etw_loss *loss, enum etw_loss_mark mark, uint32_t count, uint64_t time);

/*
 * A look at the counters (NULL: they cannot be read now): what was lost since the last one, into
 * ${ret_gaps}; how many there are. Without counters each mark is a gap that is not exact.
 */
size_t etw_loss_look(struct etw_loss *loss, const struct etw_session_state *state, uint64_t now,
    const struct trace_info *trace, struct gap ret_gaps[ETW_LOSS_GAPS]);

#endif
