/*
 * The store is made of parts, each with a struct that its own file alone knows: segments.h writes
 * and reads files of frames; catalogue.h keeps what must be true; in memory stand what outputs read
 * and how far they are (chains.h), all streams (streams.h), changes (stage.h) and batches
 * (pending.h) that are not committed; numbers.h gives out ids, ages.h knows the time, disk_room.h
 * how much room there is, unneeded.h which files go.
 *
 * This file has streams and outputs, with what they read and how far they are; store_batches.c
 * batches; store_stage.c all else that is staged; store_open.c begins and ends;
 * store_commit.c makes true; store_limits.c says what there is and drops; tails.c and rebuild.c see
 * to what a crash, or worse, has left.
 */
#include "store/store_own.h"

#include "store/catalogue/catalogue_batches.h"
#include "store/chain_own.h"
#include "store/orphans.h"
#include "store/state/stage.h"
#include "store/state/stage_entry.h"
#include "store/state/stream_entry.h"
#include "store/state/streams.h"

struct catalogue *store_catalogue(const struct store *store, struct error *err)
{
    if (!store->catalogue) {
        error_set(err, ERR_DAMAGED, "%s was lost; the next commit creates it again",
            folder_catalogue(store->folder));
    }
    return store->catalogue;
}

uint64_t store_last_id(const struct store *store)
{
    return numbers_last_id(store->numbers);
}

/* ---- streams and outputs --------------------------------------------------------------------- */

bool store_stream(struct store *store, struct span key, uint32_t hash, struct span about,
    uint64_t *ret_stream, struct error *err)
{
    struct stream_entry *entry = streams_find(store->streams, key);
    if (!entry) {
        const struct frame_stream stream = {.hash = hash, .key = key, .about = about};
        if (key.size == 0 || key.size > STORE_NAME_MAX) {
            return error_set(
                err, ERR_LIMIT, "the key of a stream has 1 to %d bytes", STORE_NAME_MAX);
        }
        entry = streams_add(store->streams, &stream, err);
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
    struct chain *chain = chains_open_at(store->chains, output);
    if (!chain) {
        error_set(err, ERR_MISSING, "there is no output %zu", output);
    }
    return chain;
}

/* The id before the first batch of ${stream} with one above ${after}; the last id if there is
 * none. */
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
    if (orphans_find(store->chains, stream, &found)) {
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
           chains_trim(store->chains, store->catalogue, numbers_last_id(store->numbers), err);
}

bool store_output(struct store *store, struct span name, uint64_t stream, struct span about,
    bool from_head, size_t *ret_output, struct store_output_state *ret_state, struct error *err)
{
    struct chain *chain = chains_find(store->chains, name);
    struct store_output_state state = {.is_new = chain == NULL};
    if (name.size == 0 || (chain && chain->is_open) || !streams_get(store->streams, stream)) {
        return error_set(
            err, ERR_CONFIG, "output \"%.*s\" has no stream, or is open already", SPAN_ARG(name));
    }
    if (!chain) {
        chain = chains_add(store->chains, name, err);
    }
    if (!chain || !store_catalogue(store, err) ||
        !go_on(store, chain, stream, about, from_head, &state.is_changed, err) ||
        !chains_open(store->chains, chain, ret_output, err)) {
        if (chain && state.is_new) {
            chains_remove(store->chains, chain, NULL);
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

/* ---- what they read -------------------------------------------------------------------------- */

/* Batches of a range after ${after} that are not settled, as many as fit. */
static bool next_in_range(struct store *store, const struct chain *chain,
    const struct chain_range *range, uint64_t after, struct store_row *rows, size_t max,
    size_t *count, struct error *err)
{
    uint64_t last = range->last < numbers_last_id(store->numbers) ? range->last
                                                                  : numbers_last_id(store->numbers);
    uint64_t lower = chain_lower(chain, range);
    lower = lower > after ? lower : after;
    while (*count < max && lower < last) {
        struct catalogue_batch batches[32];
        size_t most = sizeof(batches) / sizeof(batches[0]);
        size_t found;
        if (!catalogue_next_batches(store->catalogue, range->stream, lower, last, batches,
                max - *count < most ? max - *count : most, &found, err)) {
            return false;
        }
        for (size_t i = 0; i < found; i++) {
            uint64_t id = batches[i].id;
            lower = id;
            if (!chain_is_early(chain, id) && !stage_is_removed(store->stage, id)) {
                struct store_row *row = &rows[(*count)++];
                *row = store_row_of(&batches[i]);
                row->range = (size_t)range->ordinal;
                row->has_left = chain_has_left(chain, id);
            }
        }
        if (found == 0) {
            break;
        }
    }
    return true;
}

bool store_next(struct store *store, size_t output, uint64_t after, struct store_row *rows,
    size_t max, size_t *ret_count, struct error *err)
{
    const struct chain *chain = store_chain(store, output, err);
    size_t count = 0;
    if (!chain || !store_catalogue(store, err)) {
        return false;
    }
    for (size_t i = chain->first_range; i < chain->range_count && count < max; i++) {
        if (!next_in_range(store, chain, &chain->ranges[i], after, rows, max, &count, err)) {
            return false;
        }
    }
    *ret_count = count;
    return true;
}

bool store_left(
    struct store *store, size_t output, uint64_t id, struct buf *ret_left, struct error *err)
{
    const struct chain *chain = store_chain(store, output, err);
    if (!chain || !store_catalogue(store, err)) {
        return false;
    }
    const struct span *staged = stage_left(store->stage, chain->id, id);
    if (staged) {
        buf_add_span(ret_left, *staged);
    } else if (chain_has_left(chain, id) &&
               !catalogue_find_leftover(store->catalogue, chain->id, id, ret_left, err)) {
        return false;
    }
    return !ret_left->failed || error_set(err, ERR_MEMORY, "out of memory");
}

/* ---- how far they are ------------------------------------------------------------------------ */

/*
 * Positions of outputs. Acks become durable only here: store_progress stages the position together
 * with the checkpoint of the same moment, and the next store_commit writes both in one transaction.
 *
 * Where batches wait in segments, the output has a place in its chain of batches (chain.h). Where
 * they wait in memory, there is no chain, and the output has a position in each session
 * (catalogue_progress.h).
 */
static bool stage_place(
    struct store *store, const struct store_progress *progress, struct error *err)
{
    struct chain *chain = store_chain(store, progress->output, err);
    const uint64_t *early = progress->early;
    size_t count = progress->early_count;
    if (!chain) {
        return false;
    }
    if (progress->position > numbers_last_id(store->numbers) ||
        (count && early[count - 1] > numbers_last_id(store->numbers))) {
        return error_set(err, ERR_LIMIT, "no batch after %llu is committed",
            (unsigned long long)numbers_last_id(store->numbers));
    }
    unneeded_look(store->unneeded);
    return chain_move(chain, progress->position, early, count, progress->checkpoint, err);
}

static bool stage_row(struct store *store, const struct store_progress *progress, struct error *err)
{
    const struct span none = span_make(NULL, 0);
    const struct stage_entry entry = {.kind = STAGE_PROGRESS,
        .texts = {progress->name, progress->sessions,
            progress->checkpoint ? *progress->checkpoint : none}};
    return !store_is_too_long(progress->name, entry.texts[1], err) &&
           !store_is_too_long(progress->name, entry.texts[2], err) &&
           stage_put(store->stage, &entry, err);
}

bool store_progress(struct store *store, const struct store_progress *progress, struct error *err)
{
    return progress->name.size ? stage_row(store, progress, err)
                               : stage_place(store, progress, err);
}

bool store_leftover(
    struct store *store, size_t output, uint64_t id, struct span left, struct error *err)
{
    struct chain *chain = store_chain(store, output, err);
    if (!chain || store_is_too_long(buf_span(&chain->name), left, err)) {
        return false;
    }
    const struct stage_entry entry = {
        .kind = STAGE_LEFTOVER, .numbers = {chain->id, id}, .texts = {left}};
    bool had_left = chain_has_left(chain, id);
    if (!chain_set_left(chain, id, left.size != 0, err)) {
        return false;
    }
    return stage_put(store->stage, &entry, err) ||
           (chain_set_left(chain, id, had_left, NULL), false);
}

bool store_drop_checkpoint(struct store *store, struct span output, struct error *err)
{
    struct chain *chain = chains_find(store->chains, output);
    const struct span none = span_make(NULL, 0);
    return !chain ||
           chain_move(chain, chain->position, chain->early, chain->early_count, &none, err);
}
