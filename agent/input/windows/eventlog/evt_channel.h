#ifndef ETWSHIP_INPUT_WINDOWS_EVT_CHANNEL_H
#define ETWSHIP_INPUT_WINDOWS_EVT_CHANNEL_H

#include "evt/evt_api.h"
#include "input/live/evt_rule.h"

/*
 * One channel of a session: its subscription, and the detection of missing records. Record numbers
 * of a channel are consecutive, but a query skips some, so a hole in the numbers proves no loss.
 * Two things do: Windows reports that the results are stale, or the log no longer has the record
 * that was read last.
 */
enum {
    EVT_CHANNEL_NAME_BYTES = 1024,
    EVT_CHANNEL_NAME_CHARS = 512,
    EVT_CHANNEL_BATCH = 64, /* events of one EvtNext, at most */
};

/* Where reading a channel without a bookmark begins. */
enum evt_channel_start { EVT_CHANNEL_OLDEST, EVT_CHANNEL_NOW };

struct evt_channel_loss {
    const char
        *reason;    /* overwritten log_made_anew bookmark_lost stale; NULL: nothing is missing */
    uint64_t count; /* 0: unknown */
    uint64_t last_missing; /* number of the last missing record; 0: unknown */
};

struct evt_channel {
    const struct evt_rule *rule;
    char name[EVT_CHANNEL_NAME_BYTES];
    evt_char wide[EVT_CHANNEL_NAME_CHARS];
    evt_handle results; /* the subscription; NULL: none */
    uint64_t last;      /* number of the last record read; 0: none */
    uint64_t last_time; /* its FILETIME */
    uint64_t examined;  /* the query selects no record after `last` up to this one; 0: unknown */
    uint64_t newest;    /* record in the log at the last evt_channel_examine; 0: none */
    uint32_t batch;     /* size of the next EvtNext */
    size_t mark;        /* for the owner: its number in evt_marks.h */
    bool is_found;      /* by a pattern: the configuration does not name it */
    bool is_late;       /* it appeared while the session ran: all of its records are new */
    bool is_stale;      /* Windows reported missing records; not passed on yet */
    bool is_told;       /* the failure to read it was logged */
    /* the log was empty: the next record shows whether records before it are missing */
    bool looks_at_first;
    uint64_t retry_ns; /* plat_monotonic_ns() of the next try */
    unsigned failures;
};

/* ${name}: UTF-8. False: it is too long. */
bool evt_channel_init(struct evt_channel *channel, const struct evt_rule *rule, struct span name);
void evt_channel_close(struct evt_channel *channel);

/*
 * Subscribe after record `last`. If that is 0, begin at ${start}; EVT_CHANNEL_NOW sets `last` to
 * the newest record. ${is_stale}: Windows reported missing records. ${ret_loss} is always set.
 * False with ${err} set: the channel cannot be read now.
 */
bool evt_channel_subscribe(struct evt_channel *channel, evt_handle signal,
    enum evt_channel_start start, bool is_stale, struct evt_channel_loss *ret_loss,
    struct error *err);

/* Call before record ${id} is read. If the log was empty at the subscription, set ${ret_loss} to
 * the records that are missing before ${id}. */
void evt_channel_look_at_first(
    struct evt_channel *channel, uint64_t id, struct evt_channel_loss *ret_loss);

/*
 * Call when evt_channel_next had nothing. With a query, the records that the log had at the
 * previous call, but that were not read, were not selected: a record that is overwritten later is
 * no loss then. True: evt_channel_position has moved.
 */
bool evt_channel_examine(struct evt_channel *channel);

/* Number of the record up to which the channel is read: the bookmark. 0: none. */
uint64_t evt_channel_position(const struct evt_channel *channel);

enum evt_channel_step {
    EVT_CHANNEL_EVENTS,
    EVT_CHANNEL_NOTHING, /* no event now */
    EVT_CHANNEL_STALE,   /* records are missing, and it is closed: subscribe again */
    EVT_CHANNEL_SMALLER, /* it is closed, and will ask for fewer events at once: subscribe again */
    EVT_CHANNEL_FAILED,  /* it is closed, with ${err} set: subscribe again later */
};

/* The next events; the caller closes each. */
enum evt_channel_step evt_channel_next(struct evt_channel *channel,
    evt_handle ret_events[EVT_CHANNEL_BATCH], uint32_t *ret_count, struct error *err);

#endif
