#include "pipeline/spool/spool_durable_own.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "platform/plat_clock.h"

/*
 * The durable spool as an output uses it. A cursor has some rows ahead, which the writer refills
 * (window), and the batches that its output holds (flights). Rows come in the order of ids, so a
 * flight list from its head says how far everything is settled; what is settled after an unsettled
 * one is `early`.
 *
 * A batch that is not in memory is read on the output's own thread, without the mutex. One that
 * cannot be read is tried again, and then given to the writer to be set aside: the output continues
 * after it.
 */
static const uint64_t read_again_ns = UINT64_C(1000000000);
static const uint64_t no_memory_wait_ns = UINT64_C(50000000);

enum { WORDS_MAX = 64, NO_ROUTE_WORD = '-' };

/* ---- words of a range: what its reader must know of it --------------------------------------- */

static size_t write_words(const struct spool_reader *reader, char words[WORDS_MAX])
{
    struct buf out;
    buf_init(&out, WORDS_MAX);
    buf_printf(&out, "%08x ", (unsigned)reader->stream_hash);
    if (reader->route == SIZE_MAX) {
        buf_add_byte(&out, NO_ROUTE_WORD);
    } else {
        buf_printf(&out, "%zu", reader->route);
    }
    size_t size = out.size;
    memcpy(words, out.data, size);
    buf_fini(&out);
    return size;
}

/* Words that this does not know leave the entry as its cursor is today. */
static void read_words(struct span words, struct spool_entry *entry)
{
    char text[WORDS_MAX + 1];
    char *at;
    if (!words.data || words.size > WORDS_MAX) {
        return;
    }
    memcpy(text, words.data, words.size);
    text[words.size] = 0;
    unsigned long long hash = strtoull(text, &at, 16);
    if (*at != ' ') {
        return;
    }
    entry->stream_hash = (uint32_t)hash;
    entry->route = at[1] == NO_ROUTE_WORD ? SIZE_MAX : (size_t)strtoull(at + 1, NULL, 10);
}

/* ---- the window ------------------------------------------------------------------------------ */

static struct spool_entry *window_at(struct spool_cursor *cursor, size_t index)
{
    return &cursor->window[(cursor->window_first + index) % SPOOL_WINDOW];
}

static void push_back(struct spool_cursor *cursor, const struct spool_entry *entry)
{
    *window_at(cursor, cursor->window_count++) = *entry;
}

static struct spool_entry pop_front(struct spool_cursor *cursor)
{
    struct spool_entry entry = *window_at(cursor, 0);
    cursor->window_first = (cursor->window_first + 1) % SPOOL_WINDOW;
    cursor->window_count--;
    return entry;
}

static struct spool_entry entry_of(const struct spool_cursor *cursor, const struct store_row *row)
{
    return (struct spool_entry){
        .row = *row, .route = cursor->reader.route, .stream_hash = cursor->reader.stream_hash};
}

/* The leftover of an earlier run. Without memory for it the whole batch is delivered again. */
static void fetch_left(struct spool_durable *spool, size_t index, struct spool_entry *entry)
{
    struct buf bytes;
    buf_init(&bytes, STORE_VALUE_MAX);
    if (store_left(spool->settings.store, index, entry->row.id, &bytes, NULL) && bytes.size) {
        size_t count = bytes.size / sizeof(uint32_t);
        entry->left = malloc(count * sizeof(*entry->left));
        for (size_t i = 0; entry->left && i < count; i++) {
            entry->left[i] = load_le32(bytes.data + i * sizeof(uint32_t));
            entry->left_count = i + 1;
        }
    }
    buf_fini(&bytes);
}

/* The next rows, for which there is room. False: the catalogue does not give them. */
static bool fetch_rows(struct spool_durable *spool, size_t index)
{
    enum { AT_ONCE = SPOOL_ROWS_AT_ONCE };
    struct spool_cursor *cursor = &spool->cursors[index];
    struct spool_entry entries[AT_ONCE];
    struct store_row rows[AT_ONCE];
    size_t count = 0;
    if (!store_next(spool->settings.store, index, cursor->fetched, rows, AT_ONCE, &count, NULL)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = entry_of(cursor, &rows[i]);
        entries[i].earlier = rows[i].id < spool->first_id;
        read_words(store_range_about(spool->settings.store, index, rows[i].range), &entries[i]);
        if (rows[i].has_left) {
            fetch_left(spool, index, &entries[i]);
        }
    }
    plat_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < count; i++) {
        push_back(cursor, &entries[i]);
        cursor->fetched = rows[i].id;
    }
    cursor->at_tip = count < AT_ONCE;
    plat_cond_broadcast(&cursor->ready);
    plat_mutex_unlock(&spool->mutex);
    return true;
}

bool spool_cursor_refill(struct spool_durable *spool, size_t index)
{
    bool ok = true;
    bool wanted = true;
    while (ok && wanted) {
        plat_mutex_lock(&spool->mutex);
        wanted = spool_cursor_wants_rows(&spool->cursors[index]);
        plat_mutex_unlock(&spool->mutex);
        ok = !wanted || fetch_rows(spool, index);
    }
    return ok;
}

/* The flight of batch ${id}; NULL: there is none, or it is settled. */
static struct spool_flight *flight_of(const struct spool_cursor *cursor, uint64_t id)
{
    struct spool_flight *flight = cursor->flights;
    while (flight && flight->entry.row.id < id) {
        flight = flight->next;
    }
    return flight && flight->entry.row.id == id && !flight->settled ? flight : NULL;
}

static bool is_down(const struct spool_flight *flight)
{
    return flight->put_down && !flight->batch && !flight->in_reading && !flight->damaged &&
           !flight->gone;
}

static bool lose_flight(struct spool_cursor *cursor, struct store_row *row)
{
    struct spool_flight *flight = flight_of(cursor, row->id);
    if (!flight || !is_down(flight)) {
        return false;
    }
    flight->gone = true;
    cursor->gone_count++;
    row->records = (uint32_t)flight->held;
    return true;
}

bool spool_cursor_lose(struct spool_durable *spool, size_t index, struct store_row *row)
{
    struct spool_cursor *cursor = &spool->cursors[index];
    uint64_t id = row->id;
    size_t at = 0;
    if (id <= cursor->taken) {
        return lose_flight(cursor, row);
    }
    while (at < cursor->window_count && window_at(cursor, at)->row.id < id) {
        at++;
    }
    if (at < cursor->window_count && window_at(cursor, at)->row.id == id) {
        free(window_at(cursor, at)->left);
        for (; at > 0; at--) { /* as a rule it is the oldest */
            *window_at(cursor, at) = *window_at(cursor, at - 1);
        }
        pop_front(cursor);
    }
    spool_cache_skip(spool->cache, id);
    return true;
}

bool spool_cursor_has(const struct spool_cursor *cursor, uint64_t id)
{
    const struct spool_flight *flight = flight_of(cursor, id);
    return flight && !is_down(flight);
}

/* ---- flights --------------------------------------------------------------------------------- */

static void add_flight(struct spool_cursor *cursor, struct spool_flight *flight)
{
    flight->next = NULL;
    *(cursor->last_flight ? &cursor->last_flight->next : &cursor->flights) = flight;
    cursor->last_flight = flight;
    cursor->flight_count++;
    cursor->taken = flight->entry.row.id;
}

static void free_flight(struct spool_flight *flight)
{
    free(flight->entry.left);
    free(flight->noted);
    free(flight);
}

void spool_cursor_land(struct spool_cursor *cursor)
{
    while (cursor->flights && cursor->flights->settled) {
        struct spool_flight *flight = cursor->flights;
        cursor->flights = flight->next;
        cursor->last_flight = flight->next ? cursor->last_flight : NULL;
        cursor->flight_count--;
        cursor->position = flight->entry.row.id;
        free_flight(flight);
    }
    size_t passed = 0;
    while (passed < cursor->before_count && cursor->before[passed] <= cursor->position) {
        passed++;
    }
    if (passed) {
        cursor->before_count -= passed;
        memmove(cursor->before, cursor->before + passed,
            cursor->before_count * sizeof(*cursor->before));
    }
}

bool spool_cursor_lose_damaged(struct spool_durable *spool, size_t index, struct store_row *row)
{
    struct spool_cursor *cursor = &spool->cursors[index];
    struct spool_flight *flight = flight_of(cursor, row->id);
    if (!flight || !flight->damaged) {
        return false;
    }
    row->records = flight->put_down ? (uint32_t)flight->held : row->records;
    flight->settled = true;
    spool_cursor_land(cursor);
    plat_cond_broadcast(&cursor->ready);
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_left_valid(const struct spool_entry *entry, size_t record_count)
{
    for (size_t i = 0; i < entry->left_count; i++) {
        if (entry->left[i] >= record_count || (i && entry->left[i] <= entry->left[i - 1])) {
            return false;
        }
    }
    return entry->left_count > 0;
}

/* Room for a batch, packed and unpacked: a block of those that others have given back. The sizes in
 * the row are only a hint. Returns what was taken. */
static size_t take_room(
    const struct spool_durable *spool, const struct store_row *row, struct buf *room)
{
    enum { STEP_BYTES = 64 * 1024 };
    bool packed = row->disk_bytes < row->body_bytes;
    uint64_t size = row->disk_bytes + (packed ? row->body_bytes : 0);
    buf_init(room, STORE_READ_ROOM_BYTES);
    if (size < STORE_READ_ROOM_BYTES - STEP_BYTES) {
        size_t capacity = (size_t)(size / STEP_BYTES + 1) * STEP_BYTES;
        uint8_t *block = block_pool_take(spool->settings.pool, capacity, &capacity);
        buf_adopt(room, block, block ? capacity : 0);
    }
    return room->allocated;
}

enum store_read spool_cursor_load(struct spool_durable *spool, const struct spool_entry *entry,
    struct batch **ret_batch, struct error *err)
{
    struct span body;
    struct buf room;
    struct batch *batch = NULL;
    struct block_pool *pool = spool->settings.pool;
    size_t taken = take_room(spool, &entry->row, &room);
    enum store_read result = store_read(spool->settings.store, &entry->row, &room, &body, err);
    uintptr_t block = (uintptr_t)room.data;
    if (result == STORE_READ_OK) {
        batch = batch_codec_read(&spool->codec, &room, body, err);
        bool memory = !batch && err->code == ERR_MEMORY;
        result = batch ? STORE_READ_OK : memory ? STORE_READ_FAILED : STORE_READ_DAMAGED;
    }
    bool keeps = batch && (uintptr_t)batch->piece.bytes.data == block;
    if (keeps) {
        batch->piece.pool = pool;
        batch->piece.taken_bytes = taken;
    } else { /* it cannot be read, or has moved to a smaller block: then this one is gone */
        block_pool_give(pool, room.data, taken, room.allocated);
    }
    if (batch) {
        batch->number = entry->row.id;
        batch->first_record = entry->row.first_record;
        batch->holders = 1;
        batch->memory = batch_memory(batch);
        *ret_batch = batch;
    }
    return result;
}

bool spool_cursor_report_damage(struct spool_durable *spool, const struct store_row *row)
{
    if (!grow_list(&spool->damaged, spool->damaged_count, &spool->damaged_capacity,
            sizeof(*spool->damaged))) {
        return false;
    }
    spool->damaged[spool->damaged_count++] = *row;
    plat_cond_signal(&spool->work);
    return true;
}

/* It could not be read: later, or never. Holds the mutex. */
static void put_off(struct spool_durable *spool, struct spool_cursor *cursor,
    struct spool_flight *flight, enum store_read why, bool memory)
{
    flight->tries += memory ? 0 : 1;
    bool damaged = why == STORE_READ_DAMAGED || flight->tries >= SPOOL_READ_TRIES;
    if (damaged && spool_cursor_report_damage(spool, &flight->entry.row)) {
        flight->damaged = true;
        return;
    }
    flight->waits = true;
    flight->due_ns = plat_monotonic_ns() + read_again_ns;
    cursor->waiting_count++;
    plat_cond_broadcast(&cursor->ready); /* others wait for later, if at all */
}

/* Have the batch of ${flight} in hand. False: there is none now.
 * Holds the mutex, and lets go of it. */
static bool board(
    struct spool_durable *spool, struct spool_cursor *cursor, struct spool_flight *flight)
{
    struct error err = {.code = ERR_NONE};
    struct batch *batch = spool_cache_take(spool->cache, flight->entry.row.id);
    if (batch) {
        flight->batch = batch;
        spool_durable_note_take(spool);
        return true;
    }
    plat_mutex_unlock(&spool->mutex);
    enum store_read result = spool_cursor_load(spool, &flight->entry, &batch, &err);
    bool tell = result == STORE_READ_FAILED && flight->tries == 0;
    if (tell) {
        spool_durable_warn(spool, "read", err.text);
    }
    plat_mutex_lock(&spool->mutex);
    if (result != STORE_READ_OK) {
        put_off(spool, cursor, flight, result, err.code == ERR_MEMORY);
        return false;
    }
    flight->batch = batch;
    spool_cache_count(spool->cache, batch);
    if (!is_left_valid(&flight->entry, batch->piece.count)) {
        free(flight->entry.left);
        flight->entry.left = NULL;
        flight->entry.left_count = 0;
    }
    return true;
}

/* The flight that is tried again first; NULL: none waits. */
static struct spool_flight *first_waiting(const struct spool_cursor *cursor)
{
    struct spool_flight *first = NULL;
    for (struct spool_flight *f = cursor->flights; f && cursor->waiting_count; f = f->next) {
        if (f->waits && (!first || f->due_ns < first->due_ns)) {
            first = f;
        }
    }
    return first;
}

/* True if the store accepts no more batches as settled early, including those of earlier runs. */
static bool is_far_ahead(const struct spool_cursor *cursor)
{
    return cursor->flight_count + cursor->before_count >= SPOOL_MAX_FLIGHTS;
}

/* When a batch may be taken; 0: now, UINT64_MAX: unknown. Holds the mutex. */
static uint64_t next_due(const struct spool_cursor *cursor)
{
    if (cursor->window_count && !is_far_ahead(cursor)) {
        return 0;
    }
    const struct spool_flight *waiting = first_waiting(cursor);
    uint64_t due = waiting ? waiting->due_ns : UINT64_MAX;
    return due <= plat_monotonic_ns() ? 0 : due;
}

static bool is_over(const struct spool_durable *spool, const struct spool_cursor *cursor)
{
    return spool->halted || cursor->left ||
           (spool->written && cursor->at_tip && cursor->window_count == 0 &&
               cursor->waiting_count == 0);
}

/* Take a batch that is to be tried again, or the next row. NULL: no memory after a short wait, or
 * it cannot be read now. Holds the mutex, and releases it meanwhile. */
static struct spool_flight *take(struct spool_durable *spool, struct spool_cursor *cursor)
{
    struct spool_flight *flight = first_waiting(cursor);
    if (flight && flight->due_ns <= plat_monotonic_ns()) {
        flight->waits = false;
        cursor->waiting_count--;
    } else if (cursor->window_count && (flight = calloc(1, sizeof(*flight)))) {
        flight->entry = pop_front(cursor);
        add_flight(cursor, flight);
    } else {
        plat_cond_wait_until(
            &cursor->ready, &spool->mutex, plat_monotonic_ns() + no_memory_wait_ns);
        return NULL;
    }
    if (spool_cursor_wants_rows(cursor)) {
        plat_cond_signal(&spool->work);
    }
    return board(spool, cursor, flight) ? flight : NULL;
}

static struct spool_item item_of(const struct spool_flight *flight)
{
    const struct spool_entry *entry = &flight->entry;
    return (struct spool_item){.batch = flight->batch,
        .epoch = entry->row.epoch,
        .stream_hash = entry->stream_hash,
        .route = entry->route,
        .earlier = entry->earlier,
        .left = entry->left,
        .left_count = entry->left_count,
        .bytes = entry->row.disk_bytes,
        .place = (void *)(uintptr_t)flight};
}

enum spool_next spool_cursor_next(
    struct spool *base, size_t index, uint64_t deadline_ns, struct spool_item *ret_item)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_cursor *cursor = &spool->cursors[index];
    enum spool_next result = SPOOL_NOTHING;
    bool in_time = true;
    uint64_t restless_ns = plat_monotonic_ns() + spool_restless_ns;
    plat_mutex_lock(&spool->mutex);
    while (in_time && result == SPOOL_NOTHING) {
        if (cursor->restless && restless_ns < deadline_ns) {
            deadline_ns = restless_ns;
        }
        uint64_t due = next_due(cursor);
        struct spool_flight *flight = NULL;
        if (is_over(spool, cursor)) {
            result = SPOOL_END;
        } else if (due == 0 && (flight = take(spool, cursor))) {
            *ret_item = item_of(flight);
            result = SPOOL_BATCH;
        } else if (due == 0) {
            in_time = plat_monotonic_ns() < deadline_ns;
        } else {
            uint64_t until = due < deadline_ns ? due : deadline_ns;
            in_time = plat_cond_wait_until(&cursor->ready, &spool->mutex, until) || due == until;
        }
    }
    plat_mutex_unlock(&spool->mutex);
    return result;
}

void spool_cursor_end(struct spool *base, size_t index)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_cursor *cursor = &spool->cursors[index];
    plat_mutex_lock(&spool->mutex);
    cursor->left = true;
    plat_cond_broadcast(&cursor->ready);
    plat_mutex_unlock(&spool->mutex);
}

/* ---- what became of a batch ------------------------------------------------------------------ */

void spool_cursor_ack(struct spool *base, size_t index, const struct spool_item *item, bool settled)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_cursor *cursor = &spool->cursors[index];
    struct spool_flight *flight = item->place;
    plat_mutex_lock(&spool->mutex);
    bool was_full = is_far_ahead(cursor);
    if (flight->batch) { /* else it was put down */
        spool_cache_release(spool->cache, flight->batch);
    }
    flight->batch = NULL;
    flight->settled = settled || flight->gone;
    cursor->gone_count -= flight->gone && !flight->told;
    flight->told = true;
    spool_cursor_land(cursor);
    if (was_full) {
        plat_cond_broadcast(&cursor->ready);
    }
    plat_mutex_unlock(&spool->mutex);
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool read_state(struct spool_durable *spool, struct spool_cursor *cursor, size_t output,
    const struct store_output_state *state, struct error *err)
{
    struct store *store = spool->settings.store;
    size_t count;
    const uint64_t *early = store_early(store, output, &count);
    buf_init(&cursor->stored_checkpoint, STORE_VALUE_MAX);
    cursor->before = malloc((count + 1) * sizeof(*cursor->before));
    cursor->window = malloc(SPOOL_WINDOW * sizeof(*cursor->window));
    if (!cursor->before || !cursor->window) {
        return error_set(err, ERR_MEMORY, "out of memory for a position");
    }
    for (size_t i = 0; i < count; i++) {
        cursor->before[i] = early[i];
    }
    cursor->before_count = count;
    cursor->position = state->position;
    cursor->fetched = state->position;
    cursor->taken = state->position;
    cursor->stored_position = state->position;
    const struct span *checkpoint = &cursor->reader.checkpoint;
    if (checkpoint->size == 0) {
        return store_checkpoint(store, output, &cursor->stored_checkpoint, err);
    }
    buf_add_span(&cursor->stored_checkpoint, *checkpoint);
    const struct store_progress progress = {.output = output,
        .position = state->position,
        .early = cursor->before,
        .early_count = count,
        .checkpoint = checkpoint};
    return store_progress(store, &progress, err);
}

bool spool_cursor_add(struct spool *base, const struct spool_reader *reader, size_t *ret_cursor,
    struct spool_backlog *ret_backlog, struct error *err)
{
    struct spool_durable *spool = spool_durable_of(base);
    if (spool->cursor_count == SPOOL_MAX_CURSORS) {
        return error_set(err, ERR_LIMIT, "more than %d outputs", SPOOL_MAX_CURSORS);
    }
    struct spool_cursor *cursor = &spool->cursors[spool->cursor_count];
    struct store_output_state state;
    struct store_backlog backlog;
    char words[WORDS_MAX];
    size_t size = write_words(reader, words);
    size_t output;
    struct store *store = spool->settings.store;
    if (!store_output(store, span_text(reader->name), spool->stream_ids[reader->stream],
            span_make(words, size), reader->from_head, &output, &state, err) ||
        !store_backlog(store, output, &backlog, err)) {
        return false;
    }
    cursor->reader = *reader;
    plat_cond_init(&cursor->ready);
    spool->stream_cursors[reader->stream]++;
    *ret_cursor = spool->cursor_count++;
    *ret_backlog = (struct spool_backlog){
        .batches = backlog.batches, .records = backlog.records, .bytes = backlog.bytes};
    cursor->backlog = *ret_backlog;
    return read_state(spool, cursor, output, &state, err);
}

void spool_cursor_fini(struct spool_cursor *cursor)
{
    while (cursor->flights) {
        struct spool_flight *flight = cursor->flights;
        cursor->flights = flight->next;
        free_flight(flight);
    }
    for (size_t i = 0; i < cursor->window_count; i++) {
        free(window_at(cursor, i)->left);
    }
    free(cursor->window);
    free(cursor->before);
    free(cursor->stored_early);
    buf_fini(&cursor->stored_checkpoint);
    plat_cond_fini(&cursor->ready);
}
