#ifndef ETWSHIP_INPUT_WINDOWS_ETW_CONSUME_H
#define ETWSHIP_INPUT_WINDOWS_ETW_CONSUME_H

#include "input/input.h"
#include "input/message_numbers.h"
#include "input/windows/etw_loss.h"
#include "input/windows/etw_trace.h"

/*
 * A connection to a real-time session: OpenTrace, ProcessTrace on a thread of its own, CloseTrace
 * (opentracew, processtrace, closetrace, opentracefromrealtimelogger on learn.microsoft.com). Events
 * go to the sink on that thread, when it is its turn (etw_turn.h).
 */
struct etw_consume;

struct etw_consume_settings {
    const char *session; /* as ETW knows it */
    bool raw;            /* buffers, put into one order of time here (etw_order.h) */
    uint32_t hold_ms;    /* raw: how long after it was written a record may come */
    bool kernel; /* events of the kernel may come, whose stacks are events of their own behind
                         them */
    const struct input_sink *sink;   /* copied */
    struct message_numbers *numbers; /* of its messages; noted in the turn of whoever gives them */

    /* On the consumer's thread: RT_LostEvent came, in its turn; a raw buffer made no sense (static
     * text); ProcessTrace has returned. */
    void (*lost)(void *self, enum etw_loss_mark mark, uint64_t time);
    void (*problem)(void *self, const char *what);
    void (*ended)(void *self);
    void *self;
};

/* Connect; nothing comes before etw_consume_start. NULL: ERR_IO, ERR_UNSUPPORTED, ERR_MEMORY. */
struct etw_consume *etw_consume_open(
    const struct etw_consume_settings *settings, struct error *err);

/* Begin to read. */
bool etw_consume_start(struct etw_consume *consume, struct error *err);

/* End the connection: the session goes on, and keeps what was not read yet. Any thread. */
void etw_consume_close(struct etw_consume *consume);

/* Has ProcessTrace returned before plat_monotonic_ns() is ${deadline_ns}? ${ret_code} (NULL is fine):
 * with which Win32 code. */
bool etw_consume_wait(struct etw_consume *consume, uint64_t deadline_ns, uint32_t *ret_code);

/* Has ETW handed anything over before plat_monotonic_ns() is ${deadline_ns}? Only then is it known that
 * ProcessTrace has come to the session: of one that ends earlier it reads nothing. False at once when
 * it has returned. */
bool etw_consume_wait_begun(struct etw_consume *consume, uint64_t deadline_ns);

/* Does the sink want no more? */
bool etw_consume_is_refused(const struct etw_consume *consume);

/* The time of the newest record given so far, FILETIME, 0: none. Any thread. */
uint64_t etw_consume_newest(const struct etw_consume *consume);

/* How old the newest record of a buffer was when it was given, at most since the last call. Any thread. */
uint64_t etw_consume_take_lag_ms(struct etw_consume *consume);

/* How often the counter that stamps come from counts in a second, as Windows said; 0: it did not. */
uint64_t etw_consume_frequency(const struct etw_consume *consume);

/* The turn at the sink, for the session's thread: see etw_turn.h. */
bool etw_consume_ask(struct etw_consume *consume, uint64_t deadline_ns);
void etw_consume_give(struct etw_consume *consume);

/* In the turn of the session's thread: give what is held and has waited long enough; to be called a
 * few times in the second where `raw`. */
void etw_consume_give_held(struct etw_consume *consume);

/* Records that came after younger ones, once ProcessTrace has returned. */
uint64_t etw_consume_late(const struct etw_consume *consume);

/* In the turn of the session's thread: where its clock has drifted away from the system's time, tell
 * the times of later records anew. */
void etw_consume_adjust(struct etw_consume *consume);

/* ETW does not let go of it: from here on it gets no turn and tells nothing. Waits for the sink,
 * should it be there. */
void etw_consume_abandon(struct etw_consume *consume);

/* What its newest records refer to: lives as long as the connection. */
const struct trace_info *etw_consume_trace(const struct etw_consume *consume);

/* Free it once ProcessTrace has returned. What was abandoned, and still runs, is kept for
 * etw_consume_reap. NULL is fine. */
void etw_consume_destroy(struct etw_consume *consume);

/* Free what was kept and has ended since; true if nothing is left. One thread at a time waits no
 * longer than until plat_monotonic_ns() is ${deadline_ns}. */
bool etw_consume_reap(uint64_t deadline_ns);

#endif
