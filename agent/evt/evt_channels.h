#ifndef ETWSHIP_EVT_EVT_CHANNELS_H
#define ETWSHIP_EVT_EVT_CHANNELS_H

#include "base/span.h"
#include "evt/evt_api.h"

/* The channels of this machine and their properties. */
enum { EVT_CHANNELS_NAME_CHARS = 512, EVT_CHANNELS_ACCESS_CHARS = 4096 };

struct evt_channel_info {
    evt_char name[EVT_CHANNELS_NAME_CHARS];
    uint32_t type; /* EVT_CHANNEL_*; UINT32_MAX: unknown */
    bool is_enabled;
    bool is_readable;      /* by this process; then the next three are known */
    uint64_t record_count; /* 0: oldest_record means nothing */
    uint64_t oldest_record;
    uint64_t file_bytes;
    uint32_t reason;    /* Win32 error, if not readable */
    uint64_t max_bytes; /* 0: unknown */
    evt_char
        access[EVT_CHANNELS_ACCESS_CHARS]; /* the rights to the channel, as SDDL; empty: unknown */
};

/* Fill ${ret_info} for the channel with its name. */
void evt_channels_look(struct evt_channel_info *ret_info);

/* Call ${each} for every channel, with only its name set, until it returns false. False with ${err}
 * set: Windows does not list them all. */
bool evt_channels_each(
    bool (*each)(void *self, struct evt_channel_info *info), void *self, struct error *err);

/* `admin`, `operational`, `analytic`, `debug`; `unknown`. Static. */
const char *evt_channels_type(uint32_t type);

#endif
