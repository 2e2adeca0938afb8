#include "store/store_own.h"

/*
 * Positions of outputs. Acks become durable only here: store_progress stages the position together
 * with the checkpoint of the same moment, and the next store_commit writes both in one transaction.
 *
 * Where batches wait in segments, the output has a place in its chain of batches (chain.h). Where they wait in memory,
 * there is no chain, and the output has a position in each session (catalogue_progress.h).
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
           stage_put(&store->stage, &entry, err);
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
    bool had = chain_has_left(chain, id);
    if (!chain_set_left(chain, id, left.size != 0, err)) {
        return false;
    }
    return stage_put(&store->stage, &entry, err) || (chain_set_left(chain, id, had, NULL), false);
}

bool store_drop_checkpoint(struct store *store, struct span output, struct error *err)
{
    struct chain *chain = chains_find(&store->chains, output);
    const struct span none = span_make(NULL, 0);
    return !chain ||
           chain_move(chain, chain->position, chain->early, chain->early_count, &none, err);
}
