#ifndef ETWSHIP_INPUT_WINDOWS_EVT_CHANNEL_H
#define ETWSHIP_INPUT_WINDOWS_EVT_CHANNEL_H

#include "evt/evt_api.h"
#include "input/evt_rule.h"

/*
 * One channel that is read: its subscription, and what is known to be missing of it. Record numbers go up by one
 * in a channel, but a query leaves numbers out, so holes in what comes mean nothing. What does: Windows says that
 * the results are stale, or the record behind which to go on is not in the log any more.
 */
enum {
    EVT_CHANNEL_NAME_BYTES = 1024,
    EVT_CHANNEL_NAME_CHARS = 512,
    EVT_CHANNEL_BATCH = 64, /* events that are taken at once */
};

/* Where a channel without a bookmark begins. */
enum evt_channel_start { EVT_CHANNEL_OLDEST, EVT_CHANNEL_NOW };

struct evt_channel_loss {
    const char
        *reason;     /* overwritten log_made_anew bookmark_lost stale; NULL: nothing is missing */
    uint64_t count;  /* 0: nobody knows */
    uint64_t behind; /* the last record that is missing; 0: unknown */
};

struct evt_channel {
    const struct evt_rule *rule;
    char name[EVT_CHANNEL_NAME_BYTES];
    evt_char wide[EVT_CHANNEL_NAME_CHARS];
    evt_handle results;  /* NULL: it is not subscribed to */
    uint64_t last;       /* the record that was read last, 0: none */
    uint64_t last_time;  /* its FILETIME */
    uint32_t batch;      /* events that are asked for at once */
    size_t mark;         /* the owner's: its number in evt_marks.h */
    bool is_found;       /* by a pattern: nobody asked for this one */
    bool is_late;        /* it came up while the session ran: all of it is new */
    bool is_stale;       /* Windows said that something is missing, and it is to be told */
    bool is_told;        /* that it cannot be read */
    bool looks_at_first; /* the log was empty: the first record tells whether there were others */
    uint64_t retry_ns;   /* plat_monotonic_ns() of the next try */
    unsigned failures;
};

/* ${name}: UTF-8. False: it is too long. */
bool evt_channel_init(struct evt_channel *channel, const struct evt_rule *rule, struct span name);
void evt_channel_close(struct evt_channel *channel);

/*
 * Subscribe behind record `last`, or where ${start} says if that is 0; then EVT_CHANNEL_NOW sets `last` to the
 * newest record. ${is_stale}: Windows said that something is missing. ${ret_loss} is set in any case. False
 * with ${err} set: it cannot be read now.
 */
bool evt_channel_subscribe(struct evt_channel *channel, evt_handle signal,
    enum evt_channel_start start, bool is_stale, struct evt_channel_loss *ret_loss,
    struct error *err);

/* Before record ${id}, the next one: where the log had been empty, it tells whether there were others before it. */
void evt_channel_look_at_first(
    struct evt_channel *channel, uint64_t id, struct evt_channel_loss *ret_loss);

enum evt_channel_step {
    EVT_CHANNEL_EVENTS,
    EVT_CHANNEL_NOTHING, /* for the moment */
    EVT_CHANNEL_STALE,   /* records are missing, and it is closed: subscribe again */
    EVT_CHANNEL_SMALLER, /* it is closed, and will ask for fewer events at once: subscribe again */
    EVT_CHANNEL_FAILED,  /* it is closed, with ${err} set: subscribe again later */
};

/* The next events; each is the caller's to close. */
enum evt_channel_step evt_channel_next(struct evt_channel *channel,
    evt_handle ret_events[EVT_CHANNEL_BATCH], uint32_t *ret_count, struct error *err);

#endif
