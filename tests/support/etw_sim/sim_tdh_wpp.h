#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_TDH_WPP_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_TDH_WPP_H

#include "base/buf.h"
#include "support/etw_sim/sim_tdh.h"

/* TDH_CONTEXT_TYPE (tdh.h). */
enum {
    TDH_CONTEXT_TMF_FILE,
    TDH_CONTEXT_TMF_SEARCH_PATH,
    TDH_CONTEXT_GMT,
    TDH_CONTEXT_POINTER_SIZE,
    TDH_CONTEXT_PDB_PATH,
    TDH_CONTEXT_TYPES,
};

/* Was ${record} written by TraceMessage? */
bool sim_tdh_wpp_is(const struct etw_event_record *record);

/* The TRACE_EVENT_INFO of a message; the code that the caller gets. */
uint32_t sim_tdh_wpp_describe(const struct etw_event_record *record, uint32_t context_count,
    const struct etw_tdh_context *context, struct buf *out);

/* The bytes of ${name} (property_data_descriptor) of a message. */
uint32_t sim_tdh_wpp_property(const struct etw_event_record *record, uint32_t context_count,
    const struct etw_tdh_context *context, const etw_char *name, struct buf *out);

#endif
