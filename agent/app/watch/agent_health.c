#include "app/watch/agent_health.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/visible.h"
#include "status/metric_json.h"

/*
 * A state lasts as long as the ledger says so. What happens at a moment (a loss, a repair) counts
 * for some time, so that a client that asks now and then sees it.
 */
#define SECOND_NS UINT64_C(1000000000)
static const uint64_t recent_ns = 300 * SECOND_NS;
/* After so long the guard of a session that gave up tries again. */
static const uint64_t guard_waits_ns = 600 * SECOND_NS;
/* An output with nothing to say, which has not settled anything for so long, is stuck in a call. */
static const uint64_t stalled_ns = 4 * SECOND_NS;

static const struct {
    const char *name;
    enum agent_severity severity;
    const char *todo;
} causes[] = {
#define NOTE AGENT_NOTE
#define DEGRADED AGENT_DEGRADED
#define UNREADY AGENT_UNREADY
#define CAUSE(id, name, severity, todo) [AGENT_CAUSE_##id] = {name, severity, todo},
#include "app/watch/agent_causes.def"
#undef CAUSE
#undef NOTE
#undef DEGRADED
#undef UNREADY
};

const char *agent_health_cause_name(enum agent_cause cause)
{
    return causes[cause].name;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void add(struct agent_health *health, enum agent_cause cause, const char *session,
    const char *output, const char *format, ...) ETWSHIP_PRINTF(5, 6);

static void add(struct agent_health *health, enum agent_cause cause, const char *session,
    const char *output, const char *format, ...)
{
    enum agent_severity severity = causes[cause].severity;
    health->healthy = health->healthy && severity == AGENT_NOTE;
    health->ready = health->ready && severity != AGENT_UNREADY;
    if (health->count == AGENT_HEALTH_MAX_FINDINGS) {
        health->left_out++;
        return;
    }
    struct agent_finding *finding = &health->findings[health->count++];
    *finding = (struct agent_finding){.cause = cause, .session = session, .output = output};
    va_list args;
    va_start(args, format);
    vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
}

static bool is_recent(uint64_t at_ns, uint64_t now_ns, uint64_t window_ns)
{
    return at_ns && now_ns - at_ns < window_ns;
}

static unsigned long long seconds_since(uint64_t at_ns, uint64_t now_ns)
{
    return now_ns > at_ns ? (now_ns - at_ns) / SECOND_NS : 0;
}

static void look_at_guard(struct agent_health *health, const char *name,
    const struct session_counts *counts, uint64_t now)
{
    uint64_t repaired = counts->guard_ns[GUARD_REPAIRED];
    uint64_t failed = counts->guard_ns[GUARD_FAILED] > counts->guard_ns[GUARD_GAVE_UP]
                          ? counts->guard_ns[GUARD_FAILED]
                          : counts->guard_ns[GUARD_GAVE_UP];
    if (failed > repaired && is_recent(failed, now, guard_waits_ns)) {
        add(health, AGENT_CAUSE_SESSION_STOPPED, name, NULL,
            "another program stops or changes it, and the guard %s %llu s ago",
            failed == counts->guard_ns[GUARD_GAVE_UP] ? "gave up" : "could not repair it",
            seconds_since(failed, now));
    } else if (is_recent(repaired, now, recent_ns)) {
        add(health, AGENT_CAUSE_SESSION_REPAIRED, name, NULL,
            "another program stopped or changed it, and the guard repaired it %llu s ago",
            seconds_since(repaired, now));
    }
}

static uint64_t count_losses(const struct session_counts *counts)
{
    uint64_t lost = counts->etw_events_lost;
    for (int i = 0; i < SESSION_DROP_COUNT; i++) {
        lost += i == SESSION_DROP_STACK_WALK ? 0 : counts->dropped[i];
    }
    return lost;
}

static void look_at_session(
    struct agent_health *health, const struct agent_health_inputs *inputs, size_t index)
{
    const struct session_counts *counts = &inputs->status->sessions[index];
    const char *name = agent_plan_session_name(inputs->plan, index);
    if (inputs->sessions[index].failed) {
        add(health, AGENT_CAUSE_SESSION_FAILED, name, NULL, "it has failed and does not run");
    } else if (inputs->sessions[index].trouble[0]) {
        add(health, AGENT_CAUSE_SESSION_WAITING, name, NULL, "%s", inputs->sessions[index].trouble);
    }
    look_at_guard(health, name, counts, inputs->now_ns);
    if (is_recent(counts->loss_ns, inputs->now_ns, recent_ns)) {
        add(health, AGENT_CAUSE_SESSION_LOST_EVENTS, name, NULL,
            "it lost events %llu s ago; %llu events, %llu buffers of ETW, and records of the Event "
            "Log %llu times in all",
            seconds_since(counts->loss_ns, inputs->now_ns),
            (unsigned long long)count_losses(counts), (unsigned long long)counts->etw_buffers_lost,
            (unsigned long long)counts->gaps_eventlog);
    }
    if (is_recent(counts->unread_ns, inputs->now_ns, recent_ns)) {
        add(health, AGENT_CAUSE_SESSION_UNREAD, name, NULL,
            "the agent had stopped reading it, and continued %llu s ago",
            seconds_since(counts->unread_ns, inputs->now_ns));
    }
}

/* Why nothing arrives: one cause, the one that says most. */
static void look_at_delivery(struct agent_health *health, const char *name,
    const struct output_counts *counts, uint64_t batch_age_ns, uint64_t now)
{
    uint64_t stall_limit_ns = stalled_ns + batch_age_ns;
    if (counts->parked_routes) {
        add(health, AGENT_CAUSE_OUTPUT_PARKED, NULL, name, "%llu events wait for %llu indices: %s",
            (unsigned long long)counts->parked, (unsigned long long)counts->parked_routes,
            counts->parked_first);
    } else if (counts->degraded) {
        add(health, AGENT_CAUSE_OUTPUT_DEGRADED, NULL, name, "%s",
            counts->trouble[0] ? counts->trouble : "its set-up is wrong");
    } else if (counts->trouble[0]) {
        add(health, AGENT_CAUSE_OUTPUT_FAILING, NULL, name, "%s", counts->trouble);
    } else if (counts->pending && now - counts->progress_ns > stall_limit_ns) {
        add(health, AGENT_CAUSE_OUTPUT_STALLED, NULL, name,
            "%llu events wait, and the destination has accepted none for %llu s",
            (unsigned long long)counts->pending, seconds_since(counts->progress_ns, now));
    }
}

static void look_at_output(
    struct agent_health *health, const struct agent_health_inputs *inputs, size_t index)
{
    const struct output_counts *counts = &inputs->status->outputs[index];
    const struct app_output *config = inputs->plan->output_configs[index];
    if (inputs->ended_outputs[index]) {
        add(health, AGENT_CAUSE_OUTPUT_ENDED, NULL, config->name, "it accepts no more events");
    } else {
        look_at_delivery(health, config->name, counts, config->batch.age_ns, inputs->now_ns);
    }
    if (is_recent(counts->loss_ns, inputs->now_ns, recent_ns)) {
        uint64_t lost = 0;
        for (int i = 0; i < OUTPUT_DROP_COUNT; i++) {
            lost += counts->dropped[i];
        }
        add(health, AGENT_CAUSE_OUTPUT_LOST_EVENTS, NULL, config->name,
            "it lost events %llu s ago, %llu in all",
            seconds_since(counts->loss_ns, inputs->now_ns), (unsigned long long)lost);
    }
    if (is_recent(counts->refused_ns, inputs->now_ns, recent_ns)) {
        add(health, AGENT_CAUSE_OUTPUT_REFUSES, NULL, config->name,
            "events became dead letters %llu s ago, %llu in all",
            seconds_since(counts->refused_ns, inputs->now_ns),
            (unsigned long long)counts->dead_lettered);
    }
    if (counts->unexpected_duplicates) {
        add(health, AGENT_CAUSE_OUTPUT_DUPLICATES, NULL, config->name,
            "the destination already had %llu events that were never sent before",
            (unsigned long long)counts->unexpected_duplicates);
    }
}

static void look_at_spool(struct agent_health *health, const struct agent_health_inputs *inputs)
{
    const struct spool_usage *spool = &inputs->spool;
    if (inputs->spool_keeps && spool->failing) {
        add(health, AGENT_CAUSE_SPOOL_FAILING, NULL, NULL, "the spool cannot be written");
    }
    if (inputs->spool_keeps && spool->room == SPOOL_NO_ROOM_FULL) {
        add(health, AGENT_CAUSE_SPOOL_FULL, NULL, NULL,
            "the spool has reached its spool.max_size of %llu bytes",
            (unsigned long long)spool->max_bytes);
    }
    if (inputs->spool_keeps && spool->room == SPOOL_NO_ROOM_DISK) {
        add(health, AGENT_CAUSE_SPOOL_FULL, NULL, NULL,
            "the disk is full, or has less left than spool.min_free_disk");
    }
    if (inputs->positions_fail && !(inputs->spool_keeps && spool->failing)) {
        add(health, AGENT_CAUSE_POSITIONS_FAILING, NULL, NULL,
            "positions of outputs cannot be stored, so events may be delivered twice after a "
            "crash");
    }
    if (inputs->letters_evicted) {
        add(health, AGENT_CAUSE_LETTERS_EVICTED, NULL, NULL,
            "%llu dead letters were removed to make room for newer ones, and are lost",
            (unsigned long long)inputs->letters_evicted);
    }
}

void agent_health_look(const struct agent_health_inputs *inputs, struct agent_health *ret_health)
{
    ret_health->count = 0;
    ret_health->left_out = 0;
    ret_health->healthy = true;
    ret_health->ready = true;
    for (size_t i = 0; i < inputs->plan->session_count; i++) {
        look_at_session(ret_health, inputs, i);
    }
    for (size_t i = 0; i < inputs->plan->output_count; i++) {
        look_at_output(ret_health, inputs, i);
    }
    look_at_spool(ret_health, inputs);
    if (inputs->loads->refused) {
        add(ret_health, AGENT_CAUSE_RELOAD_REFUSED, NULL, NULL,
            "the last reload failed, and the previous configuration stays active");
    }
    if (inputs->error) {
        add(ret_health, AGENT_CAUSE_CONSERVATION, NULL, NULL, "%llu events are not accounted for",
            (unsigned long long)inputs->error);
    }
}

void agent_health_set(struct agent_health *ret_health, enum agent_cause cause, const char *text)
{
    ret_health->count = 0;
    ret_health->left_out = 0;
    ret_health->healthy = true;
    ret_health->ready = true;
    add(ret_health, cause, NULL, NULL, "%s", text);
}

static const char *const severities[] = {
    [AGENT_NOTE] = "note", [AGENT_DEGRADED] = "degraded", [AGENT_UNREADY] = "unready"};

/* ---- texts ----------------------------------------------------------------------------------- */

static void add_member(struct buf *out, const char *name, const char *value)
{
    if (value) {
        buf_printf(out, ",\"%s\":", name);
        metric_json_string(span_text(value), out);
    }
}

void agent_health_json(const struct agent_health *health, struct buf *out)
{
    buf_printf(out, "{\"status\":\"%s\",\"ready\":%s,\"causes\":[",
        health->healthy ? "healthy" : "degraded", health->ready ? "true" : "false");
    for (size_t i = 0; i < health->count; i++) {
        const struct agent_finding *finding = &health->findings[i];
        buf_printf(out, "%s{\"id\":\"%s\",\"severity\":\"%s\"", i ? "," : "",
            causes[finding->cause].name, severities[causes[finding->cause].severity]);
        add_member(out, "session", finding->session);
        add_member(out, "output", finding->output);
        add_member(out, "text", finding->text);
        add_member(out, "what_to_do", causes[finding->cause].todo);
        buf_add_byte(out, '}');
    }
    buf_printf(out, "],\"left_out\":%zu}", health->left_out);
}

void agent_health_text(const struct agent_health *health, struct buf *out)
{
    buf_add_text(out, health->healthy ? "healthy\n" : "degraded\n");
    for (size_t i = 0; i < health->count; i++) {
        const struct agent_finding *finding = &health->findings[i];
        const char *name = finding->session ? finding->session : finding->output;
        buf_printf(out, "%s: ", severities[causes[finding->cause].severity]);
        if (name) {
            buf_add_text(out, finding->session ? "session " : "output ");
            visible_add(out, span_text(name));
            buf_add_text(out, ": ");
        }
        visible_add(out, span_text(finding->text));
        buf_printf(out, ". to do: %s\n", causes[finding->cause].todo);
    }
    if (health->left_out) {
        buf_printf(out, "and %zu more\n", health->left_out);
    }
}

void agent_health_line(const struct agent_health *health, struct buf *out)
{
    const char *before = "";
    for (size_t i = 0; i < health->count; i++) {
        const struct agent_finding *finding = &health->findings[i];
        if (causes[finding->cause].severity == AGENT_NOTE) {
            continue;
        }
        buf_printf(out, "%s%s%s%s%.200s", before,
            finding->session  ? "session "
            : finding->output ? "output "
                              : "",
            finding->session  ? finding->session
            : finding->output ? finding->output
                              : "",
            finding->session || finding->output ? ": " : "", finding->text);
        before = "; ";
    }
}
