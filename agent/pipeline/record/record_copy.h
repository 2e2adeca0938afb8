#ifndef ETWSHIP_PIPELINE_RECORD_COPY_H
#define ETWSHIP_PIPELINE_RECORD_COPY_H

#include "event/model/record.h"

/*
 * A record that outlives its source's call: header, extended items and payload in one piece of
 * memory. The data behind the record's trace pointer is shared, not copied.
 */

/* Bytes that the copy needs, a multiple of the alignment of struct event_record. */
size_t record_copy_size(const struct event_record *record);

/* Copy into ${memory} of that size, aligned for struct event_record. */
struct event_record *record_copy_make(const struct event_record *record, void *memory);

#endif
