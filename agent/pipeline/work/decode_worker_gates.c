#include <stdlib.h>

#include "pipeline/slab/losses.h"
#include "pipeline/work/decode_worker_own.h"

/*
 * Which events of a session its streams want: gates see the record, then the definitions that may
 * decode it, then the fields that they test.
 */

bool decode_worker_gates_make(struct decode_worker *worker, size_t index, struct error *err)
{
    const struct worker_session *session = &worker->settings.sessions[index];
    struct context *context = &worker->contexts[index];
    context->gates = calloc(session->rules.gate_count + 1, sizeof(*context->gates));
    context->stream_gates = calloc(session->stream_count + 1, sizeof(*context->stream_gates));
    bool ok = context->gates && context->stream_gates;
    context->has_gates = session->rules.gate_count > 0;
    for (size_t i = 0; ok && i < session->rules.gate_count; i++) {
        context->rolls_up |= session->rules.gates[i].rolls_up;
        ok = gate_view_init(&context->gates[i], &session->rules.gates[i], err);
    }
    for (size_t i = 0; ok && i < session->stream_count; i++) {
        const struct gate *gate = &worker->settings.streams[session->streams[i]].gate;
        if (gate->filter) {
            context->has_gates = true;
            context->rolls_up |= gate->rolls_up;
            ok = gate_view_init(&context->stream_gates[i], gate, err);
        }
    }
    context->is_filtered = context->has_gates || session->rules.wants || session->rules.selects;
    return ok;
}

void decode_worker_gates_fini(struct decode_worker *worker, size_t index)
{
    struct context *context = &worker->contexts[index];
    const struct worker_session *session = &worker->settings.sessions[index];
    for (size_t i = 0; context->gates && i < session->rules.gate_count; i++) {
        gate_view_fini(&context->gates[i]);
    }
    for (size_t i = 0; context->stream_gates && i < session->stream_count; i++) {
        gate_view_fini(&context->stream_gates[i]);
    }
    free(context->gates);
    free(context->stream_gates);
}

/* State of an event when gates are asked. */
struct stage {
    const struct event *event;
    const struct schema_choice *choice;
    bool is_described; /* the event has its definition, or it is known that there is none */
    bool decoded;
    bool is_partial; /* decoded as far as gates look, which `selects` may not be content with */
};

/* Ask the gate of one stream. Doubts of its rules concern that stream only. */
static enum filter_verdict ask_stream(
    struct context *context, struct gate_view *view, const struct stage *stage)
{
    struct filter_scratch *scratch = &context->scratch;
    const struct span before = scratch->unsure;
    scratch->unsure = span_make(NULL, 0);
    enum filter_verdict verdict = gate_ask(
        view, scratch, stage->event, stage->choice, stage->decoded);
    view->unsure = scratch->unsure.size ? scratch->unsure : view->unsure;
    scratch->unsure = before;
    return verdict;
}

/* Which events the session's providers are to send: by their definition,
 * then by rules of their own. */
static enum filter_verdict ask_selection(
    const struct worker_session *session, struct filter_scratch *scratch, const struct stage *stage)
{
    bool waits = (session->rules.wants && !stage->is_described) ||
                 (session->rules.selects && (!stage->decoded || stage->is_partial));
    if (session->rules.wants && stage->is_described &&
        !session->rules.wants(session->rules.selection, stage->event)) {
        return FILTER_DROP;
    }
    if (waits) {
        return FILTER_UNDECIDED;
    }
    return !session->rules.selects ||
                   session->rules.selects(session->rules.selection, scratch, stage->event)
               ? FILTER_KEEP
               : FILTER_DROP;
}

/* Ask all gates that are still open. DROP: the session does not want the event, or no stream does
 * (*ret_accepted); UNDECIDED: more must be known. */
static enum filter_verdict ask_gates(struct decode_worker *worker, const struct slab *slab,
    const struct stage *stage, bool *ret_accepted)
{
    const struct worker_session *session = &worker->settings.sessions[slab->session];
    struct context *context = &worker->contexts[slab->session];
    *ret_accepted = false;
    enum filter_verdict verdict = gate_ask_all(context->gates, session->rules.gate_count,
        &context->scratch, stage->event, stage->choice, stage->decoded);
    if (verdict != FILTER_KEEP) {
        return verdict;
    }
    verdict = ask_selection(session, &context->scratch, stage);
    if (verdict != FILTER_KEEP) {
        return verdict;
    }
    for (size_t i = 0; i < session->rules.gate_count; i++) {
        if (!gate_charge(&context->gates[i], slab->session, stage->event->record)) {
            return FILTER_DROP;
        }
    }
    *ret_accepted = true;
    size_t dropped = 0;
    for (size_t i = 0; i < slab->piece_count; i++) {
        struct gate_view *view = &context->stream_gates[i];
        enum filter_verdict one = FILTER_KEEP;
        if (view->gate) {
            one = ask_stream(context, view, stage);
            if (!gate_charge(view, slab->session, stage->event->record)) {
                one = FILTER_DROP;
            }
        }
        dropped += one == FILTER_DROP;
        verdict = one == FILTER_UNDECIDED ? one : verdict;
    }
    return dropped == slab->piece_count && dropped ? FILTER_DROP : verdict;
}

/* Decode the fields of ${event} that open gates test. False: it was not decoded. */
static bool decode_for_gates(struct decode_worker *worker, const struct slab *slab,
    const struct schema_choice *choice, struct event *event)
{
    const struct worker_session *session = &worker->settings.sessions[slab->session];
    struct context *context = &worker->contexts[slab->session];
    if (choice->count != 1 || (session->rules.selects && session->rules.gate_count == 0)) {
        return false;
    }
    event->schema = choice->list[0];
    uint16_t fields = gate_fields(
        context->gates, session->rules.gate_count, &context->scratch, event);
    if (!session->rules.selects) {
        uint16_t more = gate_fields(
            context->stream_gates, slab->piece_count, &context->scratch, event);
        fields = more > fields ? more : fields;
    }
    return fields != EVENT_PATH_ALL_FIELDS &&
           event_decode_begin(&context->decode, event->record, choice, fields, event);
}

bool decode_worker_gates_decode(
    struct decode_worker *worker, const struct slab *slab, struct event *event, bool *ret_accepted)
{
    struct context *context = &worker->contexts[slab->session];
    const struct worker_session *session = &worker->settings.sessions[slab->session];
    struct stage stage = {.event = event};
    enum filter_verdict verdict = FILTER_UNDECIDED;
    *ret_accepted = false;
    gate_begin(context->gates, session->rules.gate_count);
    gate_begin(context->stream_gates, slab->piece_count);
    if (context->has_gates) {
        verdict = ask_gates(worker, slab, &stage, ret_accepted);
        if (verdict == FILTER_DROP) {
            return false;
        }
    }
    stage.choice = schema_cache_find(context->decode.cache, event->record);
    stage.is_described = stage.choice->count <= 1 && !stage.choice->late;
    event->schema = stage.is_described && stage.choice->count ? stage.choice->list[0] : NULL;
    if (session->rules.gate_count == 0) {
        enum filter_verdict selected = ask_selection(session, &context->scratch, &stage);
        if (selected == FILTER_DROP) {
            return false;
        }
        *ret_accepted = selected == FILTER_KEEP;
        verdict = context->has_gates ? verdict : selected;
    }
    event->process = decode_worker_process(context, event->record);
    event->file = decode_worker_file(context, event->record);
    if (verdict == FILTER_UNDECIDED && context->has_gates) {
        verdict = ask_gates(worker, slab, &stage, ret_accepted);
        if (verdict == FILTER_DROP) {
            return false;
        }
    }
    if (verdict == FILTER_UNDECIDED && decode_for_gates(worker, slab, stage.choice, event)) {
        stage.decoded = true;
        stage.is_described = true;
        stage.is_partial = true;
        verdict = ask_gates(worker, slab, &stage, ret_accepted);
        if (verdict == FILTER_DROP) {
            return false;
        }
        event_decode_finish(&context->decode, event);
    } else {
        const struct event before = *event;
        event_decode_with(&context->decode, event->record, stage.choice, event);
        event_decode_keep(event, &before);
    }
    stage.decoded = true;
    stage.is_described = true;
    stage.is_partial = false;
    return verdict == FILTER_KEEP || ask_gates(worker, slab, &stage, ret_accepted) != FILTER_DROP;
}

/* Count events that the limits of a gate held back as lost to output ${output}, or to all
 * (SIZE_MAX). */
static void tell_held(struct decode_worker *worker, const struct slab *slab,
    const struct gate_view *view, const size_t *outputs, size_t output_count)
{
    struct loss loss = {.session = slab->session, .held = true};
    if (!view->gate || !view->gate->limiter || !worker->settings.losses) {
        return;
    }
    loss.count = limiter_held(view->gate->limiter, slab->session, &loss.times);
    for (size_t i = 0; loss.count && i < output_count; i++) {
        loss.output = outputs[i];
        losses_add(worker->settings.losses, &loss);
    }
}

void decode_worker_gates_flush(struct decode_worker *worker, const struct slab *slab)
{
    const struct worker_session *session = &worker->settings.sessions[slab->session];
    struct context *context = &worker->contexts[slab->session];
    for (size_t i = 0; i < session->rules.gate_count; i++) {
        static const size_t all = SIZE_MAX;
        gate_flush(&context->gates[i]);
        tell_held(worker, slab, &context->gates[i], &all, 1);
    }
    for (size_t i = 0; i < session->stream_count; i++) {
        const struct worker_stream *stream = &worker->settings.streams[session->streams[i]];
        gate_flush(&context->stream_gates[i]);
        tell_held(worker, slab, &context->stream_gates[i], stream->outputs, stream->output_count);
    }
}
