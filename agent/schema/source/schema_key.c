#include "schema/source/schema_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"

/* Byte 0: kind; 1-16: GUID; then either 17-24: event within the provider, 25-28: process; or 17-32:
 * hash of the metadata, 33-40: hash of the traits. */
void schema_key_make(const struct event_record *record, const struct schema_metadata *metadata,
    bool with_process, uint8_t key[SCHEMA_KEY_BYTES])
{
    const struct event_descriptor *d = &record->descriptor;
    memset(key, 0, SCHEMA_KEY_BYTES);
    key[0] = (uint8_t)(1 + record->kind);
    memcpy(key + 1, record->provider.bytes, sizeof(record->provider.bytes));
    if (metadata->has_blob) {
        XXH128_hash_t hash = XXH3_128bits(metadata->blob.data, metadata->blob.size);
        key[0] |= record->present & RECORD_OF_LOG ? 0x90 : 0x80;
        store_le64(key + 17, hash.low64);
        store_le64(key + 25, hash.high64);
        store_le64(key + 33, XXH3_64bits(metadata->traits.data, metadata->traits.size));
        return;
    }
    store_le16(key + 17, d->id);
    key[19] = d->version;
    if (record->kind != RECORD_EVENT) {
        key[20] = d->opcode;
        store_le16(key + 21, record->hook_id);
    }
    if (with_process) {
        key[0] |= SCHEMA_KEY_WITH_PROCESS;
        store_le32(key + 25, record->process_id);
    }
}
