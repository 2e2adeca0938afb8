#include "store/catalogue/catalogue_batches.h"
#include "store/commit.h"
#include "store/store_own.h"

enum {
    MAX_REMOVED = 5000, /* batches in a transaction; the next one continues */
    MAX_STREAMS = 16,   /* that are looked at, the same */
};

bool commit_remove_settled(struct commit *commit, struct error *err)
{
    struct store *store = commit->store;
    size_t left = MAX_REMOVED;
    for (size_t i = 0; i < store->streams.count; i++) {
        struct stream_entry *stream = &store->streams.entries[i];
        uint64_t floor = chains_floor(&store->chains, stream->id, numbers_last_id(store->numbers));
        size_t removed = 0;
        stream->settling = stream->settled;
        if (floor <= stream->settled || left == 0) {
            commit->is_more = commit->is_more || floor > stream->settled;
            continue;
        }
        if (!catalogue_remove_batches(store->catalogue, stream->id, floor, left, &removed, err)) {
            return false;
        }
        left -= removed;
        if (left) {
            stream->settling = floor;
        } else {
            commit->is_more = true;
        }
    }
    return true;
}

bool commit_remove_streams(struct commit *commit, struct error *err)
{
    struct store *store = commit->store;
    for (size_t i = 0; i < MAX_STREAMS && i < store->streams.count; i++) {
        store->stream_looked_at = (store->stream_looked_at + 1) % store->streams.count;
        const struct stream_entry *stream = &store->streams.entries[store->stream_looked_at];
        bool is_needed = stream->is_described || !stream->is_written;
        if (!is_needed &&
            !catalogue_stream_is_needed(store->catalogue, stream->id, &is_needed, err)) {
            return false;
        }
        if (!is_needed && (!catalogue_remove_stream(store->catalogue, stream->id, err) ||
                              !ids_add(&commit->streams, stream->id, err))) {
            return false;
        }
    }
    return true;
}
