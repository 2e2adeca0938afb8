#include "store/store_own.h"

#include "store/backlog.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/damaged.h"
#include "store/letters/letter_files.h"

enum { ASK_FREE_MS = 1000, MAX_DROPPED = 1000, ROWS = 64 };

/* ---- what there is --------------------------------------------------------------------------------------- */

void store_look_at_disk(struct store *store)
{
    struct segments_usage usage;
    uint64_t free_bytes;
    store->free_asked_ms = age_clock_monotonic_ms(&store->clock);
    bool known = segments_free_bytes(store->segments, &free_bytes, NULL);
    store->free_bytes = known ? free_bytes : UINT64_MAX;
    uint64_t files;
    store->letter_bytes = letter_files_bytes(store->letters_path, &files);
    segments_usage(store->segments, &usage);
    if (!usage.ballast && known && !store->settings.no_batches) {
        segments_keep_ballast(store->segments, store->settings.min_free_bytes);
    }
    if (store->catalogue && known && !store->is_in_memory && free_bytes >= STORE_SOME_ROOM_BYTES) {
        catalogue_reserve(store->catalogue, NULL);
    }
}

/* With the files of dead letters. */
static uint64_t bytes_of_catalogue(const struct store *store)
{
    return (store->catalogue ? catalogue_disk_bytes(store->catalogue) : 0) + store->letter_bytes;
}

static uint64_t bytes_on_disk(const struct store *store)
{
    struct segments_usage usage;
    segments_usage(store->segments, &usage);
    return usage.bytes + bytes_of_catalogue(store);
}

bool store_usage(struct store *store, struct store_usage *ret_usage, struct error *err)
{
    struct catalogue_info info;
    struct catalogue_batch oldest;
    size_t found;
    if (!store_is_whole(store, err) || !catalogue_info(store->catalogue, &info, err) ||
        !catalogue_next_batches(store->catalogue, 0, 0, UINT64_MAX, &oldest, 1, &found, err)) {
        return false;
    }
    uint64_t now = store_now(store);
    struct store_usage usage = {.bytes = bytes_on_disk(store),
        .catalogue_bytes = bytes_of_catalogue(store),
        .batches = info.batches,
        .free_bytes = store->free_bytes,
        .staged_bytes = store_staged_bytes(store),
        .set_aside = store->set_aside};
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

/* The catalogue counts too, but as a quarter of all at most, because dropping batches does not
 * shrink it. */
static uint64_t limit_of_segments(const struct store *store)
{
    uint64_t max_bytes = store->settings.max_bytes;
    uint64_t catalogue = bytes_of_catalogue(store);
    return max_bytes - (catalogue < max_bytes / 4 ? catalogue : max_bytes / 4);
}

uint64_t store_capacity(const struct store *store)
{
    uint64_t capacity = store->settings.max_bytes ? limit_of_segments(store) : UINT64_MAX;
    struct segments_usage usage;
    segments_usage(store->segments, &usage);
    if (store->free_bytes < UINT64_MAX - usage.bytes) {
        uint64_t floor = store->settings.min_free_bytes;
        uint64_t disk = store->free_bytes > floor ? store->free_bytes - floor : 0;
        disk += usage.bytes;
        capacity = disk < capacity ? disk : capacity;
    }
    return capacity;
}

enum store_room store_room(struct store *store, uint64_t bytes)
{
    uint64_t max_bytes = limit_of_segments(store);
    uint64_t min_free = store->settings.min_free_bytes;
    uint64_t more = store->pending.bytes + bytes;
    enum store_room room = STORE_ROOM_OK;
    struct segments_usage usage;
    if (age_clock_monotonic_ms(&store->clock) - store->free_asked_ms >= ASK_FREE_MS) {
        store_look_at_disk(store);
    }
    segments_usage(store->segments, &usage);
    if (max_bytes && usage.bytes + more > max_bytes) {
        room = STORE_ROOM_FULL;
    } else if (store->is_disk_full ||
               (min_free && (store->free_bytes < more || store->free_bytes - more < min_free))) {
        room = STORE_ROOM_DISK;
    }
    return room;
}

void store_need_room(struct store *store, bool is_needed)
{
    unneeded_need_room(store->unneeded, is_needed);
}

/* ---- what is lost ------------------------------------------------------------------------------------------ */

bool store_is_removed(const struct store *store, uint64_t id)
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
    return !store_is_removed(store, batch->id) &&
           !(loss->is_busy && loss->is_busy(loss->self, batch->id));
}

static bool drop_too_old(
    struct store *store, const struct store_loss *loss, uint64_t *ret_count, struct error *err)
{
    uint64_t oldest = store_oldest_allowed(store);
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
    store_step(store, "drop");
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
    if (!found || store_is_removed(store, row->id)) {
        return true;
    }
    if (!remove_batch(store, &batch, loss, err)) {
        return false;
    }
    damaged_copy(store, batch.segment, batch.offset, batch.bytes, "batch-damaged");
    store_tell(store, STORE_NEWS_DAMAGED,
        "batch %llu with %lu records cannot be read and is lost: its remains are in %s",
        (unsigned long long)row->id, (unsigned long)batch.records, store->damaged_path);
    return true;
}
