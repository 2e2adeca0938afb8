#include <stdio.h>

#include "input/windows/session/etw_session_own.h"
#include "platform/plat_clock.h"

/*
 * Hand-over of an ETW session from one input to the next in this process (input_ops.continues). The
 * session is not stopped: events wait in its buffers. The next input finds it by its handle, counts
 * its losses from where the previous one stopped, and knows its enabled providers.
 */
struct takeover {
    struct etw_kept kept; /* with the plan's shape as fingerprint */
    bool stays;           /* it may outlive the process */
    char name[ETW_NAME_BYTES];
    /* The GUIDs of its providers follow. */
};

static bool read_takeover(struct span bytes, struct takeover *ret_takeover, struct span *ret_guids)
{
    if (bytes.size < sizeof(*ret_takeover)) {
        return false;
    }
    memcpy(ret_takeover, bytes.data, sizeof(*ret_takeover));
    *ret_guids = span_from(bytes, sizeof(*ret_takeover));
    return true;
}

bool etw_session_goes_on(const struct etw_session *s, const struct etw_session *next)
{
    const struct etw_plan *a = s->plan;
    const struct etw_plan *b = next->plan;
    if (s->targets && next->targets) {
        return etw_targets_goes_on(s->targets, next->targets);
    }
    return a->kind == b->kind && a->kind != ETW_PLAN_ATTACH &&
           span_equal_nocase(span_text(a->name), span_text(b->name)) &&
           guid_equal(&a->shape, &b->shape);
}

void etw_session_pass_on(struct etw_session *s)
{
    plat_mutex_lock(&s->mutex);
    s->asked_to_pass_on = true;
    plat_mutex_unlock(&s->mutex);
}

/* False: it is gone, may continue, or cannot be stopped. */
static bool stop_unread(struct span bytes)
{
    struct takeover takeover;
    struct span guids;
    struct etw_session_state state;
    return read_takeover(bytes, &takeover, &guids) && !takeover.stays &&
           etw_control_query(takeover.name, &state, NULL) && state.handle == takeover.kept.handle &&
           etw_control_stop(takeover.name, NULL, NULL);
}

void etw_session_end_unclaimed(struct etw_session *s)
{
    if (!s->was_open && s->targets) {
        etw_targets_end_takeover(s->env.takeover);
    } else if (!s->was_open && (stop_unread(s->env.takeover) || s->taken_over)) {
        s->missing_since = s->missing_since ? s->missing_since : plat_now_filetime();
        s->missing_why = "session_stopped";
        etw_session_tell_missing(s);
    }
}

bool etw_session_begin_end(struct etw_session *s)
{
    plat_mutex_lock(&s->mutex);
    bool passes_on = s->asked_to_pass_on;
    plat_mutex_unlock(&s->mutex);
    s->passed_on = passes_on && s->is_open && s->owned && !s->targets;
    if (!passes_on) {
        etw_session_end_unclaimed(s);
    }
    return passes_on;
}

void etw_session_write_takeover(struct etw_session *s, struct buf *out)
{
    struct takeover takeover = {.kept = {.fingerprint = s->plan->shape,
                                    .handle = s->state.handle,
                                    .look = s->look,
                                    .events_lost = s->state.events_lost,
                                    .log_buffers_lost = s->state.log_buffers_lost,
                                    .real_time_buffers_lost = s->state.real_time_buffers_lost},
        .stays = s->plan->keeps};
    if (s->targets) {
        etw_targets_write_takeover(s->targets, out);
    } else if (s->passed_on) {
        snprintf(takeover.name, sizeof(takeover.name), "%s", s->plan->name);
        buf_add(out, &takeover, sizeof(takeover));
        etw_providers_list(s->providers, out);
    } else if (!s->was_open) {
        buf_add_span(out, s->env.takeover); /* it was not taken over */
    }
}

void etw_session_end_takeover(struct span bytes)
{
    stop_unread(bytes);
}

bool etw_session_take_over(
    struct etw_session *s, const struct etw_session_state *state, struct etw_kept *ret_kept)
{
    struct takeover takeover;
    struct span guids;
    struct guid look = etw_kept_look(state);
    if (s->was_open || !read_takeover(s->env.takeover, &takeover, &guids) ||
        takeover.kept.handle != state->handle ||
        !guid_equal(&takeover.kept.fingerprint, &s->plan->shape)) {
        return false;
    }
    /* the handle of the NT Kernel Logger does not depend on its owner */
    if (!s->plan->ours && !(s->hold && guid_equal(&takeover.kept.look, &look))) {
        return false;
    }
    *ret_kept = takeover.kept;
    return etw_providers_take_over(s->providers, (const struct guid *)(const void *)guids.data,
        guids.size / sizeof(struct guid), NULL);
}
