#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_CALLS_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_CALLS_H

#include <stdarg.h>

#include "etw/etw_types.h"

/*
 * The simulated functions, each with the parameters that its documentation names, called
 * etw_sim_NAME here; a .def file gives them their own names in a DLL (StartTraceW =
 * etw_sim_StartTraceW). Those of TDH are in etw_calls.def, too; sim_tdh*.c has them.
 *
 * On Windows varargs follow the C convention: TraceMessage takes pairs of pointer and size, ended
 * by a NULL pointer.
 */

struct etw_guid_properties { /* TRACE_GUID_PROPERTIES */
    struct guid guid;
    uint32_t guid_type;
    uint32_t logger_id;
    uint32_t enable_level;
    uint32_t enable_flags;
    uint8_t is_enabled;
};

_Static_assert(sizeof(struct etw_guid_properties) == 36, "TRACE_GUID_PROPERTIES");

struct etw_instance { /* EVENT_INSTANCE_INFO */
    void *registration;
    uint32_t instance_id;
};

struct etw_instance_header { /* EVENT_INSTANCE_HEADER */
    uint16_t size;
    uint16_t field_type_flags;
    uint8_t type;
    uint8_t level;
    uint16_t version;
    uint32_t thread_id;
    uint32_t process_id;
    int64_t time_stamp;
    uint64_t registration;
    uint32_t instance_id;
    uint32_t parent_instance_id;
    uint32_t client_context;
    uint32_t flags;
    uint64_t parent_registration;
};

_Static_assert(sizeof(struct etw_instance_header) == 56, "EVENT_INSTANCE_HEADER");

struct
    etw_event_trace { /* EVENT_TRACE: what callbacks get without PROCESS_TRACE_MODE_EVENT_RECORD */
    struct etw_classic_header header;
    uint32_t instance_id;
    uint32_t parent_instance_id;
    struct guid parent_guid;
    void *mof_data;
    uint32_t mof_length;
    uint32_t client_context; /* u8 processor, u8 alignment, u16 logger id */
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct etw_event_trace) == 88, "EVENT_TRACE");

#define ETW_CALL(result, name, parameters) result etw_sim_##name parameters;
#include "etw/etw_calls.def"
#include "support/etw_sim/etw_sim_calls.def"
#undef ETW_CALL

/* GetLastError() of the calling thread, as far as these functions set it. */
uint32_t etw_sim_last_error(void);

#endif
