#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_PAYLOAD_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_PAYLOAD_H

#include "base/arena.h"
#include "etw/enable/etw_enable.h"
#include "input/live/provider_spec.h"

/* Payload filters in ETW's form. They name each version of an event; the manifests of this machine
 * contain the versions (etw/etw_names.h). */
struct etw_provider_payload {
    struct etw_payload_filter *filters; /* with everything they point to in `memory` */
    size_t count;
    struct arena memory;
};

void etw_provider_payload_init(struct etw_provider_payload *payload);
void etw_provider_payload_fini(struct etw_provider_payload *payload);

/*
 * Rebuild the filters of ${spec}, which must outlive them, for the provider ${guid}. ${tell} gets
 * the id of each event without a filter because no manifest describes it. If memory is short, there
 * are fewer filters.
 */
void etw_provider_payload_make(struct etw_provider_payload *payload,
    const struct provider_spec *spec, const struct guid *guid,
    void (*tell)(void *self, const char *event_id), void *self);

#endif
