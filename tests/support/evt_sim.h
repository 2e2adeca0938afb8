#ifndef ETWSHIP_TESTS_SUPPORT_EVT_SIM_H
#define ETWSHIP_TESTS_SUPPORT_EVT_SIM_H

#include <stddef.h>

#include "evt/evt_api.h"

/*
 * A simulated Windows Event Log behind the documented functions (Windows Event Log reference on
 * learn.microsoft.com). It does what the documents say, not what is convenient; where they leave a
 * choice it takes the one that is harder on callers:
 *
 *   EvtSubscribe  a strict bookmark whose record is not in the log is ERROR_NOT_FOUND;
 *                 without `strict` results begin at the oldest record. More than 22 terms, or what
 *                 this part of XPath does not have, is ERROR_EVT_INVALID_QUERY.
 *   EvtNext       records that left the log before they were read make the results of a strict
 *                 subscription stale, for ever: ERROR_EVT_QUERY_RESULT_STALE. The signal resets
 *                 itself, and is raised by new records alone.
 *   EvtRender     variants point into the caller's memory; without room it says how much it needs.
 *   ForwardedEvents  EventRecordID in System is that of the other machine; bookmarks have the log's
 *                    own.
 *
 * One at a time; any thread.
 */

enum { EVT_SIM_MAX_DATA = 16 };

struct evt_sim_data {
    const char *name; /* NULL: a Data without one */
    /* of evt_variant: 1 text, 8 UInt32, 10 UInt64, 13 Boolean, 20 HexInt32, 21 HexInt64 … */
    uint32_t type;
    const char *text;
    uint64_t number;
};

struct evt_sim_event {
    const char *provider;
    uint16_t id;
    uint8_t level;
    uint64_t time;         /* FILETIME; 0: now */
    const char *computer;  /* NULL: SIM-PC */
    uint64_t forwarded_id; /* EventRecordID that is not the log's own; 0: it is */
    const char *message; /* of the publisher; or RenderingInfo of what was forwarded; NULL: none */
    uint32_t message_code; /* of a failure that leaves the message all the same; 0: none */
    struct evt_sim_data data[EVT_SIM_MAX_DATA];
    size_t data_count;
};

void evt_sim_start(void);
/* How many handles were not closed. */
size_t evt_sim_end(void);
const struct evt_api *evt_sim_api(void);

/* A channel, of a type of EVT_CHANNEL_*, that has room for so many records. */
void evt_sim_channel(const char *name, uint32_t type, size_t max_records);
void evt_sim_set_denied(const char *name, bool denied);

/* Returns the number of the record. */
uint64_t evt_sim_write(const char *channel, const struct evt_sim_event *event);
void evt_sim_clear(const char *channel);    /* numbers go on */
void evt_sim_recreate(const char *channel); /* numbers begin anew */

/* Faults: the next ${times} calls of EvtNext fail with ${code}; EvtRender takes so long; the record
 * is not rendered; values differ from the XML. */
void evt_sim_fail_next(uint32_t code, unsigned times);
void evt_sim_slow_render(uint32_t ms);
void evt_sim_fail_render(uint64_t id);
void evt_sim_wrong_values(bool wrong);

/* EvtOpenPublisherMetadata fails with ${code}; 0: it does not. */
void evt_sim_refuse_publishers(uint32_t code);

/* The number of calls of EvtOpenPublisherMetadata, and the language of the last one. */
size_t evt_sim_opened_publishers(void);
uint32_t evt_sim_locale(void);

/* The number of calls of EvtSubscribe, and the query of the last one (UTF-8). */
size_t evt_sim_subscriptions(void);
const char *evt_sim_query(void);

/* The current time for queries, FILETIME; 0: the system's. */
void evt_sim_now(uint64_t now);

/* True if ${query} (UTF-8) lets the event pass. False also if the query is invalid; ${ret_valid}
 * tells. */
bool evt_sim_selects(const char *query, const struct evt_sim_event *event, bool *ret_valid);

#endif
