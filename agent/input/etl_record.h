#ifndef ETWSHIP_INPUT_ETL_RECORD_H
#define ETWSHIP_INPUT_ETL_RECORD_H

#include "event/record.h"

/*
 * Record headers: bytes to struct event_record. Pure functions over memory, no state between
 * records but what struct etl_scope names. The same code serves delivery, statistics and fuzzing.
 */

enum etl_frame {
    ETL_FRAME_RECORD,
    ETL_FRAME_END, /* filler: no more records in this buffer */
    ETL_FRAME_BAD, /* no record header */
};

/* Look at the ETL_RECORD_START_SIZE bytes where a record should start. For a record, ${ret_size}
 * is its size without the padding behind it and at least that of its fixed header. */
enum etl_frame etl_record_frame(const uint8_t *start, uint32_t *ret_size);

/* What a record inherits from the buffer and the file around it. */
struct etl_scope {
    const struct trace_info *trace;
    struct record_position position; /* record_offset: of the record that is read next */
    uint16_t cpu;
    bool private_session; /* full headers carry a processor time instead of two tick counts */
    bool has_last_time;   /* a record before, of this processor, had a time */
    int64_t last_raw;     /* and this is the latest one: for records without their own */
    uint64_t last_time;
};

/*
 * Read the record that fills ${bytes} exactly as etl_record_frame found it. ${ret_record} borrows
 * the bytes and ${items}, which has RECORD_MAX_EXTENDED elements. Never fails: where optional parts
 * of the header run out of the record they are left out, the payload is what stands behind the
 * last good part, and the text returned (static) says what is wrong; else NULL.
 */
const char *etl_record_read(struct span bytes, struct etl_scope *scope, struct extended_item *items,
    struct event_record *ret_record);

/*
 * Is what etl_record_read would make of ${bytes} surely a mere event: one that describes neither
 * other records (record_is_metadata, stack keys), processes (record_process_kind), files
 * (record_file_names) nor the machine (SystemConfig), that is no StackWalk record and no classic event
 * (width_samples.h), and that has nothing wrong with it? For readers that look for the others alone, at
 * a fraction of the price.
 */
bool etl_record_is_mere_event(struct span bytes);

#endif
