#include "store/state/streams.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/order.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/state/stream_entry.h"

struct streams {
    struct stream_entry *entries; /* by id */
    size_t count;
    uint64_t next_id;
    size_t turn; /* of streams_take_turn */
};

struct streams *streams_create(void)
{
    struct streams *streams = malloc(sizeof(*streams));
    if (streams) {
        *streams = (struct streams){.next_id = 1};
    }
    return streams;
}

static void fini(struct stream_entry *entry)
{
    buf_fini(&entry->key);
    buf_fini(&entry->about);
}

void streams_clear(struct streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        fini(&streams->entries[i]);
    }
    free(streams->entries);
    *streams = (struct streams){.next_id = 1};
}

void streams_destroy(struct streams *streams)
{
    if (streams) {
        streams_clear(streams);
        free(streams);
    }
}

struct stream_entry *streams_at(const struct streams *streams, size_t index)
{
    return index < streams->count ? &streams->entries[index] : NULL;
}

struct stream_entry *streams_take_turn(struct streams *streams)
{
    streams->turn = streams->count ? (streams->turn + 1) % streams->count : 0;
    return streams_at(streams, streams->turn);
}

uint64_t streams_next_id(const struct streams *streams)
{
    return streams->next_id;
}

bool streams_is_described(const struct streams *streams, uint64_t id)
{
    const struct stream_entry *entry = streams_get(streams, id);
    return entry && entry->is_described;
}

_Static_assert(offsetof(struct stream_entry, id) == 0, "order_place");

struct stream_entry *streams_get(const struct streams *streams, uint64_t id)
{
    size_t at = order_place(streams->entries, streams->count, sizeof(*streams->entries), id);
    return at < streams->count && streams->entries[at].id == id ? &streams->entries[at] : NULL;
}

struct stream_entry *streams_find(const struct streams *streams, struct span key)
{
    for (size_t i = 0; i < streams->count; i++) {
        if (span_equal(buf_span(&streams->entries[i].key), key)) {
            return &streams->entries[i];
        }
    }
    return NULL;
}

static bool fill(struct stream_entry *entry, const struct frame_stream *stream)
{
    *entry = (struct stream_entry){.hash = stream->hash};
    buf_init(&entry->key, CATALOGUE_TEXT_MAX_BYTES);
    buf_init(&entry->about, CATALOGUE_TEXT_MAX_BYTES);
    buf_add_span(&entry->key, stream->key);
    buf_add_span(&entry->about, stream->about);
    if (entry->key.failed || entry->about.failed) {
        fini(entry);
        return false;
    }
    return true;
}

struct stream_entry *streams_add(
    struct streams *streams, const struct frame_stream *stream, struct error *err)
{
    if (streams->count == STREAMS_MAX || stream->key.size > CATALOGUE_TEXT_MAX_BYTES ||
        stream->about.size > CATALOGUE_TEXT_MAX_BYTES) {
        error_set(err, ERR_LIMIT, "more than %d streams, or more than %d bytes about one",
            STREAMS_MAX, CATALOGUE_TEXT_MAX_BYTES);
        return NULL;
    }
    struct stream_entry entry;
    if (!grow_array(&streams->entries, streams->count + 1, sizeof(entry)) ||
        !fill(&entry, stream)) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    entry.id = stream->stream ? stream->stream : streams->next_id;
    streams->next_id = entry.id >= streams->next_id ? entry.id + 1 : streams->next_id;
    struct stream_entry *entries = streams->entries;
    size_t place = streams->count++;
    while (place > 0 && entries[place - 1].id > entry.id) {
        entries[place] = entries[place - 1];
        place--;
    }
    entries[place] = entry;
    return &entries[place];
}

bool streams_rename(struct streams *streams, const struct frame_stream *stream, struct error *err)
{
    struct stream_entry *entry = streams_get(streams, stream->stream);
    struct stream_entry renamed;
    if (!entry || !fill(&renamed, stream)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    fini(entry);
    entry->key = renamed.key;
    entry->about = renamed.about;
    entry->hash = renamed.hash;
    entry->is_lost = false;
    entry->is_written = false;
    return true;
}

struct loading {
    struct streams *streams;
    struct error *err;
    bool ok;
};

static bool load_one(void *self, const struct catalogue_stream *row)
{
    struct loading *loading = self;
    const struct frame_stream stream = {
        .stream = row->id, .hash = (uint32_t)row->hash, .key = row->key, .about = row->about};
    struct stream_entry *entry = streams_add(loading->streams, &stream, loading->err);
    loading->ok = entry != NULL;
    if (entry) {
        entry->is_written = true;
    }
    return loading->ok;
}

bool streams_load(struct streams *streams, struct catalogue *catalogue, struct error *err)
{
    struct loading loading = {.streams = streams, .err = err, .ok = true};
    struct catalogue_info info;
    if (!catalogue_info(catalogue, &info, err) ||
        !catalogue_streams(catalogue, load_one, &loading, err) || !loading.ok) {
        return false;
    }
    streams->next_id = info.next.stream;
    return true;
}

bool streams_write(const struct streams *streams, struct catalogue *catalogue, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < streams->count; i++) {
        const struct stream_entry *entry = &streams->entries[i];
        const struct catalogue_stream row = {.id = entry->id,
            .hash = entry->hash,
            .key = buf_span(&entry->key),
            .about = buf_span(&entry->about)};
        ok = entry->is_written || catalogue_put_stream(catalogue, &row, err);
    }
    return ok;
}

void streams_written(struct streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        streams->entries[i].is_written = true;
    }
}

void streams_settled(struct streams *streams)
{
    size_t kept = 0;
    for (size_t i = 0; i < streams->count; i++) {
        struct stream_entry *entry = &streams->entries[i];
        if (entry->is_going) {
            fini(entry);
        } else {
            entry->settled = entry->settling;
            streams->entries[kept++] = *entry;
        }
    }
    streams->count = kept;
}

void streams_unwritten(struct streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        streams->entries[i].is_written = false;
        streams->entries[i].settled = 0;
    }
}
