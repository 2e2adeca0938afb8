#ifndef ETWSHIP_INPUT_WINDOWS_ETW_LOSS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_LOSS_H

#include "etw/session/etw_control.h"
#include "event/model/event.h"

/*
 * Computes ETW's losses from the counters of a session, which have 32 bits, only grow and wrap
 * (controltrace on learn.microsoft.com). RT_LostEvent says where and when something is missing, but
 * not how much: while the counters are readable, it only narrows the time. Pure.
 */
enum { ETW_LOSS_GAPS = 4 };

struct etw_loss {
    bool counts; /* the following counters are known */
    uint32_t events;
    uint32_t log_buffers;
    uint32_t real_time_buffers;
    uint64_t since;    /* FILETIME of the last check */
    uint64_t marked;   /* latest RT_LostEvent since then; 0: none */
    uint32_t marks[3]; /* number of marks for events, buffers and files */
};

/* Count losses from now on; ${state} NULL: the counters are unreadable. */
void etw_loss_begin(struct etw_loss *loss, const struct etw_session_state *state, uint64_t now);

enum etw_loss_mark { ETW_LOSS_MARK_EVENT, ETW_LOSS_MARK_BUFFER, ETW_LOSS_MARK_FILE };

/* RT_LostEvent arrived ${count} times, last at ${time}. */
void etw_loss_note(struct etw_loss *loss, enum etw_loss_mark mark, uint32_t count, uint64_t time);

/*
 * Check the counters (NULL: unreadable now) and store what was lost since the last check in
 * ${ret_gaps}. Returns the number of gaps. Without counters each mark becomes an inexact gap.
 */
size_t etw_loss_look(struct etw_loss *loss, const struct etw_session_state *state, uint64_t now,
    const struct trace_info *trace, struct gap ret_gaps[ETW_LOSS_GAPS]);

#endif
