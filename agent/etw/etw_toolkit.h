#ifndef ETWSHIP_ETW_ETW_TOOLKIT_H
#define ETWSHIP_ETW_ETW_TOOLKIT_H

#include "etw/etw_types.h"

/*
 * KernelTraceControl.dll of the Windows Performance Toolkit (startheaptrace, updateheaptrace on
 * learn.microsoft.com): what Windows itself lacks functions for. Loaded when it is first asked for,
 * from where the Windows SDK installed it below Program Files, and from nowhere else: only
 * administrators write there.
 */
struct etw_toolkit_api {
    /* NULL: it is not installed. The handle is 0 if it is not valid. */
    uint32_t (*StartHeapTrace)(uint64_t *ret_session, struct etw_properties *properties,
        const etw_char *name, const uint32_t *pids, uint32_t pid_count,
        const struct etw_classic_event_id *stacks, uint32_t stack_count);
    uint32_t (*UpdateHeapTrace)(struct etw_properties *properties, const etw_char *name,
        const uint32_t *pids, uint32_t pid_count, const struct etw_classic_event_id *stacks,
        uint32_t stack_count);
};

/* What windows/ and linux/ give. */
void etw_toolkit_load(struct etw_toolkit_api *api);

/* Static, never NULL. Any thread. */
const struct etw_toolkit_api *etw_toolkit_get(void);

/* Use ${api} instead, which outlives its use; NULL: the system's again. Before anything else runs. */
void etw_toolkit_use(const struct etw_toolkit_api *api);

#endif
