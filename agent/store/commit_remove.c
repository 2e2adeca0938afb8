#include "store/catalogue/catalogue_batches.h"
#include "store/commit_own.h"
#include "store/state/stream_entry.h"
#include "store/state/streams.h"

enum {
    MAX_REMOVED = 5000, /* batches in a transaction; the next one continues */
    MAX_STREAMS = 16,   /* that are looked at, the same */
};

bool commit_remove_settled(struct commit *commit, struct error *err)
{
    size_t left = MAX_REMOVED;
    struct stream_entry *stream;
    for (size_t i = 0; (stream = streams_at(commit->streams, i)); i++) {
        uint64_t floor = chains_floor(commit->chains, stream->id, commit->last_id);
        size_t removed = 0;
        stream->settling = stream->settled;
        stream->is_going = false;
        if (floor <= stream->settled || left == 0) {
            commit->is_more = commit->is_more || floor > stream->settled;
            continue;
        }
        if (!catalogue_remove_batches(commit->catalogue, stream->id, floor, left, &removed, err)) {
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
    for (size_t i = 0; i < MAX_STREAMS && streams_at(commit->streams, i); i++) {
        struct stream_entry *stream = streams_take_turn(commit->streams);
        bool is_needed = stream->is_described || !stream->is_written || stream->is_going;
        if (!is_needed &&
            !catalogue_stream_is_needed(commit->catalogue, stream->id, &is_needed, err)) {
            return false;
        }
        if (!is_needed && !catalogue_remove_stream(commit->catalogue, stream->id, err)) {
            return false;
        }
        stream->is_going = stream->is_going || !is_needed;
    }
    return true;
}
