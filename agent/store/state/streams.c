#include "store/state/streams.h"

#include <stdlib.h>

#include "store/catalogue/catalogue_batches.h"

void streams_init(struct streams *streams)
{
    *streams = (struct streams){.next_id = 1};
}

void streams_fini(struct streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        buf_fini(&streams->entries[i].key);
        buf_fini(&streams->entries[i].about);
    }
    free(streams->entries);
    streams_init(streams);
}

struct stream_entry *streams_get(const struct streams *streams, uint64_t id)
{
    size_t low = 0;
    size_t high = streams->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (streams->entries[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < streams->count && streams->entries[low].id == id ? &streams->entries[low] : NULL;
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
        buf_fini(&entry->key);
        buf_fini(&entry->about);
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
    struct stream_entry *entries = realloc(
        streams->entries, (streams->count + 1) * sizeof(*entries));
    if (entries) {
        streams->entries = entries;
    }
    struct stream_entry entry;
    if (!entries || !fill(&entry, stream)) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    entry.id = stream->stream ? stream->stream : streams->next_id;
    streams->next_id = entry.id >= streams->next_id ? entry.id + 1 : streams->next_id;
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
    buf_fini(&entry->key);
    buf_fini(&entry->about);
    entry->key = renamed.key;
    entry->about = renamed.about;
    entry->hash = renamed.hash;
    entry->is_lost = false;
    entry->is_written = false;
    return true;
}

void streams_remove(struct streams *streams, uint64_t id)
{
    struct stream_entry *entry = streams_get(streams, id);
    if (entry) {
        buf_fini(&entry->key);
        buf_fini(&entry->about);
        size_t behind = (size_t)(streams->entries + streams->count - entry) - 1;
        memmove(entry, entry + 1, behind * sizeof(*entry));
        streams->count--;
    }
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
    return catalogue_streams(catalogue, load_one, &loading, err) && loading.ok;
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
