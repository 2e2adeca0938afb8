#ifndef ETWSHIP_SCHEMA_SCHEMA_KEY_H
#define ETWSHIP_SCHEMA_SCHEMA_KEY_H

#include "event/model/record.h"

/* The cache's key of an event type: kind of record, provider or class GUID, and what distinguishes
 * the types of one provider. */
enum {
    SCHEMA_KEY_BYTES = 48,
    SCHEMA_KEY_WITH_PROCESS = 0x40, /* in byte 0 of a key */
};

/* Self-description of a TraceLogging event: views into its record. */
struct schema_metadata {
    struct span blob;   /* names and types of the fields */
    struct span traits; /* of the provider; empty without a blob */
    bool has_blob;      /* true for a self-describing event, even if the blob is empty */
};

/* If an item occurs several times, the first counts. */
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

/* Make the key of a record; ${metadata} must be the record's. Collisions are possible but do not
 * happen by accident. */
void schema_key_make(const struct event_record *record, const struct schema_metadata *metadata,
    bool with_process, uint8_t key[SCHEMA_KEY_BYTES]);

#endif
