#include "store/store_own.h"

#include "base/filetime.h"
#include "store/backlog.h"
#include "store/chain_own.h"
#include "store/state/stage.h"
#include "store/state/stage_entry.h"

enum { MAX_DROPPED = 1000, ROWS = 64, SEEN_PARTS = 16 };

/* ---- what there is --------------------------------------------------------------------------- */

bool store_usage(struct store *store, struct store_usage *ret_usage, struct error *err)
{
    struct catalogue_info info;
    struct catalogue_batch oldest;
    size_t found;
    if (!store_catalogue(store, err) || !catalogue_info(store->catalogue, &info, err) ||
        !catalogue_next_batches(store->catalogue, 0, 0, UINT64_MAX, &oldest, 1, &found, err)) {
        return false;
    }
    uint64_t now = ages_now(store->ages);
    uint64_t catalogue_bytes = disk_room_catalogue_bytes(store->room);
    struct store_usage usage = {.bytes = disk_room_segment_bytes(store->room) + catalogue_bytes,
        .catalogue_bytes = catalogue_bytes,
        .batches = info.batches,
        .free_bytes = disk_room_free_bytes(store->room)};
    if (found) {
        usage.oldest = oldest.entered;
        usage.oldest_ms = now > oldest.entered ? (now - oldest.entered) / FILETIME_PER_MS : 0;
    }
    *ret_usage = usage;
    return true;
}

bool store_backlog(
    struct store *store, size_t output, struct store_backlog *ret_backlog, struct error *err)
{
    const struct chain *chain = store_chain(store, output, err);
    return chain && store_catalogue(store, err) &&
           backlog_measure(store->catalogue, chain, ret_backlog, err);
}

uint64_t store_capacity(const struct store *store)
{
    return disk_room_capacity(store->room);
}

enum store_room store_room(struct store *store, uint64_t bytes)
{
    return disk_room_for(store->room, store->catalogue, pending_bytes(store->pending) + bytes);
}

void store_need_room(struct store *store, bool is_needed)
{
    unneeded_need_room(store->unneeded, is_needed);
}

/* ---- what is lost ---------------------------------------------------------------------------- */

/* Tell of each output that wants the batch. */
static void tell_loss(
    const struct store *store, const struct store_row *row, const struct store_loss *loss)
{
    const struct chain *chain;
    for (size_t i = 0; (chain = chains_open_at(store->chains, i)); i++) {
        if (chain_wants(chain, row->stream, row->id)) {
            loss->lost(loss->self, i, chain_name(chain), row);
        }
    }
    for (size_t i = 0; (chain = chains_at(store->chains, i)); i++) {
        if (!chain->is_open && chain_wants(chain, row->stream, row->id)) {
            loss->lost(loss->self, SIZE_MAX, chain_name(chain), row);
        }
    }
}

static bool remove_batch(struct store *store, const struct catalogue_batch *batch,
    const struct store_loss *loss, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_REMOVED, .numbers = {batch->id}};
    struct store_row row = store_row_of(batch);
    if (!stage_put(store->stage, &entry, err)) {
        return false;
    }
    unneeded_look(store->unneeded);
    tell_loss(store, &row, loss);
    return true;
}

static bool may_go(
    const struct store *store, const struct catalogue_batch *batch, const struct store_loss *loss)
{
    return !stage_is_removed(store->stage, batch->id) &&
           !(loss->is_busy && loss->is_busy(loss->self, batch->id));
}

/* Which batches go: those after ${after}, by their ids, up to the first that is none of these. */
struct dropping {
    uint64_t stream; /* 0: of any */
    uint64_t after;
    uint64_t segment; /* 0: in any; a stream's batches in a segment follow one another */
    uint64_t before;  /* entered before this time; 0: none */
    uint64_t most;    /* once so many went, those that were read with them are the last */
};

static bool drop(struct store *store, struct dropping what, const struct store_loss *loss,
    uint64_t *ret_count, struct error *err)
{
    uint64_t count = 0;
    struct catalogue_batch batches[ROWS];
    size_t found = what.before ? ROWS : 0;
    while (found == ROWS && count < what.most) {
        if (!catalogue_next_batches(store->catalogue, what.stream, what.after, UINT64_MAX, batches,
                ROWS, &found, err)) {
            return false;
        }
        for (size_t i = 0; i < found; i++) {
            if (batches[i].entered >= what.before ||
                (what.segment && batches[i].segment != what.segment)) {
                found = 0;
                break;
            }
            what.after = batches[i].id;
            if (may_go(store, &batches[i], loss)) {
                if (!remove_batch(store, &batches[i], loss, err)) {
                    return false;
                }
                count++;
            }
        }
    }
    *ret_count = count;
    return true;
}

/* The first batch after ${after} that a chain waits for, and that may go. */
static bool first_of(struct store *store, const struct chain *chain, const struct store_loss *loss,
    struct catalogue_batch *ret_batch, bool *ret_found, struct error *err)
{
    *ret_found = false;
    for (size_t i = chain->first_range; i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        uint64_t lower = chain_lower(chain, range);
        struct catalogue_batch batches[ROWS];
        size_t found = ROWS;
        while (found == ROWS) {
            if (!catalogue_next_batches(store->catalogue, range->stream, lower, range->last,
                    batches, ROWS, &found, err)) {
                return false;
            }
            for (size_t j = 0; j < found; j++) {
                lower = batches[j].id;
                if (!chain_is_early(chain, lower) && may_go(store, &batches[j], loss)) {
                    if (!*ret_found || lower < ret_batch->id) {
                        *ret_batch = batches[j];
                        *ret_found = true;
                    }
                    found = 0;
                    break;
                }
            }
        }
    }
    return true;
}

static bool drop_oldest(
    struct store *store, const struct store_loss *loss, uint64_t *ret_count, struct error *err)
{
    struct catalogue_batch oldest = {.id = 0};
    bool any = false;
    const struct chain *chain;
    for (size_t i = 0; (chain = chains_at(store->chains, i)); i++) {
        struct catalogue_batch first;
        bool found;
        if (!first_of(store, chain, loss, &first, &found, err)) {
            return false;
        }
        if (found && (!any || first.id < oldest.id)) {
            oldest = first;
            any = true;
        }
    }
    const struct dropping rest_of_segment = {.stream = oldest.stream,
        .after = oldest.id - 1,
        .segment = oldest.segment,
        .before = UINT64_MAX,
        .most = UINT64_MAX};
    *ret_count = 0;
    return !any || drop(store, rest_of_segment, loss, ret_count, err);
}

bool store_drop(struct store *store, enum store_drop why, const struct store_loss *loss,
    uint64_t *ret_count, struct error *err)
{
    if (!store_catalogue(store, err)) {
        return false;
    }
    report_step(store->report, "drop");
    if (why == STORE_DROP_FULL) {
        return drop_oldest(store, loss, ret_count, err);
    }
    const struct dropping too_old = {
        .before = ages_oldest_allowed(store->ages), .most = MAX_DROPPED};
    return drop(store, too_old, loss, ret_count, err);
}

bool store_set_aside(struct store *store, const struct store_row *row,
    const struct store_loss *loss, struct error *err)
{
    struct catalogue_batch batch;
    bool found;
    if (!store_catalogue(store, err) ||
        !catalogue_find_batch(store->catalogue, row->id, &batch, &found, err)) {
        return false;
    }
    if (!found || stage_is_removed(store->stage, row->id)) {
        return true;
    }
    if (!remove_batch(store, &batch, loss, err)) {
        return false;
    }
    damaged_copy(store->damaged, batch.segment, batch.offset, batch.bytes, "batch-damaged");
    report_news(store->report, STORE_NEWS_DAMAGED,
        "batch %llu with %lu records cannot be read and is lost: its remains are in %s",
        (unsigned long long)row->id, (unsigned long)batch.records, folder_damaged(store->folder));
    return true;
}

/* ---- outputs that have gone ------------------------------------------------------------------ */

struct telling {
    struct store *store;
    const struct chain *chain;
    const struct store_loss *loss;
};

static bool tell_waiting(void *self, const struct catalogue_batch *batch)
{
    const struct telling *telling = self;
    if (!stage_is_removed(telling->store->stage, batch->id)) {
        struct store_row row = store_row_of(batch);
        telling->loss->lost(telling->loss->self, SIZE_MAX, chain_name(telling->chain), &row);
    }
    return true;
}

/* ${loss} may be NULL. */
static void remove_output(struct store *store, struct chain *chain, const struct store_loss *loss)
{
    struct store_backlog backlog = {.records = 0};
    if (store->catalogue) {
        backlog_measure(store->catalogue, chain, &backlog, NULL);
    }
    report_news(store->report, STORE_NEWS_OUTPUT_REMOVED,
        "output \"%.*s\" was not in the configuration for max_age: the %llu records that wait for "
        "it are dropped",
        SPAN_ARG(chain_name(chain)), (unsigned long long)backlog.records);
    if (store->catalogue && loss) {
        /* Batches that the catalogue cannot read are in no gap. */
        struct telling telling = {.store = store, .chain = chain, .loss = loss};
        backlog_each(store->catalogue, chain, tell_waiting, &telling, NULL);
    }
    chains_remove(store->chains, chain, NULL); /* or the next time */
    unneeded_look(store->unneeded);
}

static void remove_absent(struct store *store, const struct store_loss *loss)
{
    struct chain *chain;
    uint64_t oldest = ages_oldest_allowed(store->ages);
    if (oldest == 0) {
        return;
    }
    uint64_t now = ages_now(store->ages);
    uint64_t step = (now - oldest) / SEEN_PARTS; /* by which the time may be too early */
    for (size_t i = 0; (chain = chains_open_at(store->chains, i)); i++) {
        if (chain->seen < now && now - chain->seen > step) {
            chain->seen = now;
            chain->is_changed = true;
        }
    }
    for (size_t i = chains_count(store->chains); i-- > 0;) {
        chain = chains_at(store->chains, i);
        if (!chain->is_open && chain->seen < oldest) {
            remove_output(store, chain, loss);
        }
    }
}

void store_remove_absent(struct store *store)
{
    if (!store->caller_removes_old) {
        remove_absent(store, NULL);
    }
}

void store_remove_old(struct store *store, const struct store_loss *loss)
{
    store->caller_removes_old = true;
    remove_absent(store, loss);
}
