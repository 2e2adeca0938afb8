#ifndef ETWSHIP_INPUT_WINDOWS_ETW_RECORD_H
#define ETWSHIP_INPUT_WINDOWS_ETW_RECORD_H

#include "etw/etw_types.h"
#include "event/record.h"

/*
 * EVENT_RECORD, as ProcessTrace gives it to its callback, to struct event_record (event_header,
 * event_record, event_header_extended_data_item on learn.microsoft.com). Pure; views only.
 */

/* What a record is to the session that it comes from. */
enum etw_record_role {
    ETW_RECORD_EVENT,
    ETW_RECORD_HEADER,     /* EventTrace/Header: begins the session, is no event */
    ETW_RECORD_LOST,       /* RT_LostEvent: events are missing before this place */
    ETW_RECORD_LOST_FILE,  /* RT_LostEvent: what waited in the playback file is gone */
    ETW_RECORD_LOST_BUFFER /* RT_LostEvent: buffers are missing before this place */
};

enum etw_record_role etw_record_role(const struct etw_event_record *record);

/*
 * ${ret_record} borrows ${from}, ${trace} and ${items}, which has RECORD_MAX_EXTENDED elements.
 * Time stamps are taken as raw ones of ${trace}'s clock; a message without one has that of the record
 * before it, ${previous_raw} (0: there was none). Kernel events, which come here with the GUID of their class, get their
 * hook id back.
 */
void etw_record_read(const struct etw_event_record *from, const struct trace_info *trace,
    int64_t previous_raw, struct extended_item *items, struct event_record *ret_record);

#endif
