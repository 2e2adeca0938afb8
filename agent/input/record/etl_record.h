#ifndef ETWSHIP_INPUT_ETL_RECORD_H
#define ETWSHIP_INPUT_ETL_RECORD_H

#include "event/model/record.h"

/*
 * Parses record headers into struct event_record. Pure functions over memory, without state between
 * records except struct etl_scope. Shared by delivery, statistics and fuzzing.
 */

enum etl_frame {
    ETL_FRAME_RECORD,
    ETL_FRAME_END, /* filler: no more records in this buffer */
    ETL_FRAME_BAD, /* not a record header */
};

/* Examine the ETL_RECORD_START_SIZE bytes where a record should start. For a record, ${ret_size} is
 * its size without padding, at least that of its fixed header. */
enum etl_frame etl_record_frame(const uint8_t *start, uint32_t *ret_size);

/* What a record inherits from its buffer and file. */
struct etl_scope {
    const struct trace_info *trace;
    struct record_position position; /* record_offset: of the next record */
    uint16_t cpu;
    bool private_session; /* headers carry a processor time instead of two tick counts */
    bool has_last_time;   /* an earlier record of this processor had a time */
    int64_t last_raw;     /* that time, for records without one */
    uint64_t last_time;
};

/*
 * Parse the record that fills ${bytes} exactly as etl_record_frame determined. ${ret_record}
 * borrows the bytes and ${items}, which has RECORD_MAX_EXTENDED elements. Never fails: optional
 * header parts that reach beyond the record are left out, and the payload starts after the last
 * valid part. Returns a static text that describes the problem, or NULL.
 */
const char *etl_record_read(struct span bytes, struct etl_scope *scope, struct extended_item *items,
    struct event_record *ret_record);

/* False if the record's time is that of one before it, or unknown. */
static inline bool etl_record_has_own_time(const struct event_record *record)
{
    return record->kind != RECORD_OPAQUE && (record->present & RECORD_HAS_TIME) &&
           !(record->present & RECORD_TIME_OF_BUFFER);
}

/*
 * True if etl_record_read would certainly return a plain event: one that describes no other records
 * (record_is_metadata, stack keys), processes (record_process_kind), files (record_file_names) or
 * the machine (SystemConfig), is neither a StackWalk record nor a classic event (width_samples.h),
 * and is not damaged. For readers that look only for the others, at a fraction of the cost.
 */
bool etl_record_is_plain_event(struct span bytes);

#endif
