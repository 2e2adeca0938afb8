#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/reader.h"
#include "schema/manifest_xml.h"
#include "schema/schema_source.h"

/*
 * Manifests that .NET EventSources send into the trace, in chunks (ManifestEnvelope, EventSource.cs
 * of dotnet/runtime). A manifest belongs to the process that sent it: two processes may run two
 * versions of one provider. Its own events are read with it; events of other processes with those
 * seen latest.
 *
 * Chunks are put together per provider, process and thread, in whatever order they come (file
 * order is not time order). A chunk that cannot belong to the others starts over. Equal manifests,
 * which are sent again at every enable, are parsed once. Nothing is ever thrown away, since
 * schemas live as long as the source: at the limits new manifests are ignored.
 *
 * The versions of a provider form a list, the one seen latest first. A trace can hold thousands of
 * them and ask for thousands of event types, so only the first MAX_ASKED are asked for each type.
 */
enum {
    MAX_CHUNKS = 1024,
    MAX_PENDING = 64,                      /* manifests under way; the oldest gives way */
    MAX_KNOWN = 4096,                      /* different manifests */
    MAX_CLAIMS = 65536,                    /* (provider, process) pairs */
    MAX_ASKED = 64,                        /* versions of one provider, for one event type */
    MAX_TOTAL_BYTES = 64 * 1024 * 1024,    /* chunks and schemas */
    MAX_MANIFEST_BYTES = 16 * 1024 * 1024, /* schemas of one manifest, and parsing it */
    ENVELOPE_BYTES = 8,
    FORMAT_SIMPLE_XML = 1,
    MAGIC = 0x5b,
};

struct chunk {
    uint8_t *data; /* NULL: not seen yet */
    size_t size;
};

struct pending {
    struct guid provider;
    uint32_t process_id;
    uint32_t thread_id;
    uint8_t major_version;
    uint8_t minor_version;
    uint16_t total;
    uint16_t seen;
    size_t bytes;
    struct chunk *chunks;
    struct pending *next; /* newest first */
};

struct known {
    uint8_t key[32];           /* provider, then hash of the text */
    struct manifest *manifest; /* NULL: the text was unusable, and it is no version */
    struct known *newer;       /* versions of the same provider, by when they were last seen */
    struct known *older;
    struct known *next;
};

/* What a process said last about a provider. */
struct claim {
    uint8_t key[20]; /* provider, process id */
    struct known *known;
    struct claim *next;
};

struct eventsource {
    struct pending *pending;
    size_t pending_count;
    struct known *known;
    struct claim *claims;
    struct map known_by_key;
    struct map claims_by_key;
    struct map newest; /* by provider: its version seen latest */
    size_t bytes;
};

struct envelope {
    uint8_t major_version;
    uint8_t minor_version;
    uint16_t total;
    uint16_t number;
    struct span chunk;
};

static bool read_envelope(struct span payload, struct envelope *ret_envelope)
{
    struct reader r = reader_make(payload);
    struct envelope envelope;
    uint8_t format = reader_u8(&r);
    envelope.major_version = reader_u8(&r);
    envelope.minor_version = reader_u8(&r);
    uint8_t magic = reader_u8(&r);
    envelope.total = reader_u16(&r);
    envelope.number = reader_u16(&r);
    if (r.failed || format != FORMAT_SIMPLE_XML || magic != MAGIC || envelope.total == 0 ||
        envelope.total > MAX_CHUNKS || envelope.number >= envelope.total) {
        return false;
    }
    envelope.chunk = reader_rest(&r);
    *ret_envelope = envelope;
    return true;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static size_t pending_overhead(uint16_t total)
{
    return sizeof(struct pending) + total * sizeof(struct chunk);
}

/* Unlink and free what ${link} points to. */
static void drop_pending(struct eventsource *source, struct pending **link)
{
    struct pending *pending = *link;
    *link = pending->next;
    for (size_t i = 0; i < pending->total; i++) {
        free(pending->chunks[i].data);
    }
    source->bytes -= pending->bytes + pending_overhead(pending->total);
    source->pending_count--;
    free(pending->chunks);
    free(pending);
}

static bool belongs(const struct pending *pending, const struct event_record *record)
{
    return pending->process_id == record->process_id && pending->thread_id == record->thread_id &&
           guid_equal(&pending->provider, &record->provider);
}

static struct pending **find_pending(struct eventsource *source, const struct event_record *record)
{
    struct pending **link = &source->pending;
    while (*link && !belongs(*link, record)) {
        link = &(*link)->next;
    }
    return link;
}

static void drop_oldest(struct eventsource *source)
{
    struct pending **link = &source->pending;
    while (*link && (*link)->next) {
        link = &(*link)->next;
    }
    if (*link) {
        drop_pending(source, link);
    }
}

/* Make room for ${more} bytes; manifests under way give way, those that are known do not. */
static bool make_room(struct eventsource *source, size_t more)
{
    while (source->bytes > MAX_TOTAL_BYTES || more > MAX_TOTAL_BYTES - source->bytes) {
        if (!source->pending) {
            return false;
        }
        drop_oldest(source);
    }
    return true;
}

static struct pending *start_pending(
    struct eventsource *source, const struct event_record *record, const struct envelope *envelope)
{
    if (source->pending_count >= MAX_PENDING) {
        drop_oldest(source);
    }
    size_t overhead = pending_overhead(envelope->total);
    if (!make_room(source, overhead + envelope->chunk.size)) {
        return NULL;
    }
    struct pending *pending = calloc(1, sizeof(*pending));
    struct chunk *chunks = calloc(envelope->total, sizeof(*chunks));
    if (!pending || !chunks) {
        free(pending);
        free(chunks);
        return NULL;
    }
    *pending = (struct pending){
        .provider = record->provider,
        .process_id = record->process_id,
        .thread_id = record->thread_id,
        .major_version = envelope->major_version,
        .minor_version = envelope->minor_version,
        .total = envelope->total,
        .chunks = chunks,
        .next = source->pending,
    };
    source->pending = pending;
    source->pending_count++;
    source->bytes += overhead;
    return pending;
}

static bool fits(const struct pending *pending, const struct envelope *envelope)
{
    return pending->total == envelope->total && pending->major_version == envelope->major_version &&
           pending->minor_version == envelope->minor_version &&
           !pending->chunks[envelope->number].data;
}

static bool add_chunk(
    struct eventsource *source, struct pending *pending, const struct envelope *envelope)
{
    uint8_t *copy = malloc(envelope->chunk.size + 1);
    if (!copy) {
        return false;
    }
    if (envelope->chunk.size) {
        memcpy(copy, envelope->chunk.data, envelope->chunk.size);
    }
    pending->chunks[envelope->number] = (struct chunk){copy, envelope->chunk.size};
    pending->seen++;
    pending->bytes += envelope->chunk.size;
    source->bytes += envelope->chunk.size;
    return true;
}

/* The chunks' text in one piece, to be freed by the caller; NULL if memory ends. */
static uint8_t *join_chunks(const struct pending *pending)
{
    uint8_t *text = malloc(pending->bytes + 1);
    size_t at = 0;
    for (size_t i = 0; text && i < pending->total; i++) {
        memcpy(text + at, pending->chunks[i].data, pending->chunks[i].size);
        at += pending->chunks[i].size;
    }
    return text;
}

/* ---- manifests ------------------------------------------------------------------------------- */

static void make_claim_key(const struct guid *provider, uint32_t process_id, uint8_t key[20])
{
    memcpy(key, provider->bytes, sizeof(provider->bytes));
    store_le32(key + 16, process_id);
}

/* The provider at the front of a key. */
static struct span provider_of(const struct known *known)
{
    return span_make(known->key, sizeof(struct guid));
}

static struct known *add_known(struct eventsource *source, const uint8_t key[32], struct span text)
{
    struct known *known = make_room(source, sizeof(*known)) ? calloc(1, sizeof(*known)) : NULL;
    if (!known) {
        return NULL;
    }
    memcpy(known->key, key, sizeof(known->key));
    if (!map_put(&source->known_by_key, span_make(known->key, sizeof(known->key)), known)) {
        free(known);
        return NULL;
    }
    size_t left = MAX_TOTAL_BYTES - source->bytes;
    const struct manifest_options options = {
        .source = "eventsource",
        .kind = SCHEMA_EVENTSOURCE,
        .max_bytes = left < MAX_MANIFEST_BYTES ? left : MAX_MANIFEST_BYTES,
    };
    known->manifest = manifest_xml_parse(text, &options, NULL);
    known->next = source->known;
    source->known = known;
    source->bytes += sizeof(*known);
    source->bytes += known->manifest ? known->manifest->arena.used_bytes : 0;
    return known;
}

/* Make ${known} the first version of its provider. False only when memory ends. */
static bool move_to_front(struct eventsource *source, struct known *known)
{
    struct known *first = map_get(&source->newest, provider_of(known));
    if (first == known) {
        return true;
    }
    if (!map_put(&source->newest, provider_of(known), known)) {
        return false;
    }
    if (known->newer) {
        known->newer->older = known->older;
    }
    if (known->older) {
        known->older->newer = known->newer;
    }
    known->newer = NULL;
    known->older = first;
    if (first) {
        first->newer = known;
    }
    return true;
}

/* Remember that ${process_id} uses ${known}. True if that is news. */
static bool add_claim(struct eventsource *source, const struct guid *provider, uint32_t process_id,
    struct known *known)
{
    uint8_t key[20];
    make_claim_key(provider, process_id, key);
    struct claim *claim = map_get(&source->claims_by_key, span_make(key, sizeof(key)));
    if (claim) {
        bool news = claim->known != known;
        claim->known = known;
        return news;
    }
    claim = make_room(source, sizeof(*claim)) ? calloc(1, sizeof(*claim)) : NULL;
    if (!claim) {
        return false;
    }
    memcpy(claim->key, key, sizeof(key));
    claim->known = known;
    if (!map_put(&source->claims_by_key, span_make(claim->key, sizeof(claim->key)), claim)) {
        free(claim);
        return false;
    }
    claim->next = source->claims;
    source->claims = claim;
    source->bytes += sizeof(*claim);
    return true;
}

static bool learn_manifest(
    struct eventsource *source, const struct guid *provider, uint32_t process_id, struct span text)
{
    XXH128_hash_t hash = XXH3_128bits(text.data, text.size);
    uint8_t key[32];
    memcpy(key, provider->bytes, sizeof(provider->bytes));
    store_le64(key + 16, hash.low64);
    store_le64(key + 24, hash.high64);
    struct known *known = map_get(&source->known_by_key, span_make(key, sizeof(key)));
    bool is_new = !known;
    if (is_new) {
        known = add_known(source, key, text);
    }
    if (!known || !known->manifest || !move_to_front(source, known)) {
        return false;
    }
    return add_claim(source, provider, process_id, known) || is_new;
}

static bool eventsource_learn(void *self, const struct event_record *record)
{
    struct eventsource *source = self;
    struct envelope envelope;
    if (!record_is_manifest_data(record) || !read_envelope(record->payload, &envelope)) {
        return false;
    }
    struct pending **link = find_pending(source, record);
    if (*link && !fits(*link, &envelope)) {
        drop_pending(source, link);
        link = find_pending(source, record);
    }
    /* Making room may drop the very manifest under way: then this chunk starts it again. */
    if (*link && !make_room(source, envelope.chunk.size)) {
        return false;
    }
    link = find_pending(source, record);
    struct pending *pending = *link ? *link : start_pending(source, record, &envelope);
    if (!pending || !add_chunk(source, pending, &envelope) || pending->seen < pending->total) {
        return false;
    }
    uint8_t *text = join_chunks(pending);
    size_t size = pending->bytes;
    drop_pending(source, find_pending(source, record));
    bool news = text && learn_manifest(
                            source, &record->provider, record->process_id, span_make(text, size));
    free(text);
    return news;
}

/* ---- look-up --------------------------------------------------------------------------------- */

static void add_from(const struct known *known, const struct event_record *record, bool is_own,
    struct schema_candidates *found)
{
    size_t first = 0;
    size_t count = manifest_events_find(known->manifest, &record->provider, record->descriptor.id,
        record->descriptor.version, &first);
    for (size_t i = first; i < first + count; i++) {
        if (is_own) {
            schema_candidates_add(found, known->manifest->events[i]);
        } else {
            schema_candidates_add_yielding(found, known->manifest->events[i]);
        }
    }
}

static const struct known *known_of_process(
    const struct eventsource *source, const struct event_record *record)
{
    uint8_t key[20];
    make_claim_key(&record->provider, record->process_id, key);
    const struct claim *claim = map_get(&source->claims_by_key, span_make(key, sizeof(key)));
    return claim ? claim->known : NULL;
}

static void eventsource_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    const struct eventsource *source = self;
    if (record->kind != RECORD_EVENT) {
        return;
    }
    const struct known *own = record->present & RECORD_HAS_PROCESS
                                  ? known_of_process(source, record)
                                  : NULL;
    if (own) {
        add_from(own, record, true, found);
    }
    struct span provider = span_make(record->provider.bytes, sizeof(record->provider.bytes));
    const struct known *other = map_get(&source->newest, provider);
    for (size_t asked = 0; other && asked < MAX_ASKED; asked++, other = other->older) {
        if (other != own) {
            add_from(other, record, false, found);
        }
    }
}

static void eventsource_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    const struct eventsource *source = self;
    for (const struct known *known = source->known; known; known = known->next) {
        for (size_t i = 0; known->manifest && i < known->manifest->event_count; i++) {
            each(each_self, known->manifest->events[i]);
        }
    }
}

static void *eventsource_create(const struct schema_source_settings *settings, struct error *err)
{
    (void)settings;
    struct eventsource *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for EventSource manifests");
        return NULL;
    }
    map_init(&source->known_by_key, MAX_KNOWN);
    map_init(&source->claims_by_key, MAX_CLAIMS);
    map_init(&source->newest, MAX_KNOWN);
    return source;
}

static void eventsource_destroy(void *self)
{
    struct eventsource *source = self;
    if (!source) {
        return;
    }
    while (source->pending) {
        drop_pending(source, &source->pending);
    }
    while (source->known) {
        struct known *next = source->known->next;
        manifest_events_destroy(source->known->manifest);
        free(source->known);
        source->known = next;
    }
    while (source->claims) {
        struct claim *next = source->claims->next;
        free(source->claims);
        source->claims = next;
    }
    map_fini(&source->known_by_key);
    map_fini(&source->claims_by_key);
    map_fini(&source->newest);
    free(source);
}

const struct schema_source_ops schema_source_eventsource = {
    .name = "eventsource",
    .create = eventsource_create,
    .learn = eventsource_learn,
    .find = eventsource_find,
    .list = eventsource_list,
    .destroy = eventsource_destroy,
};
