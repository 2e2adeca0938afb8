#include <stdlib.h>

#include "etw/etw_api.h"
#include "etw/etw_privilege.h"
#include "input/windows/etw_boot.h"
#include "input/windows/session/etw_session_own.h"
#include "platform/plat_clock.h"

/*
 * Obtains the ETW session. A running session with the name is ours if the name is ours or, for the
 * NT Kernel Logger, if the last run left a note. It is taken over, replaced or left alone according
 * to the configuration. Sessions of other programs are never stopped.
 *
 * The note about the NT Kernel Logger exists as long as the session, even if that is not kept:
 * without it, a session left by a killed agent could not be distinguished from another program's.
 */

static const char *note_name(const struct etw_session *s)
{
    return s->env.name ? s->env.name : "";
}

static bool is_noted(const struct etw_session *s)
{
    return s->owned && (s->plan->keeps || s->plan->boot || !s->plan->ours);
}

void etw_session_remember(const struct etw_session *s)
{
    struct error err;
    struct etw_kept kept = {.fingerprint = s->plan->fingerprint,
        .handle = s->state.handle,
        .look = s->look,
        .events_lost = s->state.events_lost,
        .log_buffers_lost = s->state.log_buffers_lost,
        .real_time_buffers_lost = s->state.real_time_buffers_lost};
    if (is_noted(s) && !etw_kept_save(s->env.data_dir, note_name(s), &kept, &err)) {
        etw_session_note(s, INPUT_NOTE_WARNING, "%s", err.text);
    }
}

void etw_session_delete_note(const struct etw_session *s)
{
    if (is_noted(s)) {
        etw_kept_delete(s->env.data_dir, note_name(s));
    }
}

/* Note the session's look, by which the next run will recognise it. */
static void own(struct etw_session *s)
{
    struct etw_session_state now;
    s->owned = true;
    s->look = (struct guid){{0}};
    if (!s->plan->ours && etw_control_query(s->plan->name, &now, NULL) &&
        now.handle == s->state.handle) {
        s->look = etw_kept_look(&now);
    }
}

/* Check the rights for the plan; ${err} names what is missing. */
static bool has_rights(const struct etw_plan *plan, struct error *err)
{
    struct etw_rights rights;
    enum etw_need need = plan->kind == ETW_PLAN_KERNEL ? ETW_NEED_KERNEL_LOGGER
                         : plan->kind == ETW_PLAN_HEAP ? ETW_NEED_HEAP
                         : plan->is_system             ? ETW_NEED_KERNEL
                                                       : ETW_NEED_SESSION;
    etw_privilege_query(&rights);
    return etw_privilege_check(&rights, need, err) &&
           (!plan->profiles || etw_privilege_check(&rights, ETW_NEED_PROFILE, err));
}

/* Report missing rights once before the first attempt, which is made anyway: the session's own
 * security may grant what the process's token lacks. */
static void check_rights(struct etw_session *s)
{
    struct error err;
    if (!s->rights_checked && !has_rights(s->plan, &err)) {
        etw_session_note(s, INPUT_NOTE_WARNING, "%s: %s", s->plan->name, err.text);
    }
    if (!s->rights_checked && (s->plan->is_system || s->plan->profiles)) {
        /* some groups need it, and administrators may enable it */
        etw_privilege_enable_profile(NULL);
    }
    s->rights_checked = true;
}

bool etw_session_explain(const struct etw_session *s, struct error *err)
{
    struct error why;
    bool is_refused = err->os_code == ETW_ERROR_ACCESS_DENIED ||
                      err->os_code == ETW_ERROR_PRIVILEGE_NOT_HELD;
    if (is_refused && !has_rights(s->plan, &why)) {
        int64_t code = err->os_code;
        error_set(err, ERR_IO, "%s", why.text);
        err->os_code = code;
    }
    return false;
}

/* A session launched for it has missed nothing. */
static bool start_heap(struct etw_session *s, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    uint32_t pids[ETW_MAX_HEAP_PROCESSES];
    struct etw_heap_request request = {
        .pids = pids, .stacks = plan->heap.stacks, .stack_count = plan->heap.stack_count};
    if (!etw_targets_get(s->targets, pids, &request.pid_count, err)) {
        return false;
    }
    if (etw_targets_are_fresh(s->targets)) {
        s->missing_since = 0;
    }
    return etw_heap_start(&plan->session, &request, &s->state, err);
}

static bool start_new(struct etw_session *s, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    bool good = s->targets        ? start_heap(s, err)
                : plan->is_system ? etw_kernel_start(&plan->session, &plan->groups, plan->stacks,
                                        plan->stack_count, &s->state, err)
                                  : etw_control_start(&plan->session, &s->state, err);
    if (!good) {
        return etw_session_explain(s, err);
    }
    own(s);
    if (!plan->ours) {
        etw_session_remember(s);
    }
    etw_loss_begin(&s->loss, NULL, plat_now_filetime());
    s->loss.counts = true; /* a new session has no losses */
    return true;
}

/* True if the counters belong to this session, not to an earlier one with its name. */
static bool is_of_this_session(const struct etw_kept *kept, const struct etw_session_state *state)
{
    return kept->handle == state->handle && kept->events_lost <= state->events_lost &&
           kept->log_buffers_lost <= state->log_buffers_lost &&
           kept->real_time_buffers_lost <= state->real_time_buffers_lost;
}

/* Continue a running session of ours: no events are missing except what it lost meanwhile. ${kept}
 * NULL: its earlier losses are unknown. */
static void take_over(
    struct etw_session *s, const struct etw_session_state *state, const struct etw_kept *kept)
{
    const struct etw_plan *plan = s->plan;
    struct error err;
    s->state = *state;
    struct etw_session_state before = *state;
    if (kept) {
        bool is_same = is_of_this_session(kept, state); /* otherwise all its losses are new */
        before.events_lost = is_same ? kept->events_lost : 0;
        before.log_buffers_lost = is_same ? kept->log_buffers_lost : 0;
        before.real_time_buffers_lost = is_same ? kept->real_time_buffers_lost : 0;
    }
    uint64_t now = plat_now_filetime();
    etw_loss_begin(&s->loss, &before, s->missing_since ? s->missing_since : now);
    if (plan->boot && !s->was_open) {
        s->before_boot = s->missing_since; /* no session survives a reboot */
    }
    s->taken_over = s->missing_since && !s->before_boot ? s->missing_since : now;
    s->missing_since = 0;
    etw_session_note(s, INPUT_NOTE_INFO, "continues the running session %s", plan->name);
    if (plan->is_system &&
        (!etw_kernel_set_groups(state->handle, plan->name, &plan->groups, &err) ||
            !etw_kernel_set_stacks(
                state->handle, plan->name, plan->stacks, plan->stack_count, &err))) {
        etw_session_note(s, INPUT_NOTE_WARNING, "%s", err.text);
    }
    own(s);
}

/* For a session started by Windows and never read: all its losses are new. */
static const struct etw_kept since_boot;

/* Share the NT Kernel Logger of another program. */
static bool share_kernel_logger(
    struct etw_session *s, const struct etw_session_state *state, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    if (plan->in_use == LIVE_IN_USE_FAIL) {
        return error_set(err, ERR_STOPPED,
            "another program runs the NT Kernel Logger. use type: system, or write in_use: attach "
            "or update");
    }
    s->state = *state;
    s->owned = false;
    etw_hold_drop(s->hold);
    s->hold = NULL;
    etw_loss_begin(&s->loss, state, plat_now_filetime());
    struct error why;
    if (plan->in_use == LIVE_IN_USE_UPDATE &&
        !etw_kernel_set_groups(state->handle, plan->name, &plan->groups, &why)) {
        etw_session_note(s, INPUT_NOTE_WARNING, "%s", why.text);
    }
    return true;
}

/* True if an earlier run left this NT Kernel Logger. Its handle does not depend on its owner, so
 * its look must match as well, and no other agent with these settings may hold it. */
static bool is_left_by_us(
    const struct etw_session *s, const struct etw_kept *kept, const struct etw_session_state *state)
{
    struct guid look = etw_kept_look(state);
    return s->hold && guid_equal(&kept->look, &look) && is_of_this_session(kept, state);
}

/*
 * Windows started the session at boot into a file, because nothing could read it (etw_boot.h). From
 * now on it is read. If this Windows cannot continue it without its file, it is closed and a new
 * one started; the gap between the two is reported.
 */
static bool hand_over(struct etw_session *s, bool *ret_start, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    struct etw_session_state state;
    uint64_t since = plat_now_filetime();
    const struct etw_session_change change = {.set_real_time = true, .real_time = true};
    if (plan->kind == ETW_PLAN_RECORD) { /* recording into the file is its purpose */
        if (!etw_control_update(plan->name, &change, &state, err)) {
            return etw_session_explain(s, err);
        }
        take_over(s, &state, &since_boot);
        return true;
    }
    if (etw_control_convert(plan->name, &state, err)) {
        const struct etw_kept told_by_file = {.handle = state.handle,
            .events_lost = state.events_lost,
            .log_buffers_lost = state.log_buffers_lost};
        take_over(s, &state, &told_by_file);
        etw_session_remember(s); /* first of all: losses of the file must be reported once */
        return true;
    }
    if (!etw_control_stop(plan->name, NULL, err) &&
        err->os_code != ETW_ERROR_WMI_INSTANCE_NOT_FOUND) {
        return etw_session_explain(s, err);
    }
    etw_session_note(s, INPUT_NOTE_INFO,
        "closed %s, which Windows started at boot: this Windows cannot continue it without its "
        "file",
        plan->name);
    s->before_boot = s->missing_since;
    s->missing_since = since;
    s->missing_why = "boot_session_closed";
    *ret_start = true;
    return true;
}

/* Decide what happens to a running session of this name. ${ret_start}: start a new one. */
static bool meet_existing(struct etw_session *s, const struct etw_session_state *state,
    bool *ret_start, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    struct etw_kept kept;
    bool known = etw_kept_load(s->env.data_dir, note_name(s), &kept);
    bool same = known && guid_equal(&kept.fingerprint, &plan->fingerprint);
    *ret_start = false;
    if (s->not_ours_now) {
        return error_set(err, ERR_STOPPED,
            "another program stopped %s and started a session with that name, which is left alone",
            plan->name);
    }
    if (etw_session_take_over(s, state, &kept)) {
        take_over(s, state, &kept);
        s->before_boot = 0;
        return true;
    }
    if (!plan->ours && !(known && is_left_by_us(s, &kept, state))) {
        return share_kernel_logger(s, state, err);
    }
    if (plan->on_existing == LIVE_EXISTING_FAIL && !s->was_open) {
        error_set(err, ERR_CONFIG,
            "%s runs already, and on_existing is fail. stop it, or write replace or attach",
            plan->name);
        return false;
    }
    bool is_written = plan->kind == ETW_PLAN_RECORD ? !(state->mode & ETW_MODE_REAL_TIME)
                                                    : etw_boot_is_written(state);
    if (plan->boot && plan->reads && is_written) {
        return hand_over(s, ret_start, err);
    }
    if (plan->boot || plan->on_existing == LIVE_EXISTING_ATTACH || (plan->keeps && same)) {
        if (known && !same) {
            etw_session_note(s, INPUT_NOTE_WARNING,
                "%s has other settings; its buffers, mode and file are not changed", plan->name);
        }
        take_over(s, state, known ? &kept : plan->boot ? &since_boot : NULL);
        return true;
    }
    *ret_start = true;
    if (!etw_control_stop(plan->name, NULL, err) &&
        err->os_code != ETW_ERROR_WMI_INSTANCE_NOT_FOUND) {
        return etw_session_explain(s, err);
    }
    if (known) {
        etw_kept_delete(s->env.data_dir, note_name(s)); /* the next session is not known yet */
    }
    etw_session_note(s, INPUT_NOTE_INFO, "stopped %s, left by an earlier run", plan->name);
    return true;
}

static bool attach(struct etw_session *s, struct error *err)
{
    struct error why = {0};
    bool known = etw_control_query(s->plan->name, &s->state, &why);
    if (!known && why.os_code == ETW_ERROR_WMI_INSTANCE_NOT_FOUND) {
        *err = why;
        return false;
    }
    s->owned = false;
    etw_loss_begin(&s->loss, known ? &s->state : NULL, plat_now_filetime());
    return true;
}

static bool obtain(struct etw_session *s, struct error *err)
{
    struct etw_session_state state;
    struct error why = {0};
    bool start = true;
    check_rights(s);
    if (s->plan->kind == ETW_PLAN_ATTACH) {
        return attach(s, err);
    }
    s->hold = etw_hold_take(s->plan->name, s->plan->ours ? err : &why);
    if (s->plan->ours && !s->hold) {
        return false;
    }
    if (s->hold && etw_hold_warning(s->hold) && !s->warning_told) {
        s->warning_told = true;
        etw_session_note(s, INPUT_NOTE_WARNING, "%s", etw_hold_warning(s->hold));
    }
    if (etw_control_query(s->plan->name, &state, &why) && !meet_existing(s, &state, &start, err)) {
        return false;
    }
    return !start || start_new(s, err);
}

/* Give up the processes of this session. */
static void end_targets(struct etw_session *s)
{
    if (s->targets) {
        etw_targets_end_session(s->targets);
    }
}

/* The interval is the whole machine's, so it must not stay changed without the session. */
static void restore_profile(struct etw_session *s)
{
    struct error err = {0};
    uint32_t ours_100ns;
    if (s->profile_set && !etw_kernel_set_profile(s->profile_old_100ns, &ours_100ns, &err)) {
        etw_session_note(
            s, INPUT_NOTE_WARNING, "the profile interval is not restored: %s", err.text);
    }
    s->profile_set = false;
}

void etw_session_detach(struct etw_session *s)
{
    restore_profile(s);
    end_targets(s);
    etw_hold_drop(s->hold);
    s->hold = NULL;
    s->is_open = false;
    s->owned = false;
}

/* True if our session that had the state ${was} does not run any more. The handle of the NT Kernel
 * Logger does not depend on its owner, so its look must match as well. */
static bool is_gone(const struct etw_session *s, const struct etw_session_state *was)
{
    struct etw_session_state now;
    struct error err = {0};
    if (!etw_control_query(s->plan->name, &now, &err)) {
        return err.os_code == ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    struct guid look = etw_kept_look(&now);
    return now.handle != was->handle || (!s->plan->ours && !guid_equal(&look, &s->look));
}

bool etw_session_get(struct etw_session *s, struct error *err)
{
    struct etw_session_state was = s->state;
    bool was_ours = s->is_open && s->owned;
    if (s->is_open) {
        etw_session_detach(s);
    }
    s->is_open = obtain(s, err);
    if (s->is_open) {
        return true;
    }
    end_targets(s);
    if (was_ours && s->hold && !is_gone(s, &was)) { /* without the lock another agent may own it */
        s->state = was;
        s->owned = true;
        s->is_open = true;
    } else {
        etw_hold_drop(s->hold);
        s->hold = NULL;
    }
    return false;
}

/* ${all} has room for ETW_MAX_PROFILE_SOURCES. */
static bool add_counters(struct etw_session *s, struct etw_profile_source *all, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    uint32_t sources[LIVE_MAX_COUNTERS];
    size_t wanted = plan->counters->count;
    size_t count = 0;
    if (wanted > LIVE_MAX_COUNTERS) {
        return error_set(
            err, ERR_LIMIT, "%zu are named. name at most %d", wanted, LIVE_MAX_COUNTERS);
    }
    if (!etw_kernel_profile_sources(all, ETW_MAX_PROFILE_SOURCES, &count, err)) {
        return false;
    }
    for (size_t i = 0; i < wanted; i++) {
        const char *name = plan->counters->items[i];
        size_t k = 0;
        while (k < count && !span_equal_nocase(span_text(all[k].name), span_text(name))) {
            k++;
        }
        if (k == count) {
            return error_set(err, ERR_CONFIG, "this processor has no counter '%.60s'", name);
        }
        sources[i] = all[k].source;
    }
    return etw_kernel_set_counters(s->state.handle, plan->name, sources, wanted,
        plan->counter_events, plan->counter_event_count, err);
}

void etw_session_add_extras(struct etw_session *s)
{
    const struct etw_plan *plan = s->plan;
    struct error err;
    if (plan->profile_100ns && !s->profile_set) {
        s->profile_set = etw_privilege_enable_profile(&err) &&
                         etw_kernel_set_profile(plan->profile_100ns, &s->profile_old_100ns, &err);
        if (!s->profile_set) {
            etw_session_note(s, INPUT_NOTE_WARNING, "%s", err.text);
        }
    }
    if (plan->counter_event_count == 0) {
        return;
    }
    struct etw_profile_source *all = calloc(ETW_MAX_PROFILE_SOURCES, sizeof(*all));
    if (!all || !add_counters(s, all, &err)) {
        etw_session_note(s, INPUT_NOTE_WARNING, "counters: %s", all ? err.text : "out of memory");
    }
    free(all);
}
