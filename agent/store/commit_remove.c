#include "store/catalogue/catalogue_batches.h"
#include "store/commit.h"
#include "store/store_own.h"

enum {
    MAX_REMOVED = 5000, /* batches in a transaction; the next one continues */
    MAX_STREAMS = 16,   /* that are looked at, the same */
    MAX_FREED_PAGES = 64,
};

bool commit_remove_settled(struct commit *commit, struct error *err)
{
    struct store *store = commit->store;
    size_t left = MAX_REMOVED;
    for (size_t i = 0; i < store->streams.count; i++) {
        struct stream_entry *stream = &store->streams.entries[i];
        uint64_t floor = chains_floor(&store->chains, stream->id, store->last_id);
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

struct finding {
    struct commit *commit;
    struct error *err;
    bool ok;
};

static bool each_segment(void *self, const struct catalogue_segment *segment)
{
    struct finding *finding = self;
    const struct store *store = finding->commit->store;
    bool is_written_to = segment->id == store->last_segment && !store->is_in_need;
    if (segment->state == CATALOGUE_SEGMENT_LIVE && segment->batches == 0 && !is_written_to &&
        !pending_uses(&store->pending, segment->id)) {
        finding->ok = ids_add(&finding->commit->deleting, segment->id, finding->err);
    }
    return finding->ok;
}

/* Remove the row of a file that has gone only when no loss of power brings the file back: without the row the store
 * would not know that it was settled. */
static bool remove_gone(struct commit *commit, struct error *err)
{
    const struct store *store = commit->store;
    struct disk *disk = store->settings.disk;
    if (store->gone.count == 0 || !disk->ops->sync_folder(disk, store->settings.folder, NULL)) {
        return true;
    }
    commit->has_removed_files = true;
    for (size_t i = 0; i < store->gone.count; i++) {
        if (!catalogue_remove_segment(store->catalogue, store->gone.at[i], err)) {
            return false;
        }
    }
    return catalogue_shrink(store->catalogue, MAX_FREED_PAGES, err);
}

bool commit_remove_segments(struct commit *commit, struct error *err)
{
    const struct store *store = commit->store;
    struct finding finding = {.commit = commit, .err = err, .ok = true};
    bool ok = catalogue_segments(store->catalogue, each_segment, &finding, err) && finding.ok;
    for (size_t i = 0; ok && i < commit->deleting.count; i++) {
        const struct catalogue_segment segment = {
            .id = commit->deleting.at[i], .state = CATALOGUE_SEGMENT_DELETING};
        ok = catalogue_put_segment(store->catalogue, &segment, err);
    }
    return ok && remove_gone(commit, err);
}
