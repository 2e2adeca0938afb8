#include "pipeline/source/source_gates.h"

#include <stdlib.h>

/*
 * The gates' decisions travel with the event as a number, since the event may pass a second later,
 * or never: for each gate in turn the number of the rule that decided, from 1; 0: none. Few gates
 * fit into it; with more the workers are asked.
 */
enum { MAX_TOLD = 5, DIGIT = FILTER_MAX_RULES + 2 };

struct source_gates {
    struct source_gates_settings settings;
    struct filter_scratch scratch;
    struct gate_view *asked;   /* the session's, then one for each stream; they count nothing */
    struct gate_view *counted; /* the same gates, which count */
    size_t count;
    const struct filter *alone; /* if it is the session's, and no stream can drop; else NULL */
    uint64_t last_resume;       /* the highest of the streams' */
};

static const struct gate *gate_at(const struct source_gates_settings *settings, size_t index)
{
    const struct worker_session *session = settings->session;
    if (index < session->rules.gate_count) {
        return &session->rules.gates[index];
    }
    return &settings->streams[session->streams[index - session->rules.gate_count]].gate;
}

/* Can any of them drop an event by its header? */
static bool is_needed(const struct source_gates_settings *settings)
{
    const struct worker_session *session = settings->session;
    bool all = session->stream_count > 0 && !session->rules.wants && !session->rules.selects;
    for (size_t i = 0; i < session->rules.gate_count; i++) {
        if (filter_drops_early(session->rules.gates[i].filter)) {
            return true;
        }
    }
    for (size_t i = 0; i < session->stream_count; i++) {
        const struct filter *filter = settings->streams[session->streams[i]].gate.filter;
        all = all && filter && filter_drops_early(filter);
    }
    return all;
}

/* The filter that decides alone; NULL: there are more. */
static const struct filter *find_alone(const struct source_gates_settings *settings)
{
    const struct worker_session *session = settings->session;
    bool streams_keep = session->stream_count == 0;
    for (size_t i = 0; i < session->stream_count; i++) {
        streams_keep |= !settings->streams[session->streams[i]].gate.filter;
    }
    return session->rules.gate_count == 1 && streams_keep ? session->rules.gates[0].filter : NULL;
}

bool source_gates_create(const struct source_gates_settings *settings,
    struct source_gates **ret_gates, struct error *err)
{
    const struct worker_session *session = settings->session;
    *ret_gates = NULL;
    if (!is_needed(settings)) {
        return true;
    }
    struct source_gates *gates = calloc(1, sizeof(*gates));
    if (!gates) {
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    gates->settings = *settings;
    gates->count = session->rules.gate_count + session->stream_count;
    gates->alone = find_alone(settings);
    gates->asked = calloc(gates->count, sizeof(*gates->asked));
    gates->counted = calloc(gates->count, sizeof(*gates->counted));
    bool ok = filter_scratch_init(&gates->scratch, session->ansi, err) && gates->asked &&
              gates->counted;
    for (size_t i = 0; ok && i < gates->count; i++) {
        const struct gate *gate = gate_at(settings, i);
        gates->asked[i] = (struct gate_view){.gate = gate->filter ? gate : NULL};
        ok = !gate->filter || gate_view_init(&gates->counted[i], gate, err);
    }
    for (size_t i = 0; i < session->stream_count; i++) {
        gates->last_resume = session->resume[i] > gates->last_resume ? session->resume[i]
                                                                     : gates->last_resume;
    }
    gates->scratch.paths.session = span_text(session->name);
    gates->scratch.paths.agent = settings->agent;
    if (!ok) {
        source_gates_destroy(gates);
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    *ret_gates = gates;
    return true;
}

void source_gates_destroy(struct source_gates *gates)
{
    if (gates) {
        for (size_t i = 0; gates->counted && i < gates->count; i++) {
            gate_view_fini(&gates->counted[i]);
        }
        free(gates->asked);
        free(gates->counted);
        filter_scratch_fini(&gates->scratch);
        free(gates);
    }
}

/* Ask gate number ${index} by the header alone. UNDECIDED: also where the verdict is to take a
 * token or to count the event with others, or depends on what is not known before the event has its
 * place. */
static enum filter_verdict ask(
    struct source_gates *gates, size_t index, const struct event *event, bool *ret_open)
{
    struct gate_view *view = &gates->asked[index];
    enum filter_verdict verdict = gate_ask(view, &gates->scratch, event, NULL, false);
    *ret_open = gates->scratch.placed || view->limited || view->rolled;
    return *ret_open ? FILTER_UNDECIDED : verdict;
}

/* The first ${count} gates have said something, or nothing. */
static uint64_t tag_of(
    const struct source_gates *gates, size_t count, enum source_gates_level level)
{
    uint64_t tag = 0;
    for (size_t i = count; i-- > 0;) {
        const struct gate_view *view = &gates->asked[i];
        tag = tag * DIGIT + (view->verdict == FILTER_UNDECIDED ? 0 : view->rule + 1);
    }
    return tag * 2 + (level == SOURCE_GATES_STREAMS);
}

/* The session's gates are asked up to the first that drops the event, as a worker does. */
static enum filter_verdict ask_session(
    struct source_gates *gates, const struct event *event, size_t *ret_asked)
{
    enum filter_verdict all = FILTER_KEEP;
    for (size_t i = 0; i < gates->settings.session->rules.gate_count; i++) {
        bool open;
        enum filter_verdict verdict = ask(gates, i, event, &open);
        *ret_asked = i + 1;
        if (open || verdict == FILTER_DROP) {
            return verdict;
        }
        all = verdict == FILTER_UNDECIDED ? verdict : all;
    }
    return all;
}

static bool all_streams_drop(struct source_gates *gates, const struct event *event)
{
    for (size_t i = gates->settings.session->rules.gate_count; i < gates->count; i++) {
        bool open;
        if (!gates->asked[i].gate || ask(gates, i, event, &open) != FILTER_DROP) {
            return false;
        }
    }
    return gates->settings.session->stream_count > 0;
}

/* As source_gates_ask, where one filter decides. */
static enum source_gates_level ask_alone(
    struct source_gates *gates, const struct event_record *record, uint64_t *ret_tag)
{
    size_t rule = 0;
    enum filter_verdict verdict = filter_header(gates->alone, &gates->scratch, record, &rule);
    if (verdict != FILTER_DROP || gates->scratch.placed) {
        return SOURCE_GATES_PASS;
    }
    *ret_tag = ((uint64_t)rule + 1) * 2; /* as tag_of has it */
    return SOURCE_GATES_SESSION;
}

enum source_gates_level source_gates_ask(struct source_gates *gates,
    const struct event_record *record, uint64_t sequence, uint64_t *ret_tag)
{
    if (gates->alone) {
        return ask_alone(gates, record, ret_tag);
    }
    struct event event = {.record = record};
    size_t asked = 0;
    gate_begin(gates->asked, gates->count);
    enum filter_verdict verdict = ask_session(gates, &event, &asked);
    if (verdict == FILTER_DROP && asked <= MAX_TOLD) {
        *ret_tag = tag_of(gates, asked, SOURCE_GATES_SESSION);
        return SOURCE_GATES_SESSION;
    }
    const struct worker_session *session = gates->settings.session;
    bool may_ask_streams = verdict == FILTER_KEEP && !session->rules.wants &&
                           !session->rules.selects && gates->count <= MAX_TOLD &&
                           sequence >= gates->last_resume;
    if (may_ask_streams && all_streams_drop(gates, &event)) {
        *ret_tag = tag_of(gates, gates->count, SOURCE_GATES_STREAMS);
        return SOURCE_GATES_STREAMS;
    }
    return SOURCE_GATES_PASS;
}

enum source_gates_level source_gates_count(struct source_gates *gates, uint64_t tag, uint64_t count)
{
    enum source_gates_level level = tag % 2 ? SOURCE_GATES_STREAMS : SOURCE_GATES_SESSION;
    size_t gate_count = gates->settings.session->rules.gate_count;
    uint64_t left = tag / 2;
    for (size_t i = 0; count && left; i++, left /= DIGIT) {
        struct gate_view *view = &gates->counted[i];
        size_t rule = (size_t)(left % DIGIT) - 1;
        bool is_last = left < DIGIT;
        bool drops = level == SOURCE_GATES_STREAMS ? i >= gate_count : is_last;
        if (left % DIGIT && view->hits) {
            view->hits[rule] += count;
            view->dropped[rule] += drops ? count : 0;
        }
    }
    return level;
}

void source_gates_flush(struct source_gates *gates)
{
    for (size_t i = 0; i < gates->count; i++) {
        if (gates->counted[i].gate) {
            gate_flush(&gates->counted[i]);
        }
    }
}
