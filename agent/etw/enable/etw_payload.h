#ifndef ETWSHIP_ETW_ETW_PAYLOAD_H
#define ETWSHIP_ETW_ETW_PAYLOAD_H

#include "base/error.h"
#include "etw/enable/etw_enable.h"

/*
 * The filter that TDH makes from conditions on event fields; its format is undocumented
 * (tdhcreatepayloadfilter, tdhaggregatepayloadfilters on learn.microsoft.com).
 */
struct etw_payload {
    struct etw_filter filter; /* size 0: none */
};

/* True if this system supports payload filters. */
bool etw_payload_can(void);

/* Make it from the request's conditions, which fit (etw_enable_fits). Windows must know the
 * provider's manifest. Errors name the event. etw_payload_fini after EnableTraceEx2 has copied
 * it. */
bool etw_payload_init(
    struct etw_payload *payload, const struct etw_request *request, struct error *err);
void etw_payload_fini(struct etw_payload *payload);

#endif
