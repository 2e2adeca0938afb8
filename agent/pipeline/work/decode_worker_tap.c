#include "pipeline/work/decode_worker_own.h"

/* Events that a worker shows to taps (tap.h), on its thread. */

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
    struct tap_view *view = &worker->taps;
    for (size_t i = 0; i < view->count && slab->piece_count; i++) {
        if (!tap_is_of_session(view, i, slab->session) || !tap_may_want(view, i)) {
            continue;
        }
        const struct tap_asker asker = asker_of(worker, slab);
        if (!tap_wants(view, i, &asker, event)) {
            continue;
        }
        /* One try: what finds no room here is left out, not cut. */
        buf_reset(&worker->tap_text);
        const struct context_stream *first = &context->streams[0];
        first->stream->format->event(first->writer, event, &worker->tap_text);
        if (!worker->tap_text.failed) {
            tap_give(view, i, buf_span(&worker->tap_text));
        } else {
            tap_omit(view, i);
        }
    }
}

/* The text of the last record of ${piece}. */
static struct span last_of(const struct piece *piece)
{
    uint32_t start = piece_start(piece, piece->count - 1);
    return span_make(piece->bytes.data + start, piece_start(piece, piece->count) - start);
}

void decode_worker_tap_stream(
    struct decode_worker *worker, const struct slab *slab, size_t index, const struct event *event)
{
    struct tap_view *view = &worker->taps;
    const struct piece *piece = &slab->pieces[index];
    size_t stream = worker->settings.sessions[slab->session].streams[index];
    for (size_t i = 0; i < view->count && piece->count; i++) {
        if (!tap_is_of_stream(view, i, stream) || !tap_may_want(view, i)) {
            continue;
        }
        const struct tap_asker asker = asker_of(worker, slab);
        if (tap_wants(view, i, &asker, event)) {
            tap_give(view, i, last_of(piece));
        }
    }
}
