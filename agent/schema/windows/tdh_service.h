#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_SERVICE_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_SERVICE_H

#include "event/model/record.h"
#include "event/model/schema.h"

/*
 * Calls TDH on a thread of its own, because a call may take long (WMI, DLLs of providers) or never
 * return. Any number of threads may look up at once. Every type is requested once; misses are
 * remembered for a minute. Schemas are immutable and live as long as the service.
 *
 * A look-up waits until TDH_WAIT_MS after the first request for the type. After such a timeout,
 * look-ups do not wait until TDH answers again.
 */
struct tdh_service;

enum { TDH_WAIT_MS = 2000, TDH_MISS_MS = 60000 };

struct tdh_service_settings {
    unsigned wait_ms;                                /* 0: TDH_WAIT_MS */
    unsigned miss_ms;                                /* 0: TDH_MISS_MS */
    void (*warn)(void *warn_self, const char *text); /* called once when TDH hangs; may be NULL */
    void *warn_self;
};

/* Starts no thread yet. NULL with ${err} set if memory is short. */
struct tdh_service *tdh_service_create(
    const struct tdh_service_settings *settings, struct error *err);

/* The caller ensures that no look-up runs. A thread that hangs in TDH is abandoned after a moment,
 * with its memory. NULL is fine. */
void tdh_service_destroy(struct tdh_service *service);

/* The schema of ${record}'s type. NULL: TDH has none or, with ${*ret_late} set, has not answered
 * yet. */
const struct event_schema *tdh_service_find(
    struct tdh_service *service, const struct event_record *record, bool *ret_late);

/* Changes with every answer that was late. Never waits. */
uint64_t tdh_service_news(const struct tdh_service *service);

/* List every schema found so far. */
void tdh_service_list(struct tdh_service *service,
    void (*each)(void *self, const struct event_schema *schema), void *self);

#endif
