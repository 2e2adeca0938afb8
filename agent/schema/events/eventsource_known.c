#include "schema/events/eventsource_known.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "schema/source/known_providers.h"

enum {
    MAX_VERSIONS = 4096,
    MAX_CLAIMS = 65536,
    MAX_PROVIDERS = 8192,
    MAX_SENDERS = 65536,
    SENDER_SHARE = 4,        /* a process gets a quarter of the entries */
    SENDER_MEMORY_SHARE = 2, /* and half of the memory */
    PROVIDER_KEEPS = 3,      /* a provider gets three quarters of the entries */
    PROVIDER_QUARTERS = 4,
    MAX_NAME_BYTES = 256, /* provider name that outlives its manifests */
    SLOT_BYTES = 2 * sizeof(struct map_slot),
    GUID_BYTES = sizeof(struct guid),
    PROCESS_BYTES = 12, /* id and start key */
};

/* How reliable the name of a provider is. */
enum rank { RANK_NONE, RANK_FIRST, RANK_PROVEN };

struct eventsource_provider {
    struct guid guid;
    struct span name; /* malloc'd */
    enum rank rank;
    struct eventsource_version *newest; /* sent last */
    size_t count;
    struct eventsource_provider *next; /* in the list of providers without manifests */
    struct eventsource_provider *previous;
};

struct eventsource_sender {
    uint8_t key[PROCESS_BYTES];
    size_t count;
    size_t bytes;
};

/* The manifest that a process sent last for a provider. */
struct eventsource_claim {
    uint8_t key[GUID_BYTES + PROCESS_BYTES];
    struct eventsource_version *version;
    struct eventsource_claim *next; /* next claim on the version */
    struct eventsource_claim *previous;
    struct eventsource_claim *later; /* next newer claim of all */
    struct eventsource_claim *earlier;
};

enum {
    REST_SHARE = 8, /* an eighth of the memory is for claims, an eighth for names */
    CLAIM_BYTES = sizeof(struct eventsource_claim) + SLOT_BYTES,
    PROVIDER_BYTES = sizeof(struct eventsource_provider) + SLOT_BYTES + MAX_NAME_BYTES,
};

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

void eventsource_known_init(struct eventsource_known *known, size_t max_bytes)
{
    *known = (struct eventsource_known){.max_bytes = max_bytes};
    map_init(&known->versions, MAX_VERSIONS);
    map_init(&known->claims, at_most(max_bytes / REST_SHARE / CLAIM_BYTES, MAX_CLAIMS));
    map_init(&known->providers, at_most(max_bytes / REST_SHARE / PROVIDER_BYTES, MAX_PROVIDERS));
    map_init(&known->senders, MAX_SENDERS);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void put_process(const struct event_record *record, uint8_t key[PROCESS_BYTES])
{
    const struct extended_item *start = record->extended_count
                                            ? record_extended(record, EXTENDED_PROCESS_START_KEY)
                                            : NULL;
    memset(key, 0, PROCESS_BYTES);
    store_le32(key, record->process_id);
    if (start && start->data.size == 8) {
        memcpy(key + 4, start->data.data, 8);
    }
}

static void put_claim(const struct event_record *record, uint8_t key[GUID_BYTES + PROCESS_BYTES])
{
    memcpy(key, record->provider.bytes, GUID_BYTES);
    put_process(record, key + GUID_BYTES);
}

static struct span guid_key(const struct guid *guid)
{
    return span_make(guid->bytes, sizeof(guid->bytes));
}

#define KEY_OF(thing) span_make((thing)->key, sizeof((thing)->key))

/* ---- claims ---------------------------------------------------------------------------------- */

static void unlink_claim(struct eventsource_claim *claim)
{
    *(claim->previous ? &claim->previous->next : &claim->version->claims) = claim->next;
    if (claim->next) {
        claim->next->previous = claim->previous;
    }
}

static void link_claim(struct eventsource_claim *claim, struct eventsource_version *version)
{
    claim->version = version;
    claim->previous = NULL;
    claim->next = version->claims;
    if (version->claims) {
        version->claims->previous = claim;
    }
    version->claims = claim;
}

static void drop_claim(struct eventsource_known *known, struct eventsource_claim *claim)
{
    unlink_claim(claim);
    map_remove(&known->claims, KEY_OF(claim));
    *(claim->later ? &claim->later->earlier : &known->last_claim) = claim->earlier;
    *(claim->earlier ? &claim->earlier->later : &known->first_claim) = claim->later;
    known->bytes -= sizeof(*claim) + SLOT_BYTES;
    free(claim);
}

/* ---- providers ------------------------------------------------------------------------------- */

static void unlink_nameless(struct eventsource_known *known, struct eventsource_provider *provider)
{
    *(provider->previous ? &provider->previous->next : &known->nameless) = provider->next;
    if (provider->next) {
        provider->next->previous = provider->previous;
    }
    provider->next = NULL;
    provider->previous = NULL;
}

static void link_nameless(struct eventsource_known *known, struct eventsource_provider *provider)
{
    provider->next = known->nameless;
    if (provider->next) {
        provider->next->previous = provider;
    }
    known->nameless = provider;
}

static void destroy_provider(struct eventsource_known *known, struct eventsource_provider *provider)
{
    map_remove(&known->providers, guid_key(&provider->guid));
    known->bytes -= sizeof(*provider) + SLOT_BYTES + provider->name.size;
    free((void *)(uintptr_t)provider->name.data);
    free(provider);
}

/* Free the oldest name of a provider without manifests. False if there is none. */
static bool evict_name(struct eventsource_known *known)
{
    struct eventsource_provider *last = known->nameless;
    while (last && last->next) {
        last = last->next;
    }
    if (last) {
        unlink_nameless(known, last);
        destroy_provider(known, last);
    }
    return last != NULL;
}

/* ---- versions -------------------------------------------------------------------------------- */

static void unlink_use(struct eventsource_known *known, struct eventsource_version *version)
{
    *(version->later ? &version->later->earlier : &known->latest) = version->earlier;
    *(version->earlier ? &version->earlier->later : &known->earliest) = version->later;
}

static void link_use(struct eventsource_known *known, struct eventsource_version *version)
{
    version->later = NULL;
    version->earlier = known->latest;
    *(known->latest ? &known->latest->later : &known->earliest) = version;
    known->latest = version;
}

void eventsource_known_use(struct eventsource_known *known, struct eventsource_version *version)
{
    if (known->latest != version) {
        unlink_use(known, version);
        link_use(known, version);
    }
}

static void unlink_version(struct eventsource_version *version)
{
    struct eventsource_provider *provider = version->provider;
    *(version->newer ? &version->newer->older : &provider->newest) = version->older;
    if (version->older) {
        version->older->newer = version->newer;
    }
}

static void link_version(struct eventsource_version *version)
{
    struct eventsource_provider *provider = version->provider;
    version->newer = NULL;
    version->older = provider->newest;
    if (provider->newest) {
        provider->newest->newer = version;
    }
    provider->newest = version;
}

static void destroy_version(struct eventsource_known *known, struct eventsource_version *version)
{
    struct eventsource_provider *provider = version->provider;
    struct eventsource_claim *claim = version->claims;
    while (claim) {
        struct eventsource_claim *next = claim->next;
        drop_claim(known, claim);
        claim = next;
    }
    map_remove(&known->versions, KEY_OF(version));
    unlink_use(known, version);
    unlink_version(version);
    if (--provider->count == 0) {
        link_nameless(known, provider);
    }
    struct eventsource_sender *sender = version->sender;
    sender->bytes -= version->bytes;
    if (--sender->count == 0) {
        map_remove(&known->senders, KEY_OF(sender));
        free(sender);
    }
    known->bytes -= version->bytes;
    manifest_events_destroy(version->manifest);
    free((void *)(uintptr_t)version->name.data);
    free(version);
}

static void evict(struct eventsource_known *known, struct eventsource_version *version)
{
    known->losses.evicted++;
    known->losses.gone++;
    known->losses.provider = version->provider->guid;
    destroy_version(known, version);
}

void eventsource_known_fini(struct eventsource_known *known)
{
    while (known->latest) {
        destroy_version(known, known->latest);
    }
    while (evict_name(known)) {}
    map_fini(&known->versions);
    map_fini(&known->claims);
    map_fini(&known->providers);
    map_fini(&known->senders);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* True if a process other than the first sender uses the version. Each process has one claim. */
static bool is_used_by_others(const struct eventsource_version *version)
{
    const struct eventsource_claim *one = version->claims;
    return one &&
           (one->next || memcmp(one->key + GUID_BYTES, version->sender->key, PROCESS_BYTES) != 0);
}

/* Version that ${sender} gives up to make room for its own: preferably one that no other process
 * uses. */
static struct eventsource_version *next_to_evict(
    const struct eventsource_known *known, const struct eventsource_sender *sender)
{
    struct eventsource_version *used = NULL;
    for (struct eventsource_version *v = known->earliest; v; v = v->later) {
        if (v->sender == sender && !is_used_by_others(v)) {
            return v;
        }
        used = !used && v->sender == sender ? v : used;
    }
    return used;
}

/* Names of providers without manifests go first if they take most of the memory. */
static bool make_room(struct eventsource_known *known, size_t more)
{
    while (known->bytes > known->max_bytes || more > known->max_bytes - known->bytes) {
        if (known->earliest) {
            evict(known, known->earliest);
        } else if (!evict_name(known)) {
            return false;
        }
    }
    return true;
}

/* Make room for a version of ${bytes} for a sender and a provider, which may both be new. */
static bool make_place(struct eventsource_known *known, const uint8_t sender_key[PROCESS_BYTES],
    const struct guid *guid, size_t bytes)
{
    const struct span key = span_make(sender_key, PROCESS_BYTES);
    struct eventsource_sender *sender;
    while ((sender = map_get(&known->senders, key)) &&
           (sender->count >= MAX_VERSIONS / SENDER_SHARE ||
               sender->bytes + bytes > known->max_bytes / SENDER_MEMORY_SHARE)) {
        evict(known, next_to_evict(known, sender));
    }
    struct eventsource_provider *provider = map_get(&known->providers, guid_key(guid));
    if (provider && provider->count >= MAX_VERSIONS / PROVIDER_QUARTERS * PROVIDER_KEEPS) {
        struct eventsource_version *victim = known->earliest;
        for (; victim->provider != provider; victim = victim->later) {}
        evict(known, victim);
    }
    if (known->versions.count >= MAX_VERSIONS) {
        evict(known, known->earliest);
    }
    while (!map_get(&known->providers, guid_key(guid)) &&
           known->providers.count >= known->providers.max_entries && !evict_name(known)) {
        sender = map_get(&known->senders, key);
        struct eventsource_version *victim = sender ? next_to_evict(known, sender)
                                                    : known->earliest;
        if (!victim) {
            return false;
        }
        evict(known, victim);
    }
    return make_room(known, bytes);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A copy that the caller frees; empty if memory is short. */
static struct span copy_name(struct span name)
{
    name = span_first(name, MAX_NAME_BYTES);
    char *copy = span_copy(name);
    return span_make(copy, copy ? name.size : 0);
}

static bool set_name(struct eventsource_known *known, struct eventsource_provider *provider,
    struct span name, enum rank rank)
{
    struct span copy = copy_name(name);
    if (!copy.data) {
        return false;
    }
    known->bytes += copy.size - provider->name.size;
    free((void *)(uintptr_t)provider->name.data);
    provider->name = copy;
    provider->rank = rank;
    return true;
}

static bool is_other_name(const struct eventsource_version *version)
{
    const struct span name = version->provider->name;
    return version->name.size && name.size && !span_equal_nocase(version->name, name);
}

/* Give the events of ${version} the provider's name. They get new serials, because whatever was
 * cached under the old serials has the old name. */
static void show_name(struct eventsource_version *version)
{
    const struct eventsource_provider *provider = version->provider;
    version->is_renaming = is_other_name(version);
    for (size_t i = 0; i < version->manifest->event_count; i++) {
        version->manifest->events[i]->provider_name = provider->name;
        version->manifest->events[i]->serial = 0;
    }
}

static enum rank rank_of(const struct guid *guid, struct span name)
{
    struct guid made = guid_from_name(name);
    if (name.size == 0) {
        return RANK_NONE;
    }
    return guid_equal(&made, guid) ? RANK_PROVEN : RANK_FIRST;
}

/* Rename the provider to the name that its newest version has. */
static void rename_provider(
    struct eventsource_known *known, struct eventsource_version *version, enum rank rank)
{
    if (!set_name(known, version->provider, version->name, rank)) {
        return;
    }
    for (struct eventsource_version *v = version->older; v; v = v->older) {
        show_name(v);
        known->losses.conflicts += v->is_renaming;
    }
    known->losses.gone += version->older != NULL;
}

/* Decide whether the name in ${version}, the newest, becomes the provider's name. */
static void judge_name(struct eventsource_known *known, struct eventsource_version *version)
{
    struct eventsource_provider *provider = version->provider;
    enum rank rank = rank_of(&provider->guid, version->name);
    uint64_t conflicts = known->losses.conflicts;
    if (rank > provider->rank && span_equal(version->name, provider->name)) {
        provider->rank = rank;
    } else if (rank > provider->rank) {
        rename_provider(known, version, rank);
    }
    show_name(version);
    known->losses.conflicts += version->is_renaming;
    if (known->losses.conflicts != conflicts) {
        known->losses.provider = provider->guid;
    }
}

/* ---- adding ---------------------------------------------------------------------------------- */

static struct eventsource_provider *provider_for(
    struct eventsource_known *known, const struct guid *guid)
{
    struct eventsource_provider *provider = map_get(&known->providers, guid_key(guid));
    if (provider) {
        return provider;
    }
    struct span name = known_providers_name(guid);
    provider = calloc(1, sizeof(*provider));
    if (!provider) {
        return NULL;
    }
    provider->guid = *guid;
    known->bytes += sizeof(*provider) + SLOT_BYTES;
    if (!map_put(&known->providers, guid_key(&provider->guid), provider) ||
        (name.size && !set_name(known, provider, name, RANK_PROVEN))) {
        destroy_provider(known, provider);
        return NULL;
    }
    link_nameless(known, provider);
    return provider;
}

static struct eventsource_sender *sender_for(
    struct eventsource_known *known, const uint8_t key[PROCESS_BYTES])
{
    struct eventsource_sender *sender = map_get(&known->senders, span_make(key, PROCESS_BYTES));
    if (sender) {
        return sender;
    }
    sender = calloc(1, sizeof(*sender));
    if (sender) {
        memcpy(sender->key, key, PROCESS_BYTES);
        if (!map_put(&known->senders, KEY_OF(sender), sender)) {
            free(sender);
            sender = NULL;
        }
    }
    return sender;
}

static void drop_unused(struct eventsource_known *known, struct eventsource_sender *sender)
{
    if (sender && sender->count == 0) {
        map_remove(&known->senders, KEY_OF(sender));
        free(sender);
    }
}

/* Link the parts, all of which are allocated. */
static void link_all(struct eventsource_known *known, struct eventsource_version *version)
{
    if (version->provider->count++ == 0) {
        unlink_nameless(known, version->provider);
    }
    version->sender->count++;
    version->sender->bytes += version->bytes;
    known->bytes += version->bytes;
    link_version(version);
    link_use(known, version);
    judge_name(known, version);
}

struct eventsource_version *eventsource_known_add(struct eventsource_known *known,
    const struct event_record *record, const uint8_t hash[16], struct manifest *manifest)
{
    uint8_t process[PROCESS_BYTES];
    size_t bytes = sizeof(struct eventsource_version) + SLOT_BYTES + sizeof(*manifest) +
                   manifest->arena.used_bytes + sizeof(struct eventsource_sender) + SLOT_BYTES;
    put_process(record, process);
    struct eventsource_version *version = calloc(1, sizeof(*version));
    if (!version || !make_place(known, process, &record->provider, bytes)) {
        free(version);
        manifest_events_destroy(manifest);
        return NULL;
    }
    memcpy(version->key, record->provider.bytes, GUID_BYTES);
    memcpy(version->key + GUID_BYTES, hash, sizeof(version->key) - GUID_BYTES);
    version->manifest = manifest;
    version->bytes = bytes;
    version->name = copy_name(manifest->events[0]->provider_name);
    version->provider = provider_for(known, &record->provider);
    version->sender = sender_for(known, process);
    if (!version->name.data || !version->provider || !version->sender ||
        !map_put(&known->versions, KEY_OF(version), version)) {
        drop_unused(known, version->sender);
        free((void *)(uintptr_t)version->name.data);
        free(version);
        manifest_events_destroy(manifest);
        return NULL;
    }
    link_all(known, version);
    return version;
}

static struct eventsource_claim *add_claim(struct eventsource_known *known,
    const uint8_t key[GUID_BYTES + PROCESS_BYTES], struct eventsource_version *version)
{
    if (known->first_claim && known->claims.count >= known->claims.max_entries) {
        drop_claim(known, known->first_claim);
    }
    struct eventsource_claim *claim = calloc(1, sizeof(*claim));
    if (!claim) {
        return NULL;
    }
    memcpy(claim->key, key, sizeof(claim->key));
    if (!map_put(&known->claims, KEY_OF(claim), claim)) {
        free(claim);
        return NULL;
    }
    known->bytes += sizeof(*claim) + SLOT_BYTES;
    link_claim(claim, version);
    claim->earlier = known->last_claim;
    *(known->last_claim ? &known->last_claim->later : &known->first_claim) = claim;
    known->last_claim = claim;
    return claim;
}

bool eventsource_known_claim(struct eventsource_known *known, const struct event_record *record,
    struct eventsource_version *version)
{
    uint8_t key[GUID_BYTES + PROCESS_BYTES];
    put_claim(record, key);
    if (version->provider->newest != version) {
        unlink_version(version);
        link_version(version);
    }
    eventsource_known_use(known, version);
    struct eventsource_claim *claim = map_get(&known->claims, span_make(key, sizeof(key)));
    if (!claim) {
        return add_claim(known, key, version) != NULL;
    }
    bool is_news = claim->version != version;
    unlink_claim(claim);
    link_claim(claim, version);
    return is_news;
}

/* ---- look-up --------------------------------------------------------------------------------- */

struct eventsource_version *eventsource_known_find(
    struct eventsource_known *known, const struct guid *provider, const uint8_t hash[16])
{
    uint8_t key[32];
    memcpy(key, provider->bytes, GUID_BYTES);
    memcpy(key + GUID_BYTES, hash, sizeof(key) - GUID_BYTES);
    return map_get(&known->versions, span_make(key, sizeof(key)));
}

struct eventsource_version *eventsource_known_own(
    const struct eventsource_known *known, const struct event_record *record)
{
    if (!(record->present & RECORD_HAS_PROCESS)) {
        return NULL;
    }
    uint8_t key[GUID_BYTES + PROCESS_BYTES];
    put_claim(record, key);
    const struct eventsource_claim *claim = map_get(&known->claims, span_make(key, sizeof(key)));
    return claim ? claim->version : NULL;
}

struct eventsource_version *eventsource_known_newest(
    const struct eventsource_known *known, const struct guid *provider)
{
    const struct eventsource_provider *found = map_get(&known->providers, guid_key(provider));
    return found ? found->newest : NULL;
}

struct span eventsource_known_name(
    const struct eventsource_known *known, const struct guid *provider)
{
    const struct eventsource_provider *found = map_get(&known->providers, guid_key(provider));
    return found ? found->name : span_make(NULL, 0);
}
