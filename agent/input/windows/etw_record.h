#ifndef ETWSHIP_INPUT_WINDOWS_ETW_RECORD_H
#define ETWSHIP_INPUT_WINDOWS_ETW_RECORD_H

#include "etw/etw_types.h"
#include "event/model/record.h"

/*
 * Converts EVENT_RECORD, as ProcessTrace passes it to its callback, to struct event_record
 * (event_header, event_record, event_header_extended_data_item on learn.microsoft.com). Pure; views
 * only.
 */

/* Meaning of a record for its session. */
enum etw_record_role {
    ETW_RECORD_EVENT,
    ETW_RECORD_HEADER,     /* EventTrace/Header: start of the session, not an event */
    ETW_RECORD_LOST,       /* RT_LostEvent: events before it are missing */
    ETW_RECORD_LOST_FILE,  /* RT_LostEvent: the content of the playback file is lost */
    ETW_RECORD_LOST_BUFFER /* RT_LostEvent: buffers before it are missing */
};

enum etw_record_role etw_record_role(const struct etw_event_record *record);

/*
 * ${ret_record} borrows ${from}, ${trace} and ${items}, which has RECORD_MAX_EXTENDED elements.
 * Time stamps are raw values of ${trace}'s clock; a message without one gets that of the previous
 * record, ${previous_raw} (0: none). Kernel events, which carry the GUID of their class, get their
 * hook id back.
 */
void etw_record_read(const struct etw_event_record *from, const struct trace_info *trace,
    int64_t previous_raw, struct extended_item *items, struct event_record *ret_record);

#endif
