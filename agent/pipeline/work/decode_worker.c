#include <stdlib.h>

#include "pipeline/record/event_text.h"
#include "pipeline/work/decode_worker_own.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * One thread. State is kept by session (cache, paths) and by session and stream (writer). The loop
 * over a slab's events neither locks, allocates nor calls the system, except to grow the pieces.
 *
 * An event that has no room is tried again when there is: the worker hands over what it has and
 * waits, which holds back its source; nothing is left out.
 */
enum { NO_MEMORY_WAIT_MS = 50, MAX_ROUTE_BYTES = 64 * 1024 };

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Reserve room for the output, estimated from the last slab, and twice that if the piece becomes a
 * batch to which the next one is appended. Without memory this is not an error. */
static void reserve(struct piece *piece, size_t last_bytes, size_t batch_bytes)
{
    size_t room = last_bytes + last_bytes / 8;
    if (last_bytes > batch_bytes / 4 && last_bytes <= batch_bytes / 2) {
        room = batch_bytes;
    }
    if (room < PIECE_FULL_BYTES) {
        piece_reserve(piece, room);
    }
}

static bool make_pieces(struct decode_worker *worker, struct slab *slab)
{
    const struct context *context = &worker->contexts[slab->session];
    size_t count = context->session->stream_count;
    slab->pieces = calloc(count ? count : 1, sizeof(*slab->pieces));
    slab->rolls = calloc(count ? count : 1, sizeof(*slab->rolls));
    if (!slab->pieces || !slab->rolls) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct context_stream *to = &context->streams[i];
        if (!piece_init(&slab->pieces[i], to->stream->route_count, worker->settings.pool)) {
            return false;
        }
        reserve(&slab->pieces[i], to->last_bytes, to->stream->batch_bytes);
        slab->piece_count++;
    }
    return true;
}

/* False: the agent stops, and nothing waits any more. */
static bool wait_for_memory(const struct decode_worker *worker)
{
    bool go_on = !sealer_is_cancelled(worker->settings.sealer) &&
                 !slab_queue_is_cancelled(worker->settings.queue);
    if (go_on) {
        plat_sleep_ms(NO_MEMORY_WAIT_MS);
    }
    return go_on;
}

static size_t pieces_size(const struct slab *slab)
{
    size_t size = 0;
    for (size_t i = 0; i < slab->piece_count; i++) {
        size += piece_size(&slab->pieces[i]);
    }
    return size;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Either an event, or what the agent says itself. */
struct item {
    const struct event *event;
    struct slab *slab;
    struct context *context; /* of its session */
    uint64_t sequence;       /* there; 0: it has none */
};

static bool write_text(
    const struct context_stream *to, const struct item *item, struct buf *out, bool *ret_cut)
{
    const struct slab *slab = item->slab;
    const struct event_format *format = to->stream->format;
    struct event_writer *writer = to->writer;
    if (item->event && to->stream->excerpt) {
        return event_excerpt_add(to->stream->excerpt, format, writer, item->event, out);
    }
    if (item->event) {
        return event_text_add(format, writer, item->event, out, ret_cut);
    }
    size_t start = out->size;
    if (slab->kind == SLAB_GAP) {
        format->gap(writer, &slab->gap, slab->now, slab->last_sequence, out);
    } else if (slab->kind == SLAB_GUARD) {
        format->guard(writer, &slab->guard, out);
    } else {
        format->status(writer, &slab->status, slab->now, slab->last_sequence, out);
    }
    if (out->failed) {
        out->failed = false;
        out->size = start;
        return false;
    }
    return true;
}

/* The session name of the agent's own events. */
static const char *own_name(const struct slab *slab)
{
    return slab->kind == SLAB_GAP ? "gap" : slab->kind == SLAB_GUARD ? "guard" : "status";
}

static bool add_routes(struct decode_worker *worker, const struct worker_stream *stream,
    const struct item *item, struct piece *piece)
{
    const struct slab *slab = item->slab;
    struct event_path_context *paths = &item->context->scratch.paths;
    for (size_t i = 0; i < stream->route_count; i++) {
        buf_reset(&worker->route);
        if (item->event) {
            event_template_render(stream->routes[i], item->event, paths, &worker->route);
        } else {
            const struct trace_info *trace = slab->kind == SLAB_GUARD ? slab->guard.trace
                                                                      : slab->gap.trace;
            event_template_render_own(
                stream->routes[i], own_name(slab), trace, slab->now, paths, &worker->route);
        }
        if (worker->route.failed || !routes_add(&piece->routes[i], buf_span(&worker->route))) {
            return false;
        }
    }
    return true;
}

/* The permanent identity of a record of a file, if an output asks for it. */
static bool add_position(
    const struct worker_stream *stream, const struct item *item, struct piece *piece)
{
    if (!stream->ids || !item->event) {
        return true;
    }
    const struct record_position *position = &item->event->record->position;
    return !record_position_is_known(position) || piece_add_position(piece, position);
}

/* Write one record of a stream to ${piece}. False: there is no memory, and nothing is written. */
static bool write_once(
    struct decode_worker *worker, const struct item *item, size_t index, struct piece *piece)
{
    const struct context_stream *to = &item->context->streams[index];
    uint32_t start = (uint32_t)piece->bytes.size;
    bool is_cut = false;
    if (write_text(to, item, &piece->bytes, &is_cut) &&
        add_routes(worker, to->stream, item, piece) && add_position(to->stream, item, piece)) {
        bool is_added = piece_end_record(piece, item->sequence);
        item->slab->counts.decode.cut += is_added && is_cut;
        return is_added;
    }
    piece_take_back(piece, start);
    return false;
}

/* Write one record of a stream. False only if the agent stops. */
static bool write_record(struct decode_worker *worker, const struct item *item, size_t index)
{
    while (!write_once(worker, item, index, &item->slab->pieces[index])) {
        if (!wait_for_memory(worker)) {
            return false;
        }
    }
    return true;
}

/* ---- rolling up ------------------------------------------------------------------------------ */

/* Count the event for a stream instead of writing it, if a rule says so and there is room. */
static bool roll_up(struct decode_worker *worker, const struct item *item, size_t index)
{
    const struct context *context = item->context;
    const struct worker_session *session = context->session;
    uint64_t time = item->event->record->time;
    struct roll_key key;
    /* The first event after what an output had is shipped as it is: a position that stays before an
     * open window's first event must not say that the output had no more than that. */
    if (item->sequence <= session->resume_max[index] + 1 ||
        !gate_rolls(
            context->gates, session->rules.gate_count, &context->stream_gates[index], time, &key)) {
        return false;
    }
    struct roll_list *list = item->slab->rolls[index];
    if (!list) {
        list = roll_list_create(context->streams[index].stream->route_count);
        item->slab->rolls[index] = list;
    }
    if (list && roll_list_count(list, &key, time)) {
        return true;
    }
    if (!list || !roll_list_has_room(list) || !write_once(worker, item, index, &list->texts)) {
        return false;
    }
    roll_list_add(list, &key, item->sequence, time);
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The event as one stream gets it: with what that stream's rules do to it, and what they are in
 * doubt of. ${unsure}: doubt of rules that edit it for all. */
static void make_own(struct decode_worker *worker, struct context *context, struct gate_view *view,
    const struct event *event, const struct event *edited, struct span unsure,
    struct event *ret_own)
{
    struct filter_scratch *scratch = &context->scratch;
    scratch->unsure = unsure;
    *ret_own = context->is_edited ? *edit_stage_stream(&worker->edits, view, scratch, event, edited)
                                  : *event;
    event_mark_unsure(&worker->edit_mark, scratch, ret_own);
    scratch->unsure = view->unsure;
    event_mark_unsure(&worker->stream_mark, scratch, ret_own);
}

/* ${wanted}: by some stream; its own gate has the verdict for each. */
static bool write_event(struct decode_worker *worker, struct context *context, struct slab *slab,
    const struct event *event, bool wanted)
{
    struct item item = {.slab = slab, .context = context, .sequence = event->record->sequence};
    struct event own;
    const struct event *edited = event;
    if (wanted && context->is_edited) {
        edited = edit_stage_begin(
            &worker->edits, context->session, context->gates, &context->scratch, event);
    }
    const struct span unsure = context->scratch.unsure;
    if (worker->taps.count && wanted) {
        decode_worker_tap_session(worker, slab, edited);
    }
    for (size_t i = 0; i < slab->piece_count; i++) {
        if (item.sequence <= context->session->resume[i]) {
            continue;
        }
        struct gate_view *view = &context->stream_gates[i];
        slab->pieces[i].seen++;
        if (!wanted || (view->gate && view->verdict == FILTER_DROP)) {
            slab->pieces[i].filtered++;
            continue;
        }
        item.event = edited;
        if (context->is_edited || view->unsure.size) {
            make_own(worker, context, view, event, edited, unsure, &own);
            item.event = &own;
        }
        bool rolled = context->rolls_up && roll_up(worker, &item, i);
        if (!rolled && !write_record(worker, &item, i)) {
            return false;
        }
        if (worker->taps.count && !rolled) {
            decode_worker_tap_stream(worker, slab, i, item.event);
        }
    }
    return true;
}

/* Decode the event of ${item}, completed in ${record}, as far as a stream wants it. False: none
 * does, and *ret_accepted says whether the session at least wants it. */
static bool decode_event(struct decode_worker *worker, struct context *context, struct slab *slab,
    const struct slab_item *item, const struct event_record *record, struct event *ret_event,
    bool *ret_accepted)
{
    bool wanted = true;
    *ret_accepted = true;
    if (context->is_filtered) {
        *ret_event = (struct event){
            .record = record, .stack = item->frames, .stack_count = item->frame_count};
        context->scratch.unsure = span_make(NULL, 0);
        wanted = decode_worker_gates_decode(worker, slab, ret_event, ret_accepted);
        event_mark_unsure(&worker->mark, &context->scratch, ret_event);
    } else {
        event_decode_run(&context->decode, record, ret_event);
        ret_event->process = decode_worker_process(context, record);
        ret_event->file = decode_worker_file(context, record);
        ret_event->stack = item->frames;
        ret_event->stack_count = item->frame_count;
    }
    ret_event->others = process_reader_others(context->processes);
    return wanted;
}

static bool work_on_event(struct decode_worker *worker, struct context *context, struct slab *slab,
    const struct slab_item *item)
{
    const struct event_observer *observer = &worker->settings.observer;
    uint64_t sequence = item->record->sequence;
    if (context->is_over) {
        slab->counts.filtered++;
        slab->done_sequence = sequence;
        return true;
    }
    struct event_record completed;
    const struct event_record *record = context->processes
                                            ? process_reader_complete(
                                                  context->processes, item->record, &completed)
                                            : item->record;
    struct event event;
    bool accepted;
    bool wanted = decode_event(worker, context, slab, item, record, &event, &accepted);
    if (accepted && !write_event(worker, context, slab, &event, wanted)) {
        return false;
    }
    slab->counts.accepted += accepted;
    slab->counts.filtered += !accepted;
    if (wanted) {
        decode_counts_add(&slab->counts.decode, &event);
    }
    if (sequence > context->observed) {
        context->observed = sequence;
        context->is_over = wanted && observer->event && !observer->event(observer->self, &event);
    }
    slab->done_sequence = sequence;
    return true;
}

/* Have the processes of the next two events fetched from memory, with their texts, ${cursor} being
 * behind the event at hand. */
static void expect_processes(const struct context *context, const struct slab *slab, size_t cursor)
{
    struct slab_item item;
    if (!context->processes || !slab_next(slab, &cursor, &item)) {
        return;
    }
    uint32_t place = process_reader_expect_next(context->processes, item.record);
    for (size_t i = 0; i < slab->piece_count; i++) {
        event_process_expect_next(context->streams[i].writer, place);
    }
    if (slab_next(slab, &cursor, &item)) {
        place = process_reader_expect(context->processes, item.record);
        for (size_t i = 0; i < slab->piece_count; i++) {
            event_process_expect(context->streams[i].writer, place);
        }
    }
}

static bool work_on_records(
    struct decode_worker *worker, struct context *context, struct slab *slab)
{
    struct sealer *sealer = worker->settings.sealer;
    struct slab_item item;
    size_t cursor = 0;
    slab->counts.accepted += slab->left_out;
    for (size_t i = 0; i < slab->piece_count; i++) {
        slab->pieces[i].seen += slab->left_out;
        slab->pieces[i].filtered += slab->left_out;
    }
    while (slab_next(slab, &cursor, &item)) {
        expect_processes(context, slab, cursor);
        if (!work_on_event(worker, context, slab, &item)) {
            return false;
        }
        if (pieces_size(slab) > PIECE_FULL_BYTES && !sealer_take(sealer, slab)) {
            return false;
        }
    }
    return true;
}

/* An event of the agent itself: one record of every stream. */
static bool work_on_own(struct decode_worker *worker, struct context *context, struct slab *slab)
{
    const struct event_observer *observer = &worker->settings.observer;
    const struct item item = {.slab = slab, .context = context, .sequence = slab->last_sequence};
    if (context->is_over) {
        return true;
    }
    for (size_t i = 0; i < slab->piece_count; i++) {
        bool is_new = item.sequence == 0 || item.sequence > context->session->resume[i];
        if (is_new && !write_record(worker, &item, i)) {
            return false;
        }
    }
    if (slab->kind == SLAB_GAP && observer->gap) {
        observer->gap(observer->self, &slab->gap, slab->now, slab->last_sequence);
    }
    return true;
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* Count and tell what the cache of ${slab}'s session could not keep of what events carry. */
static void tell_definitions(struct decode_worker *worker, struct slab *slab)
{
    const struct decode_worker_settings *s = &worker->settings;
    struct schema_losses *told = &worker->contexts[slab->session].told;
    if (!s->caches[slab->session]) {
        return;
    }
    struct schema_losses now = schema_cache_losses(s->caches[slab->session]);
    if (!schema_losses_differ(&now, told)) {
        return;
    }
    slab->counts.definitions_evicted += now.evicted - told->evicted;
    slab->counts.definitions_refused += now.refused - told->refused;
    slab->counts.definitions_conflicts += now.conflicts - told->conflicts;
    *told = now;
    if (s->definitions) {
        s->definitions(s->definitions_self, slab->session, &now);
    }
}

static void tell_silent(struct decode_worker *worker, const struct slab *slab)
{
    const struct decode_worker_settings *s = &worker->settings;
    struct schema_cache *cache = s->caches[slab->session];
    struct span provider;
    while (cache && s->silent && schema_cache_next_silent(cache, &provider)) {
        s->silent(s->definitions_self, slab->session, provider);
    }
}

static void work_on(struct decode_worker *worker, struct slab *slab)
{
    struct sealer *sealer = worker->settings.sealer;
    struct context *context = &worker->contexts[slab->session];
    uint64_t now = plat_now_filetime();
    bool ok = slab->kind != SLAB_RECORDS || !sealer_is_cancelled(sealer);
    while (ok && !make_pieces(worker, slab)) {
        slab_clear_pieces(slab);
        ok = wait_for_memory(worker);
    }
    for (size_t i = 0; ok && i < slab->piece_count; i++) {
        const struct event_excerpt *excerpt = context->streams[i].stream->excerpt;
        event_writer_read_at(context->streams[i].writer, now);
        if (excerpt) {
            event_excerpt_read_at(excerpt, now);
        }
    }
    if (ok) {
        ok = slab->kind == SLAB_RECORDS ? work_on_records(worker, context, slab)
                                        : work_on_own(worker, context, slab);
    }
    for (size_t i = 0; i < slab->piece_count; i++) {
        context->streams[i].last_bytes = slab->pieces[i].bytes.size;
    }
    decode_worker_gates_flush(worker, slab);
    tell_definitions(worker, slab);
    tell_silent(worker, slab);
    slab->undecoded = !ok;
    slab->done_sequence = slab->last_sequence;
    sealer_finish(sealer, slab);
}

static void learn(struct decode_worker *worker, struct slab *metadata)
{
    struct slab_item item;
    size_t cursor = 0;
    while (slab_next(metadata, &cursor, &item)) {
        if (item.record->kind == RECORD_CLASSIC && !record_is_metadata(item.record)) {
            event_decode_weigh(&worker->contexts[metadata->session].decode, item.record);
        } else {
            schema_cache_learn(worker->settings.caches[metadata->session], item.record);
        }
    }
    slab_queue_learned(worker->settings.queue, metadata);
}

static void run(void *self)
{
    struct decode_worker *worker = self;
    struct slab *slab;
    while ((slab = slab_queue_pop(worker->settings.queue, worker->settings.index))) {
        if (slab->kind == SLAB_METADATA) {
            learn(worker, slab);
        } else {
            tap_acquire(worker->settings.taps, &worker->taps);
            work_on(worker, slab);
            tap_release(worker->settings.taps, &worker->taps);
        }
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct decode_worker *decode_worker_create(
    const struct decode_worker_settings *settings, struct error *err)
{
    struct decode_worker *worker = calloc(1, sizeof(*worker));
    struct context *contexts = calloc(settings->session_count + 1, sizeof(*contexts));
    if (!worker || !contexts) {
        free(worker);
        free(contexts);
        error_set(err, ERR_MEMORY, "out of memory for a decode worker");
        return NULL;
    }
    worker->settings = *settings;
    worker->contexts = contexts;
    buf_init(&worker->route, MAX_ROUTE_BYTES);
    buf_init(&worker->tap_text, TAP_ROOM_BYTES);
    bool ok = decoder_init(&worker->decoder, err) && edit_stage_init(&worker->edits, err);
    for (size_t i = 0; ok && i < settings->session_count; i++) {
        ok = decode_worker_context_make(worker, i, err);
    }
    if (!ok) {
        decode_worker_destroy(worker);
        return NULL;
    }
    return worker;
}

void decode_worker_destroy(struct decode_worker *worker)
{
    if (worker) {
        for (size_t i = 0; i < worker->settings.session_count; i++) {
            decode_worker_context_fini(worker, i);
        }
        decoder_fini(&worker->decoder);
        buf_fini(&worker->tap_text);
        edit_stage_fini(&worker->edits);
        buf_fini(&worker->route);
        free(worker->contexts);
        free(worker);
    }
}

bool decode_worker_start(struct decode_worker *worker, struct error *err)
{
    worker->thread = plat_thread_start("decode", run, worker, err);
    return worker->thread != NULL;
}

void decode_worker_join(struct decode_worker *worker)
{
    plat_thread_join(worker->thread);
    worker->thread = NULL;
}

uint64_t decode_worker_observed(const struct decode_worker *worker, size_t session)
{
    return worker->contexts[session].observed;
}
