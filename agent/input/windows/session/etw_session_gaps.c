#include "base/filetime.h"
#include "etw/session/etw_control.h"
#include "input/windows/session/etw_session_own.h"
#include "platform/plat_clock.h"

/* Reports to the sink what is missing in a session, and to the agent why nothing is read. */

static const struct trace_info *trace_of(const struct etw_session *s)
{
    return s->connections ? etw_consume_trace(s->connections->consume) : &s->nothing.info;
}

static void give_gap(struct etw_session *s, const struct gap *gap)
{
    if (s->sink.gap) {
        s->sink.gap(s->sink.self, gap);
    }
}

void etw_session_tell_missing(struct etw_session *s)
{
    uint64_t now = plat_now_filetime();
    if (s->missing_since) {
        struct gap gap = {.stage = "agent",
            .reason = s->missing_why,
            .unit = "events",
            .from = s->missing_since < now ? s->missing_since : now,
            .to = now,
            .trace = trace_of(s)};
        give_gap(s, &gap);
    }
    s->missing_since = 0;
    uint64_t boot = trace_of(s)->boot_time;
    if (s->before_boot && s->before_boot < boot) {
        struct gap gap = {.stage = "agent",
            .reason = "not_running",
            .unit = "events",
            .from = s->before_boot,
            .to = boot,
            .trace = trace_of(s)};
        give_gap(s, &gap);
    }
    s->before_boot = 0;
}

static void take_marks(struct etw_session *s)
{
    plat_mutex_lock(&s->mutex);
    struct etw_session_marks marks = s->marks;
    s->marks = (struct etw_session_marks){.time = 0};
    plat_mutex_unlock(&s->mutex);
    for (int i = 0; i < ETW_SESSION_MARKS; i++) {
        etw_loss_note(&s->loss, (enum etw_loss_mark)i, marks.count[i], marks.time);
    }
}

/* ---- numbers of messages --------------------------------------------------------------------- */

/* True if another session of this machine takes numbers from the same counter. Then missing numbers
 * may be its messages. */
static bool shares_numbers(const struct etw_session *s)
{
    struct etw_session_list list = {0};
    bool shares = false;
    if (etw_control_list(&list, NULL)) {
        for (size_t i = 0; i < list.count && !shares; i++) {
            shares = list.items[i].mode & ETW_MODE_USE_GLOBAL_SEQUENCE &&
                     list.items[i].handle != s->state.handle;
        }
        etw_control_list_fini(&list);
    }
    return shares;
}

static void give_missing(struct etw_session *s, const struct message_gap *missing)
{
    if (s->numbers.is_global && shares_numbers(s)) {
        return;
    }
    give_gap(s, &(struct gap){.stage = "etw",
                    .reason = message_numbers_reason(&s->numbers),
                    .unit = "events",
                    .count = missing->count,
                    .exact = !s->numbers.is_global,
                    .from = missing->from,
                    .to = missing->to,
                    .trace = trace_of(s)});
}

/* Cut after two flush intervals and a margin, by the clock and by the time of what was read: a slow
 * reader has not reached what was written then, but an idle one has. */
static void look_at_numbers(struct etw_session *s)
{
    const uint64_t now = plat_monotonic_ns();
    uint64_t flush_ms = s->state.flush_ms ? s->state.flush_ms : 1000;
    uint64_t wait_ms = 2 * flush_ms + s->timing.numbers_ms;
    uint64_t newest = s->consume ? etw_consume_newest(s->consume) : 0;
    bool has_read = newest == s->numbers_newest[1] ||
                    newest >= s->numbers_newest[0] + wait_ms * FILETIME_PER_MS;
    struct message_gap missing;
    s->numbers_newest[1] = newest;
    if (!s->numbers.has_any || now < s->numbers_at_ns || !has_read) {
        return;
    }
    bool is_due = s->numbers_at_ns != 0;
    s->numbers_at_ns = now + wait_ms * NS_PER_MS;
    s->numbers_newest[0] = newest;
    if (is_due && message_numbers_cut(&s->numbers, &missing)) {
        give_missing(s, &missing);
    }
}

void etw_session_tell_numbers(struct etw_session *s)
{
    struct message_gap missing;
    if (message_numbers_end(&s->numbers, &missing)) {
        give_missing(s, &missing);
    }
}

void etw_session_tell_losses(struct etw_session *s, const struct etw_session_state *state)
{
    struct gap gaps[ETW_LOSS_GAPS];
    take_marks(s);
    size_t count = etw_loss_look(&s->loss, state, plat_now_filetime(), trace_of(s), gaps);
    for (size_t i = 0; i < count; i++) {
        bool is_event = strcmp(gaps[i].unit, "events") == 0;
        bool is_read = strcmp(gaps[i].reason, "log_buffers_lost") != 0;
        message_numbers_explain(
            &s->numbers, is_event ? gaps[i].count : 0, is_event || !is_read ? 0 : gaps[i].count);
        give_gap(s, &gaps[i]);
    }
    look_at_numbers(s);
    if (state) {
        s->state = *state;
    }
    if (count) {
        etw_session_remember(s);
    }
}

/* ---- trouble --------------------------------------------------------------------------------- */

void etw_session_tell_trouble(const struct etw_session *s, const char *why)
{
    if (s->env.trouble) {
        s->env.trouble(s->env.self, why);
    }
}

void etw_session_tell_failure(struct etw_session *s, const struct error *err)
{
    etw_session_tell_trouble(s, err->text);
    if (strcmp(s->last_failure.text, err->text) != 0) {
        etw_session_note(s, INPUT_NOTE_WARNING, "%s. trying again", err->text);
    }
    s->last_failure = *err;
}
