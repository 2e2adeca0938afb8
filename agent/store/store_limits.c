#include "store/store_own.h"

#include "store/backlog.h"
#include "store/catalogue/catalogue_batches.h"

enum { MAX_DROPPED = 1000, ROWS = 64, SEEN_PARTS = 16 };

/* ---- what there is --------------------------------------------------------------------------------------- */

bool store_usage(struct store *store, struct store_usage *ret_usage, struct error *err)
{
    struct catalogue_info info;
    struct catalogue_batch oldest;
    size_t found;
    if (!store_is_whole(store, err) || !catalogue_info(store->catalogue, &info, err) ||
        !catalogue_next_batches(store->catalogue, 0, 0, UINT64_MAX, &oldest, 1, &found, err)) {
        return false;
    }
    uint64_t now = ages_now(store->ages);
    uint64_t catalogue_bytes = disk_room_catalogue_bytes(store->room, store->catalogue);
    struct store_usage usage = {.bytes = disk_room_segment_bytes(store->room) + catalogue_bytes,
        .catalogue_bytes = catalogue_bytes,
        .batches = info.batches,
        .free_bytes = disk_room_free_bytes(store->room),
        .staged_bytes = store_staged_bytes(store),
        .set_aside = damaged_count(store->damaged)};
    if (found) {
        usage.oldest = oldest.entered;
        usage.oldest_ms = now > oldest.entered ? (now - oldest.entered) / 10000 : 0;
    }
    *ret_usage = usage;
    return true;
}

bool store_backlog(
    struct store *store, size_t output, struct store_backlog *ret_backlog, struct error *err)
{
    if (output >= store->chains.open_count) {
        return error_set(err, ERR_MISSING, "there is no output %zu", output);
    }
    return store_is_whole(store, err) &&
           backlog_measure(store->catalogue, store->chains.open[output], ret_backlog, err);
}

uint64_t store_capacity(const struct store *store)
{
    return disk_room_capacity(store->room, store->catalogue);
}

enum store_room store_room(struct store *store, uint64_t bytes)
{
    return disk_room_for(store->room, store->catalogue, store->pending.bytes + bytes);
}

void store_need_room(struct store *store, bool is_needed)
{
    unneeded_need_room(store->unneeded, is_needed);
}

/* ---- what is lost ------------------------------------------------------------------------------------------ */

/* Is it staged that the batch goes? */
static bool is_removed(const struct store *store, uint64_t id)
{
    return stage_find(&store->stage, STAGE_REMOVED, id, 0) != NULL;
}

/* Tell of each output that wants the batch. */
static void tell_loss(
    const struct store *store, const struct store_row *row, const struct store_loss *loss)
{
    for (size_t i = 0; i < store->chains.open_count; i++) {
        const struct chain *chain = store->chains.open[i];
        if (chain_wants(chain, row->stream, row->id)) {
            loss->lost(loss->self, i, buf_span(&chain->name), row);
        }
    }
    for (size_t i = 0; i < store->chains.count; i++) {
        const struct chain *chain = store->chains.all[i];
        if (!chain->is_open && chain_wants(chain, row->stream, row->id)) {
            loss->lost(loss->self, SIZE_MAX, buf_span(&chain->name), row);
        }
    }
}

static bool remove_batch(struct store *store, const struct catalogue_batch *batch,
    const struct store_loss *loss, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_REMOVED, .numbers = {batch->id}};
    struct store_row row = store_row_of(batch);
    if (!stage_put(&store->stage, &entry, err)) {
        return false;
    }
    unneeded_look(store->unneeded);
    tell_loss(store, &row, loss);
    return true;
}

static bool may_go(
    const struct store *store, const struct catalogue_batch *batch, const struct store_loss *loss)
{
    return !is_removed(store, batch->id) &&
           !(loss->is_busy && loss->is_busy(loss->self, batch->id));
}

static bool drop_too_old(
    struct store *store, const struct store_loss *loss, uint64_t *ret_count, struct error *err)
{
    uint64_t oldest = ages_oldest_allowed(store->ages);
    uint64_t after = 0;
    uint64_t count = 0;
    struct catalogue_batch batches[ROWS];
    size_t found = oldest ? ROWS : 0;
    while (found == ROWS && count < MAX_DROPPED) {
        if (!catalogue_next_batches(
                store->catalogue, 0, after, UINT64_MAX, batches, ROWS, &found, err)) {
            return false;
        }
        for (size_t i = 0; i < found; i++) {
            if (batches[i].entered >= oldest) {
                found = 0;
                break;
            }
            after = batches[i].id;
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

/* The batches of one stream in a segment, from the given one on. */
static bool drop_in_segment(struct store *store, const struct catalogue_batch *first,
    const struct store_loss *loss, uint64_t *ret_count, struct error *err)
{
    uint64_t after = first->id - 1;
    uint64_t count = 0;
    struct catalogue_batch batches[ROWS];
    size_t found = ROWS;
    while (found == ROWS) {
        if (!catalogue_segment_batches(
                store->catalogue, first->segment, after, batches, ROWS, &found, err)) {
            return false;
        }
        for (size_t i = 0; i < found; i++) {
            after = batches[i].id;
            if (batches[i].stream == first->stream && may_go(store, &batches[i], loss)) {
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

static bool drop_oldest(
    struct store *store, const struct store_loss *loss, uint64_t *ret_count, struct error *err)
{
    struct catalogue_batch oldest = {.id = 0};
    bool any = false;
    for (size_t i = 0; i < store->chains.count; i++) {
        struct catalogue_batch first;
        bool found;
        if (!first_of(store, store->chains.all[i], loss, &first, &found, err)) {
            return false;
        }
        if (found && (!any || first.id < oldest.id)) {
            oldest = first;
            any = true;
        }
    }
    *ret_count = 0;
    return !any || drop_in_segment(store, &oldest, loss, ret_count, err);
}

bool store_drop(struct store *store, enum store_drop why, const struct store_loss *loss,
    uint64_t *ret_count, struct error *err)
{
    if (!store_is_whole(store, err)) {
        return false;
    }
    report_step(store->report, "drop");
    return why == STORE_DROP_TOO_OLD ? drop_too_old(store, loss, ret_count, err)
                                     : drop_oldest(store, loss, ret_count, err);
}

bool store_set_aside(struct store *store, const struct store_row *row,
    const struct store_loss *loss, struct error *err)
{
    struct catalogue_batch batch;
    bool found;
    if (!store_is_whole(store, err) ||
        !catalogue_find_batch(store->catalogue, row->id, &batch, &found, err)) {
        return false;
    }
    if (!found || is_removed(store, row->id)) {
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

/* ---- outputs that have gone ---------------------------------------------------------------------------------- */

/* An open output is written as seen now and then: what it was seen last at may be that much too early. */
static void see_open(struct store *store, uint64_t now)
{
    uint64_t step = store->max_age_ms * (10000 / SEEN_PARTS);
    for (size_t i = 0; i < store->chains.open_count; i++) {
        struct chain *chain = store->chains.open[i];
        if (chain->seen < now && now - chain->seen > step) {
            chain->seen = now;
            chain->is_changed = true;
        }
    }
}

/* Count each batch that waits for the chain. Batches that the catalogue cannot read are in no
 * gap. */
static void tell_waiting(
    struct store *store, const struct chain *chain, const struct store_loss *loss)
{
    for (size_t i = chain->first_range; i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        uint64_t after = chain_lower(chain, range);
        struct catalogue_batch batches[ROWS];
        size_t found = ROWS;
        while (found == ROWS && catalogue_next_batches(store->catalogue, range->stream, after,
                                    range->last, batches, ROWS, &found, NULL)) {
            for (size_t k = 0; k < found; k++) {
                after = batches[k].id;
                if (!chain_is_early(chain, after) && !is_removed(store, after)) {
                    struct store_row row = store_row_of(&batches[k]);
                    loss->lost(loss->self, SIZE_MAX, buf_span(&chain->name), &row);
                }
            }
        }
    }
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
        SPAN_ARG(buf_span(&chain->name)), (unsigned long long)backlog.records);
    if (store->catalogue && loss) {
        tell_waiting(store, chain, loss);
    }
    chains_remove(&store->chains, chain, NULL); /* or the next time */
    unneeded_look(store->unneeded);
}

static void remove_absent(struct store *store, const struct store_loss *loss)
{
    uint64_t oldest = ages_oldest_allowed(store->ages);
    if (oldest == 0) {
        return;
    }
    see_open(store, ages_now(store->ages));
    for (size_t i = store->chains.count; i-- > 0;) {
        struct chain *chain = store->chains.all[i];
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
