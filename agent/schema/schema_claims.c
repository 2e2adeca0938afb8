#include "schema/schema_claims.h"

#include "base/bytes.h"

enum { CLAIM_SIZE = 20 };

void schema_claims_init(struct schema_claims *claims, struct arena *arena, size_t max_claims)
{
    claims->arena = arena;
    map_init(&claims->providers, max_claims);
    map_init(&claims->processes, max_claims);
}

void schema_claims_fini(struct schema_claims *claims)
{
    map_fini(&claims->providers);
    map_fini(&claims->processes);
}

static struct span provider_of(const struct event_record *record)
{
    return span_make(record->provider.bytes, sizeof(record->provider.bytes));
}

static struct span make_claim(const struct event_record *record, uint8_t claim[CLAIM_SIZE])
{
    memcpy(claim, record->provider.bytes, sizeof(record->provider.bytes));
    store_le32(claim + sizeof(record->provider.bytes), record->process_id);
    return span_make(claim, CLAIM_SIZE);
}

static void add(struct schema_claims *claims, struct map *map, struct span key)
{
    struct span copy;
    if (!map_get(map, key) && arena_copy(claims->arena, key, &copy)) {
        map_put(map, copy, claims);
    }
}

void schema_claims_add(struct schema_claims *claims, const struct event_record *record)
{
    uint8_t claim[CLAIM_SIZE];
    add(claims, &claims->providers, provider_of(record));
    add(claims, &claims->processes, make_claim(record, claim));
}

bool schema_claims_knows(const struct schema_claims *claims, const struct event_record *record)
{
    return map_get(&claims->providers, provider_of(record)) != NULL;
}

bool schema_claims_has(const struct schema_claims *claims, const struct event_record *record)
{
    uint8_t claim[CLAIM_SIZE];
    return record->present & RECORD_HAS_PROCESS &&
           map_get(&claims->processes, make_claim(record, claim)) != NULL;
}
