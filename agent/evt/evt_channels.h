#ifndef ETWSHIP_EVT_EVT_CHANNELS_H
#define ETWSHIP_EVT_EVT_CHANNELS_H

#include "base/span.h"
#include "evt/evt_api.h"

/* The channels of this machine, and what Windows tells of each. */
enum { EVT_CHANNELS_NAME_CHARS = 512, EVT_CHANNELS_ACCESS_CHARS = 4096 };

struct evt_channel_info {
    evt_char name[EVT_CHANNELS_NAME_CHARS];
    uint32_t type; /* EVT_CHANNEL_*; UINT32_MAX: not told, as all that is missing */
    bool is_enabled;
    bool is_readable;      /* by this process: the next four are known */
    uint64_t record_count; /* 0: the next one means nothing */
    uint64_t oldest_record;
    uint64_t file_bytes;
    uint32_t reason;    /* not readable: why not */
    uint64_t max_bytes; /* 0: not told */
    evt_char
        access[EVT_CHANNELS_ACCESS_CHARS]; /* who may read and write, as SDDL; empty: not told */
};

/* Fill ${ret_info}, whose name is set. */
void evt_channels_look(struct evt_channel_info *ret_info);

/* Call ${each} with every channel, its name alone set, until it returns false. False with ${err} set: Windows does
 * not tell. */
bool evt_channels_each(
    bool (*each)(void *self, struct evt_channel_info *info), void *self, struct error *err);

/* `admin`, `operational`, `analytic`, `debug`; `unknown`. Static. */
const char *evt_channels_type(uint32_t type);

#endif
