#ifndef ETWSHIP_SCHEMA_SCHEMA_KEY_H
#define ETWSHIP_SCHEMA_SCHEMA_KEY_H

#include "event/record.h"

/* What tells event types apart for the cache: the kind of record, the provider or class GUID, and
 * what tells the types of one provider apart. */
enum {
    SCHEMA_KEY_BYTES = 48,
    SCHEMA_KEY_WITH_PROCESS = 0x40, /* in byte 0 of a key */
};

/* What a TraceLogging event says of itself: views into its record. */
struct schema_metadata {
    struct span blob;   /* names and types of its fields */
    struct span traits; /* of its provider: empty without a blob */
    bool has_blob;      /* it is such an event; the blob may be empty even so */
};

/* Of each kind the first item counts. */
static inline struct schema_metadata schema_key_metadata(const struct event_record *record)
{
    struct schema_metadata metadata = {.has_blob = false};
    if (record->kind != RECORD_EVENT || record->extended_count == 0) {
        return metadata;
    }
    const struct extended_item *traits = NULL;
    for (size_t i = record->extended_count; i-- > 0;) {
        const struct extended_item *item = &record->extended[i];
        if (item->type == EXTENDED_SCHEMA_TL) {
            metadata.has_blob = true;
            metadata.blob = item->data;
        } else if (item->type == EXTENDED_PROV_TRAITS) {
            traits = item;
        }
    }
    if (metadata.has_blob && traits) {
        metadata.traits = traits->data;
    }
    return metadata;
}

/* ${metadata} is the record's. Two types may have one key, though hardly ever by accident. */
void schema_key_make(const struct event_record *record, const struct schema_metadata *metadata,
    bool with_process, uint8_t key[SCHEMA_KEY_BYTES]);

#endif
