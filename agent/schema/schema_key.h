#ifndef ETWSHIP_SCHEMA_SCHEMA_KEY_H
#define ETWSHIP_SCHEMA_SCHEMA_KEY_H

#include "event/record.h"

/* What tells event types apart for the cache: the kind of record, the provider or class GUID, and
 * what tells the types of one provider apart. */
enum {
    SCHEMA_KEY_BYTES = 40,
    SCHEMA_KEY_WITH_PROCESS = 0x40, /* in byte 0 of a key */
};

/* The TraceLogging metadata of ${record}; NULL: it has none. */
static inline const struct extended_item *schema_key_blob(const struct event_record *record)
{
    if (record->kind != RECORD_EVENT || record->extended_count == 0) {
        return NULL;
    }
    return record_extended(record, EXTENDED_SCHEMA_TL);
}

/* ${blob} is what schema_key_blob says. Two blobs may have one key, though hardly ever. */
void schema_key_make(const struct event_record *record, const struct extended_item *blob,
    bool with_process, uint8_t key[SCHEMA_KEY_BYTES]);

#endif
