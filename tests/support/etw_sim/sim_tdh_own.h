#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_TDH_OWN_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_TDH_OWN_H

#include "support/etw_sim/sim_tdh.h"

#include "base/buf.h"
#include "event/model/schema.h"
#include "platform/plat_thread.h"
#include "support/tei.h"

/* What the parts of the simulated TDH share. */

enum { SIM_TDH_MAX_ANSWER = 16 * 1024 * 1024 };

/* An installed provider; `schemas` are its events, by id and version. */
struct sim_tdh_provider {
    struct guid guid;
    struct span name;
    bool is_mof;
    const struct event_schema **schemas;
    size_t schema_count;
};

/* What the functions answer from, or NULL. */
struct sim_tdh *sim_tdh_current(void);

/*
 * Begin to answer: holds the lock. NULL (and no lock) if there is nothing to answer from. Every
 * sim_tdh_enter that is not NULL is ended by sim_tdh_leave.
 */
struct sim_tdh *sim_tdh_enter(void);
void sim_tdh_leave(struct sim_tdh *tdh);

/* The installed providers, by name; valid until sim_tdh_leave. False without memory. */
bool sim_tdh_providers(
    struct sim_tdh *tdh, const struct sim_tdh_provider **ret_list, size_t *ret_count);

/* One of them, or NULL. */
const struct sim_tdh_provider *sim_tdh_provider(struct sim_tdh *tdh, const struct guid *guid);

/* An event of a consumer as the schema sources know it. */
struct sim_tdh_event {
    struct event_record record;
    struct extended_item items[RECORD_MAX_EXTENDED];
};

void sim_tdh_event_of(const struct etw_event_record *from, struct sim_tdh_event *ret_event);

/*
 * The schema that fits the event best, and how its TRACE_EVENT_INFO is written for it. Both are
 * valid until sim_tdh_leave. False if there is none that says more than a name.
 */
bool sim_tdh_find(struct sim_tdh *tdh, const struct event_record *record,
    const struct event_schema **ret_schema, struct tei_options *ret_options);

/* The whole TRACE_EVENT_INFO of that event: this begins and ends the answer itself. 0, or why there
 * is none; ${info}, made by the caller, may have failed then. */
uint32_t sim_tdh_describe(
    const struct etw_event_record *record, struct sim_tdh_event *ret_event, struct buf *info);

/* Give ${made} to a caller with room for ${*bytes}: 0, or 122 and the size. */
uint32_t sim_tdh_give(const struct buf *made, void *ret_data, uint32_t *bytes);

/* The bytes of a NUL-terminated UTF-16 text, without the NUL. */
struct span sim_tdh_utf16(const etw_char *text);

/* It as UTF-8 in ${out}, which is initialised; false without memory. */
bool sim_tdh_utf8(const etw_char *text, struct buf *out);

#endif
