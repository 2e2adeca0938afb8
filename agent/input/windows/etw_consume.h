#ifndef ETWSHIP_INPUT_WINDOWS_ETW_CONSUME_H
#define ETWSHIP_INPUT_WINDOWS_ETW_CONSUME_H

#include "input/input.h"
#include "input/record/message_numbers.h"
#include "input/windows/etw_loss.h"
#include "input/windows/etw_trace.h"

/*
 * A connection to a real-time session: OpenTrace, ProcessTrace on its own thread, CloseTrace
 * (opentracew, processtrace, closetrace, opentracefromrealtimelogger on learn.microsoft.com). That
 * thread passes events to the sink when it has the turn (etw_turn.h).
 */
struct etw_consume;

struct etw_consume_settings {
    const char *session; /* name of the ETW session */
    bool raw;            /* receive buffers and sort their records here (etw_order.h) */
    uint32_t hold_ms;    /* raw: how late a record may arrive after it was written */
    bool kernel;         /* kernel events may arrive, followed by their stacks as separate events */
    const struct input_sink *sink;   /* copied */
    struct message_numbers *numbers; /* for its messages; used by the thread that has the turn */

    /* Called on the consumer's thread: RT_LostEvent arrived, during its turn; a raw buffer was
     * invalid (static text); ProcessTrace has returned. */
    void (*lost)(void *self, enum etw_loss_mark mark, uint64_t time);
    void (*problem)(void *self, const char *what);
    void (*ended)(void *self);
    void *self;
};

/* Connect; nothing arrives before etw_consume_start. NULL: ERR_IO, ERR_UNSUPPORTED, ERR_MEMORY. */
struct etw_consume *etw_consume_open(
    const struct etw_consume_settings *settings, struct error *err);

/* Start reading. */
bool etw_consume_start(struct etw_consume *consume, struct error *err);

/* End the connection: the session continues and keeps unread events. Thread-safe. */
void etw_consume_close(struct etw_consume *consume);

/* Wait for the return of ProcessTrace until plat_monotonic_ns() reaches ${deadline_ns}; false on
 * timeout. ${ret_code} (may be NULL): its Win32 code. */
bool etw_consume_wait(struct etw_consume *consume, uint64_t deadline_ns, uint32_t *ret_code);

/* Wait until ETW delivers something, which proves that ProcessTrace has reached the session; it
 * would read nothing of a session that ends earlier. False when plat_monotonic_ns() reaches
 * ${deadline_ns}, or at once if ProcessTrace has returned. */
bool etw_consume_wait_begun(struct etw_consume *consume, uint64_t deadline_ns);

/* True if the sink stopped. */
bool etw_consume_is_refused(const struct etw_consume *consume);

/* FILETIME of the newest record delivered so far; 0: none. Thread-safe. */
uint64_t etw_consume_newest(const struct etw_consume *consume);

/* Maximum age of a buffer's newest record at delivery since the last call. Thread-safe. */
uint64_t etw_consume_take_lag_ms(struct etw_consume *consume);

/* Frequency in Hz of the counter for time stamps, as reported by Windows; 0: unknown. */
uint64_t etw_consume_frequency(const struct etw_consume *consume);

/* Build of Windows, as reported by ETW; 0: unknown. */
uint32_t etw_consume_build(const struct etw_consume *consume);

/* The turn at the sink for the session's thread; see etw_turn.h. */
bool etw_consume_ask(struct etw_consume *consume, uint64_t deadline_ns);
void etw_consume_give(struct etw_consume *consume);

/* Called in the turn of the session's thread: deliver held records that waited long enough. If
 * `raw`, call it a few times per second. */
void etw_consume_give_held(struct etw_consume *consume);

/* Number of records that arrived after younger ones; valid after ProcessTrace returned. */
uint64_t etw_consume_late(const struct etw_consume *consume);

/* Called in the turn of the session's thread: if its clock has drifted from the system time,
 * recompute the times of later records. */
void etw_consume_adjust(struct etw_consume *consume);

/* Give up a connection that ETW does not release: it gets no turn and reports nothing any more.
 * Waits for a call of the sink to return. */
void etw_consume_abandon(struct etw_consume *consume);

/* What its newest records refer to; lives as long as the connection. */
const struct trace_info *etw_consume_trace(const struct etw_consume *consume);

/* Free it after ProcessTrace returned. An abandoned connection that still runs is kept for
 * etw_consume_reap. NULL is fine. */
void etw_consume_destroy(struct etw_consume *consume);

/* Free kept connections that have ended; true if none is left. Waits until plat_monotonic_ns()
 * reaches ${deadline_ns}. One thread at a time. */
bool etw_consume_reap(uint64_t deadline_ns);

#endif
