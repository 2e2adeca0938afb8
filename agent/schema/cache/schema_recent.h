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
    uint64_t numbers;
    void *entry;
};

struct schema_recent {
    struct schema_recent_slot slots[SCHEMA_RECENT_SLOTS];
};

/* The numbers that distinguish the record's type from others of its provider. */
static inline uint64_t schema_recent_numbers(const struct event_record *record)
{
    const struct event_descriptor *d = &record->descriptor;
    return d->id | (uint64_t)record->hook_id << 16 | (uint64_t)d->version << 32 |
           (uint64_t)d->opcode << 40 | (uint64_t)record->kind << 48;
}

/* The slot for the record's type; it may hold another type. */
static inline struct schema_recent_slot *schema_recent_slot(struct schema_recent *recent,
    const struct event_record *record, const struct schema_metadata *metadata)
{
    uint64_t mix = load_le64(record->provider.bytes) ^ load_le64(record->provider.bytes + 8);
    mix ^= schema_recent_numbers(record) ^ (uint64_t)metadata->blob.size << 20;
    return &recent->slots[mix * UINT64_C(0x9e3779b97f4a7c15) >> SCHEMA_RECENT_SHIFT];
}

/* The entry in ${slot}, if its type has the record's numbers. The caller compares what else
 * distinguishes types. */
static inline void *schema_recent_get(
    const struct schema_recent_slot *slot, const struct event_record *record)
{
    bool is_its = slot->entry && slot->numbers == schema_recent_numbers(record) &&
                  guid_equal(&slot->provider, &record->provider);
    return is_its ? slot->entry : NULL;
}

static inline void schema_recent_put(
    struct schema_recent_slot *slot, const struct event_record *record, void *entry)
{
    *slot = (struct schema_recent_slot){
        .provider = record->provider, .numbers = schema_recent_numbers(record), .entry = entry};
}

#endif
