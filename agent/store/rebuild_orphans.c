#include "store/catalogue/catalogue_batches.h"
#include "store/rebuild.h"
#include "store/state/ids.h"
#include "store/store_own.h"

/* Batches that a rebuild has found wait for outputs that are not open yet. */

/* Does a known output read the stream without end? Then it comes to what was found by itself. */
static bool is_read(const struct store *store, uint64_t stream)
{
    for (size_t i = 0; i < store->chains.count; i++) {
        const struct chain_range *last = chain_last_range(store->chains.all[i]);
        if (last && last->stream == stream) {
            return true;
        }
    }
    return false;
}

static bool add_orphan(struct store *store, uint64_t stream, uint64_t after, struct error *err)
{
    struct span name = span_text(REBUILD_ORPHANS);
    struct chain *chain = chains_find(&store->chains, name);
    if (!chain) {
        chain = chains_add(&store->chains, name, err);
    }
    struct chain_range *range = chain ? chain_add_range(chain, span_make(NULL, 0), err) : NULL;
    if (!range) {
        return false;
    }
    range->ordinal = chain->range_count == 1 ? 1 : range[-1].ordinal + 1;
    range->stream = stream;
    range->after = after;
    range->last = UINT64_MAX;
    chain->seen = ages_now(store->ages);
    chain->is_changed = true;
    return true;
}

bool rebuild_finish(struct rebuild *rebuild, struct error *err)
{
    struct store *store = rebuild->store;
    for (size_t i = 0; i < store->streams.count; i++) {
        const struct stream_entry *stream = &store->streams.entries[i];
        uint64_t after;
        if (stream->found && !catalogue_sum_again(store->catalogue, stream->id, err)) {
            return false;
        }
        if (stream->found && !is_read(store, stream->id) &&
            !rebuild_orphans(store, stream->id, &after) &&
            !add_orphan(store, stream->id, stream->found - 1, err)) {
            return false;
        }
    }
    rebuild->next.stream = store->streams.next_id;
    rebuild->next.output = store->chains.next_id;
    return catalogue_raise(store->catalogue, &rebuild->next, err) &&
           chains_write(&store->chains, store->catalogue, err);
}

bool rebuild_orphans(const struct store *store, uint64_t stream, uint64_t *ret_after)
{
    const struct chain *chain = chains_find(&store->chains, span_text(REBUILD_ORPHANS));
    for (size_t i = 0; chain && i < chain->range_count; i++) {
        if (chain->ranges[i].stream == stream) {
            *ret_after = chain->ranges[i].after;
            return true;
        }
    }
    return false;
}

static bool is_claimed(const struct store *store, uint64_t stream, uint64_t after)
{
    for (size_t i = 0; i < store->chains.open_count; i++) {
        const struct chain *chain = store->chains.open[i];
        for (size_t j = chain->first_range; j < chain->range_count; j++) {
            if (chain->ranges[j].stream == stream && chain->ranges[j].after <= after) {
                return true;
            }
        }
    }
    return false;
}

void rebuild_claim(struct store *store)
{
    struct chain *chain = chains_find(&store->chains, span_text(REBUILD_ORPHANS));
    struct ids left = {.at = NULL};
    size_t claimed = 0;
    bool ok = true;
    for (size_t i = 0; ok && chain && i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        if (is_claimed(store, range->stream, range->after)) {
            claimed++;
        } else {
            ok = ids_add(&left, range->stream, NULL) && ids_add(&left, range->after, NULL);
        }
    }
    if (ok && claimed && chains_remove(&store->chains, chain, NULL)) {
        for (size_t i = 0; i < left.count; i += 2) {
            add_orphan(store, left.at[i], left.at[i + 1], NULL);
        }
        unneeded_look(store->unneeded);
    }
    ids_fini(&left);
}
