#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "schema/events/eventsource_chunks.h"
#include "schema/events/eventsource_known.h"
#include "schema/manifest/manifest_xml.h"
#include "schema/source/schema_source.h"

/*
 * Manifests that .NET EventSources send into the trace in chunks (eventsource_chunks.h). A manifest
 * belongs to the process that sent it: two processes may run two versions of one provider. A
 * process's own manifest decodes its events. Events of processes without a manifest are decoded
 * with the latest manifests of the provider, except those that contradict the provider's known name
 * (eventsource_known.h).
 *
 * Processes send their manifest again at every enable; equal manifests are parsed once. If a text
 * is not a manifest of the provider that sent it, only its hash and that provider are remembered,
 * for a while, to avoid parsing it again. The text may still be a manifest of another provider.
 */
enum {
    MAX_TOTAL_BYTES = 64 * 1024 * 1024,    /* chunks and schemas together */
    MAX_MANIFEST_BYTES = 16 * 1024 * 1024, /* one manifest: its schemas, and parsing it */
    /* one quarter of the total is for incomplete manifests */
    CHUNKS_SHARE = 4,
    MANIFEST_SHARE = 2,
    MAX_ASKED = 64, /* versions of one provider tried per event type */
    BAD_TEXTS = 64,
    HASH_BYTES = 16,
};

struct bad_text {
    struct guid provider;
    uint8_t hash[HASH_BYTES];
};

struct eventsource {
    struct eventsource_chunks chunks;
    struct eventsource_known known;
    struct bad_text bad[BAD_TEXTS];
    size_t bad_at; /* next entry to replace */
    size_t max_manifest_bytes;
    uint64_t refused; /* manifests that exceeded MAX_MANIFEST_BYTES */
    struct guid refused_provider;
};

/* ---- learning -------------------------------------------------------------------------------- */

/* Keep only events of the provider that sent the manifest. False if none are left. */
static bool keep_own_events(struct manifest *manifest, const struct guid *provider)
{
    size_t kept = 0;
    for (size_t i = 0; i < manifest->event_count; i++) {
        if (guid_equal(&manifest->events[i]->provider, provider)) {
            manifest->events[kept++] = manifest->events[i];
        }
    }
    manifest->event_count = kept;
    return kept > 0;
}

static bool is_bad(
    const struct eventsource *source, const struct guid *provider, const uint8_t hash[HASH_BYTES])
{
    bool is = false;
    for (size_t i = 0; i < BAD_TEXTS; i++) {
        is |= memcmp(source->bad[i].hash, hash, HASH_BYTES) == 0 &&
              guid_equal(&source->bad[i].provider, provider);
    }
    return is;
}

static void note_bad(
    struct eventsource *source, const struct guid *provider, const uint8_t hash[HASH_BYTES])
{
    struct bad_text *bad = &source->bad[source->bad_at++ % BAD_TEXTS];
    bad->provider = *provider;
    memcpy(bad->hash, hash, HASH_BYTES);
}

/* NULL if ${text} is too large or not a manifest of the provider. */
static struct manifest *parse(struct eventsource *source, const struct guid *provider,
    const uint8_t hash[HASH_BYTES], struct span text)
{
    if (is_bad(source, provider, hash)) {
        return NULL;
    }
    const struct manifest_options options = {.source = "eventsource",
        .kind = SCHEMA_EVENTSOURCE,
        .max_bytes = source->max_manifest_bytes};
    struct error err = {0};
    struct manifest *manifest = manifest_xml_parse(text, &options, &err);
    if (manifest && !keep_own_events(manifest, provider)) {
        manifest_events_destroy(manifest);
        manifest = NULL;
    }
    if (!manifest) {
        if (err.code == ERR_LIMIT || err.code == ERR_MEMORY) {
            source->refused++;
            source->refused_provider = *provider;
        }
        note_bad(source, provider, hash);
    }
    return manifest;
}

static bool learn_manifest(
    struct eventsource *source, const struct event_record *record, struct span text)
{
    XXH128_hash_t hash = XXH3_128bits(text.data, text.size);
    uint8_t bytes[HASH_BYTES];
    store_le64(bytes, hash.low64);
    store_le64(bytes + 8, hash.high64);
    struct eventsource_version *version = eventsource_known_find(
        &source->known, &record->provider, bytes);
    bool is_new = !version;
    if (is_new) {
        struct manifest *manifest = parse(source, &record->provider, bytes, text);
        version = manifest ? eventsource_known_add(&source->known, record, bytes, manifest) : NULL;
    }
    return version && (eventsource_known_claim(&source->known, record, version) || is_new);
}

static bool eventsource_learn(void *self, const struct event_record *record)
{
    struct eventsource *source = self;
    size_t size = 0;
    uint8_t *text = eventsource_chunks_add(&source->chunks, record, &size);
    bool news = text && learn_manifest(source, record, span_make(text, size));
    free(text);
    return news;
}

/* ---- look-up --------------------------------------------------------------------------------- */

static bool add_from(const struct eventsource_version *version, const struct event_record *record,
    bool is_own, struct schema_candidates *found)
{
    size_t first = 0;
    size_t count = manifest_events_find(version->manifest, &record->provider, record->descriptor.id,
        record->descriptor.version, &first);
    for (size_t i = first; i < first + count; i++) {
        if (is_own) {
            schema_candidates_add(found, version->manifest->events[i]);
        } else {
            schema_candidates_add_yielding(found, version->manifest->events[i]);
        }
    }
    return count > 0;
}

static void eventsource_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    struct eventsource *source = self;
    if (record->kind != RECORD_EVENT) {
        return;
    }
    struct eventsource_version *own = eventsource_known_own(&source->known, record);
    struct eventsource_version *other = eventsource_known_newest(&source->known, &record->provider);
    if (own) {
        add_from(own, record, true, found);
        eventsource_known_use(&source->known, own);
    }
    for (size_t asked = 0; other && asked < MAX_ASKED; other = other->older) {
        if (other != own && !other->is_renaming) {
            asked++;
            if (add_from(other, record, false, found) && !own) {
                eventsource_known_use(&source->known, other);
            }
        }
    }
}

static bool eventsource_knows_any(const void *self, const struct event_record *record)
{
    const struct eventsource *source = self;
    return eventsource_known_newest(&source->known, &record->provider) != NULL;
}

static bool eventsource_knows_own(const void *self, const struct event_record *record)
{
    const struct eventsource *source = self;
    return eventsource_known_own(&source->known, record) != NULL;
}

static struct span eventsource_provider_name(const void *self, const struct guid *provider)
{
    const struct eventsource *source = self;
    return eventsource_known_name(&source->known, provider);
}

static void eventsource_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    const struct eventsource *source = self;
    for (const struct eventsource_version *v = source->known.latest; v; v = v->earlier) {
        for (size_t i = 0; i < v->manifest->event_count; i++) {
            each(each_self, v->manifest->events[i]);
        }
    }
}

/* ---- the source ------------------------------------------------------------------------------ */

static void eventsource_losses(void *self, struct schema_losses *losses)
{
    const struct eventsource *source = self;
    const struct schema_losses refused = {
        .refused = source->refused, .provider = source->refused_provider};
    const struct schema_losses cut = {
        .refused = source->chunks.dropped, .provider = source->chunks.victim};
    schema_losses_add(losses, &refused);
    schema_losses_add(losses, &cut);
    schema_losses_add(losses, &source->known.losses);
}

static void *eventsource_create(const struct schema_source_settings *settings, struct error *err)
{
    struct eventsource *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for EventSource manifests");
        return NULL;
    }
    size_t total = schema_source_learned_bytes(settings, MAX_TOTAL_BYTES);
    size_t known = total - total / CHUNKS_SHARE;
    source->max_manifest_bytes = known / MANIFEST_SHARE < MAX_MANIFEST_BYTES
                                     ? known / MANIFEST_SHARE
                                     : MAX_MANIFEST_BYTES;
    eventsource_chunks_init(&source->chunks, total / CHUNKS_SHARE);
    eventsource_known_init(&source->known, known);
    return source;
}

static void eventsource_destroy(void *self)
{
    struct eventsource *source = self;
    if (source) {
        eventsource_chunks_fini(&source->chunks);
        eventsource_known_fini(&source->known);
        free(source);
    }
}

const struct schema_source_ops schema_source_eventsource = {
    .name = "eventsource",
    .create = eventsource_create,
    .learn = eventsource_learn,
    .find = eventsource_find,
    .knows_any = eventsource_knows_any,
    .knows_own = eventsource_knows_own,
    .losses = eventsource_losses,
    .provider_name = eventsource_provider_name,
    .list = eventsource_list,
    .destroy = eventsource_destroy,
};
