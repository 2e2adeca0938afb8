#include "input/windows/etw_session_internal.h"
#include "platform/plat_system.h"

/* What a session knows to be missing, handed to the sink. */

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

void etw_session_tell_losses(struct etw_session *s, const struct etw_session_state *state)
{
    struct gap gaps[ETW_LOSS_GAPS];
    take_marks(s);
    size_t count = etw_loss_look(&s->loss, state, plat_now_filetime(), trace_of(s), gaps);
    for (size_t i = 0; i < count; i++) {
        give_gap(s, &gaps[i]);
    }
    if (state) {
        s->state = *state;
    }
    if (count) {
        etw_session_remember(s);
    }
}
