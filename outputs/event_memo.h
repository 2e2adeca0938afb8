#ifndef ETWSHIP_OUTPUTS_EVENT_MEMO_H
#define ETWSHIP_OUTPUTS_EVENT_MEMO_H

#include "base/buf.h"

enum { EVENT_MEMO_SECOND = 20 };

/*
 * Remembers values that consecutive finished events mostly share, so that an output need not parse
 * each event: the second of their time, and their end, from `host` on. For JSON that a format has
 * written. One thread at a time.
 */
struct event_memo {
    uint8_t second[EVENT_MEMO_SECOND]; /* "2026-11-21T09:30:00."; of zeros: none */
    uint64_t second_filetime;
    struct buf tail; /* end of an event; empty: unknown */
    struct buf name;
};

void event_memo_init(struct event_memo *memo);
void event_memo_fini(struct event_memo *memo);

/* The time ${text} as rfc3339_parse (base/text/rfc3339.h) reads it. */
bool event_memo_time(struct event_memo *memo, struct span text, uint64_t *ret_filetime);

/* True if ${record} ends like the record passed to event_memo_keep_host: then it comes from that
 * host. ${ret_name}: the kept name, valid until the next one is kept. */
bool event_memo_host(const struct event_memo *memo, struct span record, struct span *ret_name);

/* Keep the end of ${record}. ${host}: its member `host` as written there; nothing is kept if that
 * is empty, or far from the end. ${name}: the name for event_memo_host; copied. */
void event_memo_keep_host(
    struct event_memo *memo, struct span record, struct span host, struct span name);

#endif
