#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_PAYLOAD_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_PAYLOAD_H

#include "base/arena.h"
#include "etw/etw_enable.h"
#include "input/provider_spec.h"

/* Filters by payload as ETW takes them: they name events in all their versions, which the manifests of this
 * machine know (etw/etw_names.h). */
struct etw_provider_payload {
    struct etw_payload_filter *filters; /* with all that they point to in `memory` */
    size_t count;
    struct arena memory;
};

void etw_provider_payload_init(struct etw_provider_payload *payload);
void etw_provider_payload_fini(struct etw_provider_payload *payload);

/*
 * Make the filters of ${spec}, which outlives them, anew for the provider ${guid}. ${tell}: the id of each
 * event for which there is none, as no manifest says what it holds. Without memory there are fewer.
 */
void etw_provider_payload_make(struct etw_provider_payload *payload,
    const struct provider_spec *spec, const struct guid *guid,
    void (*tell)(void *self, const char *event_id), void *self);

#endif
