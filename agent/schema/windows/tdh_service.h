#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_SERVICE_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_SERVICE_H

#include "event/record.h"
#include "event/schema.h"

/*
 * TDH asked on a thread of its own, since it may take long (WMI, DLLs of providers) or never come
 * back. Any number of threads may look things up at the same time; every type is asked for once, and
 * what is not known is remembered for a minute. Schemas are immutable and live as long as the
 * service.
 *
 * A look-up waits for the answer, until TDH_WAIT_MS after the type was first asked for. Once it has
 * come to that, no look-up waits any more until TDH answers again.
 */
struct tdh_service;

enum { TDH_WAIT_MS = 2000, TDH_MISS_MS = 60000 };

struct tdh_service_settings {
    unsigned wait_ms;                                /* 0: TDH_WAIT_MS */
    unsigned miss_ms;                                /* 0: TDH_MISS_MS */
    void (*warn)(void *warn_self, const char *text); /* once, when TDH hangs; may be NULL */
    void *warn_self;
};

/* Starts no thread yet. NULL with ${err} set without memory. */
struct tdh_service *tdh_service_create(
    const struct tdh_service_settings *settings, struct error *err);

/* Nobody looks things up any more. A thread that hangs inside TDH is given up after a moment, with
 * the memory that it uses. NULL is fine. */
void tdh_service_destroy(struct tdh_service *service);

/* The schema of ${record}'s type; NULL: TDH knows none, or, with ${*ret_late} set, it has not said
 * so yet. */
const struct event_schema *tdh_service_find(
    struct tdh_service *service, const struct event_record *record, bool *ret_late);

/* Changes with every answer to what was late. Never waits. */
uint64_t tdh_service_news(const struct tdh_service *service);

/* Every schema that was found so far. */
void tdh_service_list(struct tdh_service *service,
    void (*each)(void *self, const struct event_schema *schema), void *self);

#endif
