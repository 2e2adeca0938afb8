/*
 * The parts: segments.h writes and reads files of frames; catalogue.h keeps what must be true; in
 * memory stand what outputs read and how far they are (chains.h), all streams (streams.h), changes
 * (stage.h) and batches (pending.h) that are not committed. This file stages and reads; store_open.c
 * begins and ends; store_commit.c makes true; store_limits.c says what there is and drops;
 * store_tails.c and rebuild.c see to what a crash, or worse, has left.
 *
 * Numbers are given out when a batch is appended. Before the first frame of a run is written, the
 * catalogue says, in a transaction of its own, which epoch it is and up to where numbers may be given
 * out, and again when they are used up. So a run that ends without a word leaves a hole, and none
 * begins within the numbers of another, whatever became of files that were not committed.
 */
#include "store/store_own.h"

#include <stdarg.h>
#include <stdio.h>

#include "store/catalogue_batches.h"
#include "store/catalogue_letters.h"
#include "store/catalogue_sources.h"
#include "store/rebuild.h"

void store_tell(const struct store *store, enum store_news news, const char *format, ...)
{
    if (store->settings.tell) {
        char text[1024];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        store->settings.tell(store->settings.self, news, text);
    }
}

void store_step(const struct store *store, const char *name)
{
    if (store->settings.step) {
        store->settings.step(store->settings.self, name);
    }
}

void store_let_go(const struct store *store)
{
    if (store->settings.let_go) {
        store->settings.let_go(store->settings.self);
    }
}

bool store_is_whole(const struct store *store, struct error *err)
{
    return store->catalogue ||
           error_set(err, ERR_DAMAGED, "%s was lost, and is made anew by the next commit",
               store->catalogue_path);
}

uint64_t store_epoch(const struct store *store)
{
    return store->epoch;
}

uint64_t store_last_id(const struct store *store)
{
    return store->last_id;
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

bool store_stream_about(struct store *store, uint64_t stream, uint32_t *ret_hash,
    struct buf *ret_about, struct error *err)
{
    const struct stream_entry *entry = streams_get(&store->streams, stream);
    if (!entry) {
        return error_set(err, ERR_MISSING, "there is no stream %llu", (unsigned long long)stream);
    }
    buf_add_span(ret_about, buf_span(&entry->about));
    if (ret_about->failed) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    *ret_hash = entry->hash;
    return true;
}

static struct chain *chain_of(const struct store *store, size_t output, struct error *err)
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
    if (!catalogue_next_batches(
            store->catalogue, stream, after, store->last_id, &batch, 1, &count, err)) {
        return false;
    }
    *ret_before = count ? batch.id - 1 : store->last_id;
    return true;
}

/* Where a new range of ${stream} begins: behind the last batch; at the first one if that is wanted; and
 * at what a rebuild has found, unless the chain's last range has something behind that. */
static bool find_boundary(struct store *store, const struct chain_range *last, uint64_t stream,
    bool from_head, uint64_t *ret_boundary, struct error *err)
{
    uint64_t found;
    uint64_t next = store->last_id;
    if (rebuild_orphans(store, stream, &found)) {
        if (last && !find_first(store, last->stream, found, &next, err)) {
            return false;
        }
        *ret_boundary = next == store->last_id ? found : store->last_id;
        return true;
    }
    if (from_head && !last) {
        return find_first(store, stream, 0, ret_boundary, err);
    }
    *ret_boundary = store->last_id;
    return true;
}

/* The chain goes on with ${stream}, as it was or with a new range. */
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
           chains_trim(&store->chains, store->catalogue, store->last_id, err);
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
            chains_forget(&store->chains, chain, NULL);
        }
        return false;
    }
    chain->seen = store_now(store);
    chain->is_changed = true;
    state.position = chain->position;
    *ret_state = state;
    return true;
}

bool store_checkpoint(struct store *store, size_t output, struct buf *ret_value, struct error *err)
{
    const struct chain *chain = chain_of(store, output, err);
    if (chain) {
        buf_add_span(ret_value, buf_span(&chain->checkpoint));
    }
    return chain && (!ret_value->failed || error_set(err, ERR_MEMORY, "out of memory"));
}

const uint64_t *store_early(const struct store *store, size_t output, size_t *ret_count)
{
    const struct chain *chain = chain_of(store, output, NULL);
    *ret_count = chain ? chain->early_count : 0;
    return chain ? chain->early : NULL;
}

struct span store_range_about(const struct store *store, size_t output, size_t range)
{
    const struct chain *chain = chain_of(store, output, NULL);
    for (size_t i = 0; chain && i < chain->range_count; i++) {
        if (chain->ranges[i].ordinal == range) {
            const struct buf *about = &chain->ranges[i].about;
            return span_make(about->data ? (const void *)about->data : "", about->size);
        }
    }
    return span_make(NULL, 0);
}

bool store_forget(struct store *store, struct span name, bool *ret_known, struct error *err)
{
    struct chain *chain = chains_find(&store->chains, name);
    if (chain && chain->is_open) {
        return error_set(err, ERR_BUSY, "output \"%.*s\" is in use", SPAN_ARG(name));
    }
    if (chain && !chains_forget(&store->chains, chain, err)) {
        return false;
    }
    store->has_settled = true;
    *ret_known = chain != NULL;
    return true;
}

/* ---- batches --------------------------------------------------------------------------------------- */

uint64_t store_staged_bytes(const struct store *store)
{
    return store->pending.bytes + store->stage.bytes;
}

/* What the catalogue would refuse is refused before it can stand in the way of all else. */
static bool is_good_number(uint64_t number, struct error *err)
{
    return number < STORE_NUMBER_END || error_set(err, ERR_LIMIT, "a number beyond 2^61");
}

static bool are_good_sources(const struct store_batch *batch, struct error *err)
{
    for (size_t i = 0; i < batch->source_count; i++) {
        if (!is_good_number(batch->sources[i].sequence, err)) {
            return false;
        }
    }
    return true;
}

bool store_append(struct store *store, const struct store_batch *batch, struct store_row *ret_row,
    struct error *err)
{
    const struct stream_entry *stream = streams_get(&store->streams, batch->stream);
    if (!stream || !stream->is_described) {
        return error_set(
            err, ERR_MISSING, "there is no stream %llu", (unsigned long long)batch->stream);
    }
    if (!are_good_sources(batch, err)) {
        return false;
    }
    if (store->next_id >= STORE_NUMBER_END || store->next_record >= STORE_NUMBER_END) {
        return error_set(err, ERR_LIMIT, "the spool has no numbers left: begin a new one");
    }
    struct store_row row = {.id = store->next_id,
        .stream = batch->stream,
        .epoch = store->epoch,
        .first_record = store->next_record,
        .records = batch->records,
        .body_bytes = batch->body.size,
        .first_time = batch->first_time,
        .last_time = batch->last_time,
        .entered = store_now(store)};
    if (!pending_add(&store->pending, batch, &row, err)) {
        return false;
    }
    struct segments_batch frame = pending_frame(store->pending.batches[store->pending.count - 1]);
    if (!segments_fits(&frame, err)) {
        pending_drop_last(&store->pending);
        return false;
    }
    store->next_id++;
    store->next_record += batch->records;
    *ret_row = row;
    return true;
}

struct store_row store_row_of(const struct catalogue_batch *batch)
{
    return (struct store_row){.id = batch->id,
        .stream = batch->stream,
        .epoch = batch->epoch,
        .first_record = batch->first_record,
        .records = batch->records,
        .body_bytes = batch->raw_bytes,
        .disk_bytes = batch->bytes,
        .first_time = batch->first_time,
        .last_time = batch->last_time,
        .entered = batch->entered,
        .segment = batch->segment,
        .offset = batch->offset};
}

/* Batches of a range behind ${after} that are not settled, as many as fit. */
static bool next_in_range(struct store *store, const struct chain *chain,
    const struct chain_range *range, uint64_t after, struct store_row *rows, size_t max,
    size_t *count, struct error *err)
{
    uint64_t last = range->last < store->last_id ? range->last : store->last_id;
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
            if (!chain_is_early(chain, id) && !stage_find(&store->stage, STAGE_REMOVED, id, 0)) {
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
    const struct chain *chain = chain_of(store, output, err);
    size_t count = 0;
    if (!chain || !store_is_whole(store, err)) {
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
    const struct chain *chain = chain_of(store, output, err);
    if (!chain || !store_is_whole(store, err)) {
        return false;
    }
    const struct stage_entry *staged = stage_find(&store->stage, STAGE_LEFTOVER, chain->id, id);
    if (staged) {
        buf_add_span(ret_left, staged->texts[0]);
    } else if (chain_has_left(chain, id) &&
               !catalogue_find_leftover(store->catalogue, chain->id, id, ret_left, err)) {
        return false;
    }
    return !ret_left->failed || error_set(err, ERR_MEMORY, "out of memory");
}

enum store_read store_read(struct store *store, const struct store_row *row, struct buf *room,
    struct span *ret_body, struct error *err)
{
    const struct segment_place place = {.segment = row->segment,
        .offset = row->offset,
        .bytes = (uint32_t)row->disk_bytes,
        .raw_bytes = (uint32_t)row->body_bytes};
    struct frame frame;
    struct error why = {.code = ERR_NONE};
    if (!segments_read(store->segments, &place, room, &frame, &why)) {
        error_set(err, why.code, "%s", why.text);
        return why.code == ERR_FORMAT ? STORE_READ_DAMAGED : STORE_READ_FAILED;
    }
    if (frame.kind != FRAME_BATCH || frame.batch != row->id || frame.epoch != row->epoch ||
        frame.stream != row->stream || frame.first_record != row->first_record ||
        frame.records != row->records) {
        error_set(
            err, ERR_FORMAT, "batch %llu is not where it was written", (unsigned long long)row->id);
        return STORE_READ_DAMAGED;
    }
    *ret_body = frame.body;
    return STORE_READ_OK;
}

/* ---- what else becomes true with a commit ------------------------------------------------------------ */

bool store_cursor(struct store *store, size_t output, uint64_t position, const uint64_t *early,
    size_t early_count, const struct span *checkpoint, struct error *err)
{
    struct chain *chain = chain_of(store, output, err);
    if (!chain) {
        return false;
    }
    if (position > store->last_id || (early_count && early[early_count - 1] > store->last_id)) {
        return error_set(err, ERR_LIMIT, "nothing behind batch %llu is committed",
            (unsigned long long)store->last_id);
    }
    store->has_settled = true;
    return chain_move(chain, position, early, early_count, checkpoint, err);
}

static bool is_too_long(struct span name, struct span value, struct error *err)
{
    return (name.size == 0 || name.size > STORE_NAME_MAX || value.size > STORE_VALUE_MAX) &&
           !error_set(err, ERR_LIMIT, "a name has 1 to %d bytes, a value up to %d", STORE_NAME_MAX,
               STORE_VALUE_MAX);
}

bool store_leftover(
    struct store *store, size_t output, uint64_t id, struct span left, struct error *err)
{
    struct chain *chain = chain_of(store, output, err);
    if (!chain || is_too_long(buf_span(&chain->name), left, err)) {
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

static bool stage_source(struct store *store, struct span session, uint64_t stream,
    uint64_t sequence, bool may_fall, struct error *err)
{
    const struct stage_entry entry = {
        .kind = STAGE_SOURCE, .numbers = {stream, sequence, may_fall}, .texts = {session}};
    if (!streams_get(&store->streams, stream)) {
        return error_set(err, ERR_MISSING, "there is no stream %llu", (unsigned long long)stream);
    }
    return is_good_number(sequence, err) && !is_too_long(session, span_make(NULL, 0), err) &&
           stage_put(&store->stage, &entry, err);
}

bool store_source(
    struct store *store, struct span session, uint64_t stream, uint64_t sequence, struct error *err)
{
    return stage_source(store, session, stream, sequence, false, err);
}

bool store_source_from(
    struct store *store, struct span session, uint64_t stream, uint64_t sequence, struct error *err)
{
    return stage_source(store, session, stream, sequence, true, err);
}

bool store_source_state(
    struct store *store, struct span session, struct span state, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_STATE, .texts = {session, state}};
    return !is_too_long(session, state, err) && stage_put(&store->stage, &entry, err);
}

bool store_done(struct store *store, struct span session, const uint8_t file_id[16],
    uint64_t sequence, struct error *err)
{
    const struct stage_entry entry = {
        .kind = STAGE_DONE, .numbers = {sequence}, .texts = {session, span_make(file_id, 16)}};
    return is_good_number(sequence, err) && !is_too_long(session, span_make(NULL, 0), err) &&
           stage_put(&store->stage, &entry, err);
}

bool store_live(struct store *store, struct span session, uint64_t time, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_LIVE, .numbers = {time}, .texts = {session}};
    return !is_too_long(session, span_make(NULL, 0), err) && stage_put(&store->stage, &entry, err);
}

bool store_gap(struct store *store, const struct catalogue_gap *gap, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_GAP,
        .numbers = {gap->count, gap->exact, gap->from, gap->to},
        .texts = {gap->session, gap->output, gap->stage, gap->reason, gap->unit}};
    for (size_t i = 0; i < 5; i++) {
        if (entry.texts[i].size > STORE_NAME_MAX) {
            return error_set(err, ERR_LIMIT, "a name has up to %d bytes", STORE_NAME_MAX);
        }
    }
    return is_good_number(gap->count, err) && stage_put(&store->stage, &entry, err);
}

bool store_letter(struct store *store, const struct catalogue_letter *letter, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_LETTER,
        .numbers = {store->letters + 1, letter->time, (uint64_t)letter->status},
        .texts = {letter->output, letter->type, letter->reason, letter->index, letter->route,
            letter->document_id, letter->document}};
    if (letter->output.size > STORE_NAME_MAX) {
        return error_set(err, ERR_LIMIT, "a name has up to %d bytes", STORE_NAME_MAX);
    }
    if (!stage_put(&store->stage, &entry, err)) {
        return false;
    }
    store->letters++;
    return true;
}

/* ---- reading it back --------------------------------------------------------------------------------- */

bool store_find_source(struct store *store, struct span session, uint64_t stream,
    uint64_t *ret_sequence, struct error *err)
{
    bool found;
    uint64_t sequence = 0;
    if (!store_is_whole(store, err) ||
        !catalogue_find_source(store->catalogue, session, stream, &sequence, &found, err)) {
        return false;
    }
    *ret_sequence = sequence;
    return true;
}

bool store_find_source_state(
    struct store *store, struct span session, struct buf *ret_state, struct error *err)
{
    uint64_t live;
    return store_is_whole(store, err) &&
           catalogue_find_session(store->catalogue, session, ret_state, &live, err);
}

bool store_find_done(struct store *store, struct span session, const uint8_t file_id[16],
    bool *ret_done, uint64_t *ret_sequence, struct error *err)
{
    uint64_t sequence = 0;
    if (!store_is_whole(store, err) ||
        !catalogue_find_done(store->catalogue, session, file_id, &sequence, ret_done, err)) {
        return false;
    }
    *ret_sequence = sequence;
    return true;
}

bool store_find_live(
    struct store *store, struct span session, uint64_t *ret_time, struct error *err)
{
    struct buf state;
    buf_init(&state, STORE_VALUE_MAX);
    bool ok = store_is_whole(store, err) &&
              catalogue_find_session(store->catalogue, session, &state, ret_time, err);
    buf_fini(&state);
    return ok;
}

bool store_each_gap(struct store *store, bool (*each)(void *self, const struct catalogue_gap *gap),
    void *self, struct error *err)
{
    return store_is_whole(store, err) && catalogue_gaps(store->catalogue, each, self, err);
}
