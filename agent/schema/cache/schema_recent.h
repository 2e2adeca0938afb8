#ifndef ETWSHIP_SCHEMA_SCHEMA_RECENT_H
#define ETWSHIP_SCHEMA_SCHEMA_RECENT_H

#include "base/bytes.h"
#include "schema/source/schema_key.h"

/*
 * Recently used entries of the cache. Most events have a recent type, so that neither key nor hash
 * is computed for them. Zeroed: empty.
 */
enum { SCHEMA_RECENT_SLOTS = 1024, SCHEMA_RECENT_SHIFT = 54 };

struct schema_recent_slot {
    struct guid provider;
    uint16_t id;
    uint16_t hook_id;
    uint8_t version;
    uint8_t opcode;
    uint8_t kind;
    void *entry;
};

struct schema_recent {
    struct schema_recent_slot slots[SCHEMA_RECENT_SLOTS];
};

/* The slot for the record's type; it may hold another type. */
static inline struct schema_recent_slot *schema_recent_slot(struct schema_recent *recent,
    const struct event_record *record, const struct schema_metadata *metadata)
{
    const struct event_descriptor *d = &record->descriptor;
    uint64_t mix = load_le64(record->provider.bytes) ^ load_le64(record->provider.bytes + 8);
    mix ^= (uint64_t)d->id << 32 ^ (uint64_t)d->opcode << 48 ^ record->hook_id;
    mix ^= metadata->has_blob ? metadata->blob.size << 20 : d->version;
    return &recent->slots[mix * UINT64_C(0x9e3779b97f4a7c15) >> SCHEMA_RECENT_SHIFT];
}

/* The entry in ${slot}, if its type has the record's numbers. The caller compares what else
 * distinguishes types. */
static inline void *schema_recent_get(
    const struct schema_recent_slot *slot, const struct event_record *record)
{
    const struct event_descriptor *d = &record->descriptor;
    bool is_its = slot->entry && slot->kind == record->kind && slot->id == d->id &&
                  slot->version == d->version && slot->opcode == d->opcode &&
                  slot->hook_id == record->hook_id &&
                  guid_equal(&slot->provider, &record->provider);
    return is_its ? slot->entry : NULL;
}

static inline void schema_recent_put(
    struct schema_recent_slot *slot, const struct event_record *record, void *entry)
{
    const struct event_descriptor *d = &record->descriptor;
    *slot = (struct schema_recent_slot){.provider = record->provider,
        .id = d->id,
        .hook_id = record->hook_id,
        .version = d->version,
        .opcode = d->opcode,
        .kind = (uint8_t)record->kind,
        .entry = entry};
}

#endif
