#include "pipeline/record/event_text.h"
#include "pipeline/work/decode_worker_own.h"

/* What a worker shows to those who look on (tap.h), on its thread. */

static struct tap_asker asker_of(const struct decode_worker *worker, const struct slab *slab)
{
    return (struct tap_asker){.worker = worker->settings.index,
        .session = slab->session,
        .ansi = worker->settings.sessions[slab->session].ansi,
        .paths = &worker->contexts[slab->session].scratch.paths};
}

void decode_worker_tap_session(
    struct decode_worker *worker, const struct slab *slab, const struct event *event)
{
    struct context *context = &worker->contexts[slab->session];
    struct tap_asker asker = asker_of(worker, slab);
    for (size_t i = 0; i < worker->taps.count && slab->piece_count; i++) {
        struct tap *tap = worker->taps.taps[i];
        if (!tap_is_of_session(tap, slab->session) || !tap_wants(tap, &asker, event)) {
            continue;
        }
        buf_reset(&worker->tap_text);
        if (event_text_add(decode_worker_stream(worker, slab, 0)->format, context->writers[0],
                event, &worker->tap_text, NULL)) {
            tap_give(tap, buf_span(&worker->tap_text));
        } else {
            tap_omit(tap);
        }
    }
}

void decode_worker_tap_stream(
    struct decode_worker *worker, const struct slab *slab, size_t index, const struct event *event)
{
    const struct tap_asker asker = asker_of(worker, slab);
    const struct piece *piece = &slab->pieces[index];
    size_t stream = worker->settings.sessions[slab->session].streams[index];
    uint32_t start = piece->count ? piece_start(piece, piece->count - 1) : 0;
    uint32_t end = piece_start(piece, piece->count);
    for (size_t i = 0; i < worker->taps.count && piece->count; i++) {
        struct tap *tap = worker->taps.taps[i];
        if (tap_is_of_stream(tap, stream) && tap_wants(tap, &asker, event)) {
            tap_give(tap, span_make(piece->bytes.data + start, end - start));
        }
    }
}
