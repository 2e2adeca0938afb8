#include "cli/text/deadletter_replay.h"

#include <stdlib.h>

#include "outputs/delivery_id.h"
#include "pipeline/deliver/delivery_host.h"

/*
 * Collects dead letters into a batch and delivers it when it is full, at the end, or when a letter
 * with an id follows one without, since either all records of a delivery have ids or none.
 */
enum { BATCH_RECORDS = 500, BATCH_BYTES = 1024 * 1024, BATCH_MAX_BYTES = 128 * 1024 * 1024 };

struct batch {
    const struct deadletter_replay *replay;
    bool routed; /* each record needs a place of its own */
    struct delivery_host *host;
    struct error *err; /* why it ends */
    bool failed;
    struct deadletter_replay_counts counts;

    struct buf bytes;
    struct buf names; /* routes and ids; places in it, as it may move */
    uint32_t ends[BATCH_RECORDS];
    uint32_t route_sizes[BATCH_RECORDS];
    uint32_t id_sizes[BATCH_RECORDS];
    uint64_t ids[BATCH_RECORDS]; /* of the letters */
    bool lost[BATCH_RECORDS];
    size_t count;
};

static void on_tell(void *self, enum delivery_news news, const char *text)
{
    struct batch *batch = self;
    if (news == DELIVERY_FAILS || news == DELIVERY_DEGRADED) {
        error_set(batch->err, ERR_IO, "output %s: %s", batch->replay->output->name, text);
    }
}

static void on_lost(void *self, size_t first, size_t count, enum delivery_loss why)
{
    struct batch *batch = self;
    for (size_t i = first; i < first + count; i++) {
        batch->lost[i] = true;
    }
    batch->counts.refused += why == DELIVERY_REJECTED ? count : 0;
}

/* Remove delivered letters. */
static bool remove_delivered(struct batch *batch)
{
    struct dead_letters *letters = batch->replay->letters;
    size_t count = 0;
    uint64_t removed;
    for (size_t i = 0; i < batch->count; i++) {
        if (!batch->lost[i]) {
            batch->ids[count++] = batch->ids[i];
        }
    }
    batch->counts.delivered += count;
    return count == 0 || letters->ops->remove(letters, batch->ids, count, &removed, batch->err);
}

static struct span take(struct span *text, size_t size)
{
    struct span taken = span_first(*text, size);
    *text = span_from(*text, size);
    return taken;
}

static void deliver(struct batch *batch)
{
    struct span routes[BATCH_RECORDS];
    struct span ids[BATCH_RECORDS];
    uint32_t route_indexes[BATCH_RECORDS];
    struct span names_left = buf_span(&batch->names);
    for (size_t i = 0; i < batch->count; i++) {
        routes[i] = take(&names_left, batch->route_sizes[i]);
        ids[i] = take(&names_left, batch->id_sizes[i]);
        route_indexes[i] = (uint32_t)i;
        batch->lost[i] = false;
    }
    const struct output_ops *ops = batch->replay->output->ops;
    bool named = ops->ids && ops->ids(batch->replay->output->settings) && batch->id_sizes[0];
    struct delivery_ids names = {.names = ids};
    struct delivery delivery = {.bytes = buf_span(&batch->bytes),
        .record_ends = batch->ends,
        .record_count = batch->count,
        .routes = batch->routed ? route_indexes : NULL,
        .route_names = batch->routed ? routes : NULL,
        .route_count = batch->routed ? batch->count : 0,
        .repeated = true,
        .refused_before = true,
        .ids = named ? &names : NULL};
    bool arrived = delivery_host_deliver(batch->host, &delivery);
    batch->failed = !remove_delivered(batch) || !arrived;
    batch->count = 0;
    buf_reset(&batch->bytes);
    buf_reset(&batch->names);
}

/* An id as delivery_id_write makes it. */
static bool is_id(struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!memchr("0123456789abcdef", text.data[i], 16)) {
            return false;
        }
    }
    return text.size > 0 && text.size <= DELIVERY_ID_MAX;
}

static bool add(struct batch *batch, const struct dead_letter *letter)
{
    size_t i = batch->count++;
    struct span id = is_id(letter->document_id) ? letter->document_id : span_make(NULL, 0);
    buf_add_span(&batch->bytes, letter->document);
    buf_add_byte(&batch->bytes, '\n');
    buf_add_span(&batch->names, letter->route);
    buf_add_span(&batch->names, id);
    batch->ends[i] = (uint32_t)batch->bytes.size;
    batch->route_sizes[i] = (uint32_t)letter->route.size;
    batch->id_sizes[i] = (uint32_t)id.size;
    batch->ids[i] = letter->id;
    batch->failed = batch->bytes.failed || batch->names.failed;
    return !batch->failed || error_set(batch->err, ERR_MEMORY, "out of memory");
}

static bool on_letter(void *self, const struct dead_letter *letter)
{
    struct batch *batch = self;
    const struct deadletter_replay *replay = batch->replay;
    if (!span_is(letter->output, replay->output->name) || !replay->wants(replay->self, letter)) {
        return true;
    }
    if (letter->document.size == 0) {
        batch->counts.skipped++;
        return true;
    }
    if (batch->routed && letter->route.size == 0) {
        batch->counts.first_unplaced = batch->counts.unplaced++ ? batch->counts.first_unplaced
                                                                : letter->id;
        return true;
    }
    bool differs = batch->count && (batch->id_sizes[0] > 0) != is_id(letter->document_id);
    if (batch->count == BATCH_RECORDS || differs ||
        (batch->count && batch->bytes.size + letter->document.size >= BATCH_BYTES)) {
        deliver(batch);
    }
    return !batch->failed && add(batch, letter);
}

bool deadletter_replay_run(const struct deadletter_replay *replay,
    struct deadletter_replay_counts *ret_counts, struct error *err)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    if (!batch) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    batch->replay = replay;
    batch->err = err;
    const struct output_ops *ops = replay->output->ops;
    batch->routed = ops->route && ops->route(replay->output->settings);
    error_set(err, ERR_IO, "output %s: it accepts no more records", replay->output->name);
    buf_init(&batch->bytes, BATCH_MAX_BYTES);
    buf_init(&batch->names, BATCH_MAX_BYTES);
    const struct output_env env = {.format = app_config_format(replay->output)};
    const struct delivery_host_settings settings = {.ops = ops,
        .env = &env,
        .settings = replay->output->settings,
        .name = replay->output->name,
        .ends_on_failure = true,
        .tell = on_tell,
        .lost = on_lost,
        .self = batch};
    batch->host = delivery_host_create(&settings, err);
    bool good = batch->host && replay->letters->ops->each(replay->letters, on_letter, batch, err) &&
                !batch->failed;
    if (good && batch->count) {
        deliver(batch);
        good = !batch->failed;
    }
    delivery_host_destroy(batch->host);
    *ret_counts = batch->counts;
    buf_fini(&batch->bytes);
    buf_fini(&batch->names);
    free(batch);
    return good;
}
