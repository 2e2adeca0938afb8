#ifndef ETWSHIP_ETW_ETW_TOOLKIT_H
#define ETWSHIP_ETW_ETW_TOOLKIT_H

#include "etw/etw_types.h"

/*
 * KernelTraceControl.dll of the Windows Performance Toolkit (startheaptrace, updateheaptrace on
 * learn.microsoft.com): functions that Windows itself lacks. Loaded on first use, only from the
 * Windows SDK's folder below Program Files, where only administrators may write.
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

/* Implemented in windows/ and linux/. */
void etw_toolkit_load(struct etw_toolkit_api *api);

/* Static, never NULL. Any thread. */
const struct etw_toolkit_api *etw_toolkit_get(void);

/* Use ${api}, which outlives its use; NULL: the system's again. Call before anything else runs. */
void etw_toolkit_use(const struct etw_toolkit_api *api);

#endif
