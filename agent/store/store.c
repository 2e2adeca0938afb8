/*
 * The parts: segments.h writes and reads files of frames; catalogue.h keeps what must be true; in
 * memory stand what outputs read and how far they are (chains.h), all streams (streams.h), changes
 * (stage.h) and batches (pending.h) that are not committed. This file has streams and outputs, store_batches.c
 * what they write and read, store_stage.c all else; store_open.c begins and ends; store_commit.c makes
 * true; store_limits.c says what there is and drops; store_tails.c and rebuild.c see to what a crash, or
 * worse, has left.
 */
#include "store/store_own.h"

#include "store/catalogue/catalogue_batches.h"
#include "store/orphans.h"

bool store_is_whole(const struct store *store, struct error *err)
{
    return store->catalogue ||
           error_set(err, ERR_DAMAGED, "%s was lost; the next commit creates it again",
               folder_catalogue(store->folder));
}

uint64_t store_epoch(const struct store *store)
{
    return numbers_epoch(store->numbers);
}

uint64_t store_last_id(const struct store *store)
{
    return numbers_last_id(store->numbers);
}

/* ---- streams and outputs ------------------------------------------------------------------------- */

bool store_stream(struct store *store, struct span key, uint32_t hash, struct span about,
    uint64_t *ret_stream, struct error *err)
{
    struct stream_entry *entry = streams_find(&store->streams, key);
    if (!entry) {
        const struct frame_stream stream = {.hash = hash, .key = key, .about = about};
        if (key.size == 0 || key.size > STORE_NAME_MAX) {
            return error_set(
                err, ERR_LIMIT, "the key of a stream has 1 to %d bytes", STORE_NAME_MAX);
        }
        entry = streams_add(&store->streams, &stream, err);
    }
    if (!entry) {
        return false;
    }
    if (!entry->is_described) {
        const struct frame_stream stream = {.stream = entry->id,
            .hash = entry->hash,
            .key = buf_span(&entry->key),
            .about = buf_span(&entry->about)};
        if (!segments_describe(store->segments, &stream, err)) {
            return false;
        }
        entry->is_described = true;
    }
    *ret_stream = entry->id;
    return true;
}

struct chain *store_chain(const struct store *store, size_t output, struct error *err)
{
    if (output >= store->chains.open_count) {
        error_set(err, ERR_MISSING, "there is no output %zu", output);
        return NULL;
    }
    return store->chains.open[output];
}

/* How many batches wait in a chain. */
static bool count_waiting(
    struct store *store, const struct chain *chain, uint64_t *ret_count, struct error *err)
{
    uint64_t count = 0;
    for (size_t i = chain->first_range; i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        struct catalogue_sum sum;
        if (!catalogue_sum_batches(store->catalogue, range->stream, chain_lower(chain, range),
                range->last, &sum, err)) {
            return false;
        }
        count += sum.batches;
    }
    *ret_count = count > chain->early_count ? count - chain->early_count : 0;
    return true;
}

/* The id before the first batch of ${stream} with one above ${after}; the last id if there is none. */
static bool find_first(
    struct store *store, uint64_t stream, uint64_t after, uint64_t *ret_before, struct error *err)
{
    struct catalogue_batch batch;
    size_t count;
    if (!catalogue_next_batches(store->catalogue, stream, after, numbers_last_id(store->numbers),
            &batch, 1, &count, err)) {
        return false;
    }
    *ret_before = count ? batch.id - 1 : numbers_last_id(store->numbers);
    return true;
}

/* The beginning of a new range of ${stream}: after the last batch; or at the first one if
 * requested; or at the batches that a rebuild has found, unless the chain's last range has batches
 * after those. */
static bool find_boundary(struct store *store, const struct chain_range *last, uint64_t stream,
    bool from_head, uint64_t *ret_boundary, struct error *err)
{
    uint64_t found;
    uint64_t next = numbers_last_id(store->numbers);
    if (orphans_find(&store->chains, stream, &found)) {
        if (last && !find_first(store, last->stream, found, &next, err)) {
            return false;
        }
        *ret_boundary = next == numbers_last_id(store->numbers) ? found
                                                                : numbers_last_id(store->numbers);
        return true;
    }
    if (from_head && !last) {
        return find_first(store, stream, 0, ret_boundary, err);
    }
    *ret_boundary = numbers_last_id(store->numbers);
    return true;
}

/* The chain continues with ${stream}, as it was or with a new range. */
static bool go_on(struct store *store, struct chain *chain, uint64_t stream, struct span about,
    bool from_head, bool *ret_changed, struct error *err)
{
    const struct chain_range *last = chain_last_range(chain);
    if (last && last->stream == stream && span_equal(buf_span(&last->about), about)) {
        *ret_changed = false;
        return true;
    }
    uint64_t boundary;
    if (!find_boundary(store, last, stream, from_head, &boundary, err)) {
        return false;
    }
    *ret_changed = last != NULL;
    return chain_extend(chain, stream, about, boundary, err) &&
           chains_trim(&store->chains, store->catalogue, numbers_last_id(store->numbers), err);
}

bool store_output(struct store *store, struct span name, uint64_t stream, struct span about,
    bool from_head, size_t *ret_output, struct store_output_state *ret_state, struct error *err)
{
    struct chain *chain = chains_find(&store->chains, name);
    struct store_output_state state = {.is_new = chain == NULL};
    if (name.size == 0 || (chain && chain->is_open) || !streams_get(&store->streams, stream)) {
        return error_set(
            err, ERR_CONFIG, "output \"%.*s\" has no stream, or is open already", SPAN_ARG(name));
    }
    if (!chain) {
        chain = chains_add(&store->chains, name, err);
    }
    if (!chain || !store_is_whole(store, err) ||
        !go_on(store, chain, stream, about, from_head, &state.is_changed, err) ||
        !count_waiting(store, chain, &state.waiting, err) ||
        !chains_open(&store->chains, chain, ret_output, err)) {
        if (chain && state.is_new) {
            chains_remove(&store->chains, chain, NULL);
        }
        return false;
    }
    chain->seen = ages_now(store->ages);
    chain->is_changed = true;
    state.position = chain->position;
    *ret_state = state;
    return true;
}

bool store_checkpoint(struct store *store, size_t output, struct buf *ret_value, struct error *err)
{
    const struct chain *chain = store_chain(store, output, err);
    if (chain) {
        buf_add_span(ret_value, buf_span(&chain->checkpoint));
    }
    return chain && (!ret_value->failed || error_set(err, ERR_MEMORY, "out of memory"));
}

const uint64_t *store_early(const struct store *store, size_t output, size_t *ret_count)
{
    const struct chain *chain = store_chain(store, output, NULL);
    *ret_count = chain ? chain->early_count : 0;
    return chain ? chain->early : NULL;
}

struct span store_range_about(const struct store *store, size_t output, size_t range)
{
    const struct chain *chain = store_chain(store, output, NULL);
    for (size_t i = 0; chain && i < chain->range_count; i++) {
        if (chain->ranges[i].ordinal == range) {
            const struct buf *about = &chain->ranges[i].about;
            return span_make(about->data ? (const void *)about->data : "", about->size);
        }
    }
    return span_make(NULL, 0);
}

bool store_remove_output(struct store *store, struct span name, bool *ret_known, struct error *err)
{
    struct chain *chain = chains_find(&store->chains, name);
    if (chain && chain->is_open) {
        return error_set(err, ERR_BUSY, "output \"%.*s\" is in use", SPAN_ARG(name));
    }
    if (chain && !chains_remove(&store->chains, chain, err)) {
        return false;
    }
    unneeded_look(store->unneeded);
    *ret_known = chain != NULL;
    return true;
}
