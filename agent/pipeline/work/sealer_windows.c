#include "pipeline/work/sealer_own.h"

/* A count that is over, after everything that it counts.
 * ${sequence}: how far its session has come. */
static void add_rolled(struct sealer *sealer, size_t index, uint32_t session, uint64_t sequence,
    struct piece *record, const struct roll *roll)
{
    struct stream *stream = &sealer->streams[index];
    const struct event_rollup rollup = {
        .count = roll->count, .first = roll->times.from, .last = roll->times.to};
    stream->settings->format->rollup(&rollup, &record->bytes);
    while (record->bytes.failed) {
        record->bytes.failed = false;
        sealer_wait_for_memory();
        stream->settings->format->rollup(&rollup, &record->bytes);
    }
    record->ends[0] = (uint32_t)record->bytes.size;
    if (sealer_count_fitting(stream, sealer_open_batch(sealer, index), record, 0, 1) == 0) {
        sealer_seal(sealer, index);
    }
    sealer_move_records(sealer, index, record, 0, 1);
    struct batch_segment segment = {
        .session = session, .last_sequence = sequence, .times = roll->times};
    sealer_mark(sealer, index, &segment);
    if (sealer_is_full(stream)) {
        sealer_seal(sealer, index);
    }
}

void sealer_close_windows_of(
    struct sealer *sealer, uint32_t session, uint64_t time, uint64_t now_ns)
{
    const struct sealer_session *settings = &sealer->settings.sessions[session];
    for (size_t i = 0; i < settings->stream_count; i++) {
        size_t index = settings->streams[i];
        struct rollup *rollup = rollups_of(sealer->rollups, session, index);
        struct rollup_record *record;
        while (rollup && (record = rollup_take(rollup, time, now_ns))) {
            add_rolled(sealer, index, session, sealer->done[session], &record->text, &record->roll);
            rollup_record_destroy(record);
        }
    }
}

void sealer_close_windows(struct sealer *sealer, uint64_t time, uint64_t now_ns)
{
    for (size_t i = 0; i < sealer->settings.session_count; i++) {
        sealer_close_windows_of(sealer, (uint32_t)i, time, now_ns);
    }
}

uint64_t sealer_next_window(const struct sealer *sealer)
{
    uint64_t next = UINT64_MAX;
    for (size_t s = 0; s < sealer->settings.session_count; s++) {
        const struct sealer_session *session = &sealer->settings.sessions[s];
        for (size_t i = 0; i < session->stream_count; i++) {
            const struct rollup *rollup = rollups_of(sealer->rollups, s, session->streams[i]);
            uint64_t due = rollup ? rollup_due(rollup) : UINT64_MAX;
            next = due < next ? due : next;
        }
    }
    return next;
}

void sealer_add_left(struct sealer *sealer, size_t index, const struct slab *slab, size_t piece)
{
    const struct roll_list *list = slab->rolls[piece];
    for (size_t i = 0; list && i < list->left_count; i++) {
        struct piece record;
        while (!piece_init(&record, list->texts.route_count, NULL) ||
               !piece_append(&record, &list->texts, list->left[i], 1)) {
            piece_fini(&record);
            sealer_wait_for_memory();
        }
        add_rolled(sealer, index, slab->session, slab->done_sequence, &record,
            &list->items[list->left[i]]);
        piece_fini(&record);
    }
}
