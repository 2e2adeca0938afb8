#include "schema/events/eventsource_chunks.h"

#include <stdlib.h>

#include "base/reader.h"

/*
 * At most MAX_PENDING manifests are incomplete at a time. When one more begins, the process with
 * the most incomplete manifests loses its oldest. So a process that begins manifests without
 * finishing them cannot block other processes.
 */
enum {
    MAX_CHUNKS = 1024,
    MAX_PENDING = 64,
    FORMAT_SIMPLE_XML = 1,
    MAGIC = 0x5b,
};

struct chunk {
    uint8_t *data; /* NULL: not received yet */
    size_t size;
};

struct eventsource_pending {
    struct guid provider;
    uint32_t process_id;
    uint32_t thread_id;
    uint8_t major_version;
    uint8_t minor_version;
    uint16_t total;
    uint16_t seen;
    size_t bytes;
    struct chunk *chunks;
    struct eventsource_pending *next;
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

/* ---- limits ---------------------------------------------------------------------------------- */

void eventsource_chunks_init(struct eventsource_chunks *chunks, size_t max_bytes)
{
    *chunks = (struct eventsource_chunks){.max_bytes = max_bytes};
}

static size_t overhead_of(uint16_t total)
{
    return sizeof(struct eventsource_pending) + total * sizeof(struct chunk);
}

/* Unlink and free the manifest that ${link} points to, if any. */
static void drop(struct eventsource_chunks *chunks, struct eventsource_pending **link)
{
    struct eventsource_pending *pending = *link;
    if (!pending) {
        return;
    }
    *link = pending->next;
    for (size_t i = 0; i < pending->total; i++) {
        free(pending->chunks[i].data);
    }
    chunks->bytes -= pending->bytes + overhead_of(pending->total);
    chunks->count--;
    free(pending->chunks);
    free(pending);
}

void eventsource_chunks_fini(struct eventsource_chunks *chunks)
{
    while (chunks->pending) {
        drop(chunks, &chunks->pending);
    }
}

/* Number of incomplete manifests of its process, up to and including this one. */
static size_t number_of(
    const struct eventsource_chunks *chunks, const struct eventsource_pending *pending)
{
    size_t number = 1;
    for (const struct eventsource_pending *p = chunks->pending; p && p != pending; p = p->next) {
        number += p->process_id == pending->process_id;
    }
    return number;
}

/* Drop the oldest manifest of the process with the most. False if there is none. */
static bool drop_one(struct eventsource_chunks *chunks)
{
    struct eventsource_pending **victim = NULL;
    size_t most = 0;
    for (struct eventsource_pending **link = &chunks->pending; *link; link = &(*link)->next) {
        size_t number = number_of(chunks, *link);
        if (number >= most) {
            most = number;
            victim = link;
        }
    }
    if (victim) {
        chunks->dropped++;
        chunks->victim = (*victim)->provider;
        drop(chunks, victim);
    }
    return victim != NULL;
}

static bool make_room(struct eventsource_chunks *chunks, size_t more)
{
    while (chunks->bytes > chunks->max_bytes || more > chunks->max_bytes - chunks->bytes) {
        if (!drop_one(chunks)) {
            return false;
        }
    }
    return true;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static struct eventsource_pending **find(
    struct eventsource_chunks *chunks, const struct event_record *record)
{
    struct eventsource_pending **link = &chunks->pending;
    while (*link &&
           !((*link)->process_id == record->process_id && (*link)->thread_id == record->thread_id &&
               guid_equal(&(*link)->provider, &record->provider))) {
        link = &(*link)->next;
    }
    return link;
}

static struct eventsource_pending *start(struct eventsource_chunks *chunks,
    const struct event_record *record, const struct envelope *envelope)
{
    if (chunks->count >= MAX_PENDING) {
        drop_one(chunks);
    }
    size_t overhead = overhead_of(envelope->total);
    if (!make_room(chunks, overhead + envelope->chunk.size)) {
        return NULL;
    }
    struct eventsource_pending *pending = calloc(1, sizeof(*pending));
    struct chunk *list = calloc(envelope->total, sizeof(*list));
    if (!pending || !list) {
        free(pending);
        free(list);
        return NULL;
    }
    *pending = (struct eventsource_pending){
        .provider = record->provider,
        .process_id = record->process_id,
        .thread_id = record->thread_id,
        .major_version = envelope->major_version,
        .minor_version = envelope->minor_version,
        .total = envelope->total,
        .chunks = list,
        .next = chunks->pending,
    };
    chunks->pending = pending;
    chunks->count++;
    chunks->bytes += overhead;
    return pending;
}

static bool fits(const struct eventsource_pending *pending, const struct envelope *envelope)
{
    return pending->total == envelope->total && pending->major_version == envelope->major_version &&
           pending->minor_version == envelope->minor_version &&
           !pending->chunks[envelope->number].data;
}

static bool add(struct eventsource_chunks *chunks, struct eventsource_pending *pending,
    const struct envelope *envelope)
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
    chunks->bytes += envelope->chunk.size;
    return true;
}

/* Join the chunks into one text; NULL if memory is short. */
static uint8_t *join(const struct eventsource_pending *pending)
{
    uint8_t *text = malloc(pending->bytes + 1);
    size_t at = 0;
    for (size_t i = 0; text && i < pending->total; i++) {
        memcpy(text + at, pending->chunks[i].data, pending->chunks[i].size);
        at += pending->chunks[i].size;
    }
    return text;
}

uint8_t *eventsource_chunks_add(
    struct eventsource_chunks *chunks, const struct event_record *record, size_t *ret_size)
{
    struct envelope envelope;
    if (!record_is_manifest_data(record) || !read_envelope(record->payload, &envelope)) {
        return NULL;
    }
    struct eventsource_pending **link = find(chunks, record);
    if (*link && !fits(*link, &envelope)) {
        drop(chunks, link);
        link = find(chunks, record);
    }
    /* Making room may drop this very manifest: then the chunk starts it again. */
    if (*link && !make_room(chunks, envelope.chunk.size)) {
        return NULL;
    }
    link = find(chunks, record);
    struct eventsource_pending *pending = *link ? *link : start(chunks, record, &envelope);
    if (!pending || !add(chunks, pending, &envelope) || pending->seen < pending->total) {
        return NULL;
    }
    uint8_t *text = join(pending);
    *ret_size = pending->bytes;
    drop(chunks, find(chunks, record));
    return text;
}
