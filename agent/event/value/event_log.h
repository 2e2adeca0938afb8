#ifndef ETWSHIP_EVENT_EVENT_LOG_H
#define ETWSHIP_EVENT_EVENT_LOG_H

#include "base/put.h"
#include "event/model/record.h"
#include "event/value/value_put.h"

/* Members that only records of an event log have: put them into the object that ends at ${p};
 * nothing for other records. Room: 64 bytes. */
static inline uint8_t *event_log_put(
    const struct value_context *values, uint8_t *p, const struct event_record *record)
{
    if (!(record->present & RECORD_OF_LOG)) {
        return p;
    }
    p--; /* the brace */
    if (record->present & RECORD_HAS_QUALIFIERS) {
        p = put_literal(p, ",\"qualifiers\":");
        p = put_u64(p, record->log_qualifiers);
    }
    p = put_literal(p, ",\"record_id\":");
    p = value_put_uint64(values, p, record->log_record_id);
    *p++ = '}';
    return p;
}

#endif
