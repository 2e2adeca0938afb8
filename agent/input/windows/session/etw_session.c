#include "input/windows/session/etw_session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etw/etw_api.h"
#include "input/windows/session/etw_session_own.h"
#include "platform/plat_clock.h"

/*
 * Threads: everything runs on the thread of etw_session_run except callbacks of the consumer
 * (etw_consume.h). `mutex` guards `asked_to_stop`, `asked_to_pass_on`, `woken` and `marks`, which
 * other threads change. Consumer and session thread call the sink, each in its turn; without a
 * consumer only this thread does.
 *
 * Records refer to the trace of their connection. So connections that have ended stay until the
 * session is destroyed, when everything is delivered.
 *
 * leave() undoes a partial start in reverse order. What is undone depends on the owner of the
 * session: own ones are stopped, foreign and kept ones left running.
 */

struct etw_session_timing etw_session_timing = {.poll_ms = 1000,
    .held_ms = 100,
    .retry_ms = 1000,
    .retry_max_ms = 60000,
    .look_ms = 30000,
    .look_max_ms = 900000,
    .enable_ms = 2000,
    .begin_ms = 5000,
    .stop_ms = 5000,
    .behind_ms = 10000,
    .actor_ms = 3000,
    .numbers_ms = 3000,
    .clock_ms = 1000};

/* ---- notes ----------------------------------------------------------------------------------- */

void etw_session_note(const struct etw_session *s, enum input_note level, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (s->env.note) {
        s->env.note(s->env.self, level, text);
    }
}

static void pass_note(void *self, enum input_note level, const char *text)
{
    etw_session_note(self, level, "%s", text);
}

/* ---- requests of other threads --------------------------------------------------------------- */

/* For a session of heaps: all its processes have ended, and no others will follow. */
static bool is_over(struct etw_session *s)
{
    return s->targets && etw_targets_ended(s->targets) == ETW_TARGETS_OVER;
}

static bool must_stop(struct etw_session *s)
{
    plat_mutex_lock(&s->mutex);
    bool stop = s->asked_to_stop;
    plat_mutex_unlock(&s->mutex);
    return stop || s->sink_stopped || (s->consume && etw_consume_is_refused(s->consume)) ||
           is_over(s);
}

/* Wait until something happens or ${wait_ms} have passed. */
static void wait_for_change(struct etw_session *s, uint64_t wait_ms)
{
    uint64_t deadline = plat_monotonic_ns() + wait_ms * NS_PER_MS;
    bool in_time = true;
    plat_mutex_lock(&s->mutex);
    while (!s->asked_to_stop && !s->woken && in_time) {
        in_time = plat_cond_wait_until(&s->changed, &s->mutex, deadline);
    }
    s->woken = false;
    plat_mutex_unlock(&s->mutex);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void leave(struct etw_session *s, bool stop_it);

/* A running session is stopped unread: report a gap since it became ours. */
static void miss_what_was_taken_over(struct etw_session *s)
{
    if (s->owned && s->taken_over && !s->missing_since) {
        s->missing_since = s->taken_over;
        s->missing_why = "session_stopped";
    }
}

/* Start reading, if the session is to be read, before providers are enabled: what they report at
 * once needs a reader, and enabling may take time. */
static bool read_it(struct etw_session *s, struct error *err)
{
    if (s->plan->reads && !etw_session_connect(s, err)) {
        return false;
    }
    etw_session_tell_missing(s); /* before the consumer uses the sink */
    s->read_since_ns = plat_monotonic_ns();
    return !s->consume || etw_consume_start(s->consume, err);
}

/* An older Windows takes a system provider for one that no process has registered, and reports no
 * error ("System Providers" on learn.microsoft.com). */
static void tell_system_providers(const struct etw_session *s)
{
    enum { FIRST_BUILD = 20348 };
    uint32_t told = s->consume ? etw_consume_build(s->consume) : 0;
    uint32_t build = told ? told : s->nothing.host.build;
    for (size_t i = 0; build && build < FIRST_BUILD && i < s->plan->entry_count; i++) {
        const struct etw_plan_entry *entry = &s->plan->entries[i];
        if (!entry->nothing && etw_kernel_provider_of(&entry->request.provider)) {
            etw_session_note(s, INPUT_NOTE_WARNING,
                "provider %s brings no events: Windows has system providers since build %d, and "
                "this is build %u. name groups of kernel events in `flags`",
                entry->label, FIRST_BUILD, build);
        }
    }
}

/* Enable the session's events. Launched processes are resumed here. */
static bool begin(struct etw_session *s, struct error *err)
{
    etw_session_guard_prepare(s);
    if (!s->was_open) {
        tell_system_providers(s);
    }
    if (s->owned) {
        etw_providers_begin(s->providers, s->state.handle, s->taken_over != 0, plat_monotonic_ns());
    }
    etw_session_guard_entered(s);
    if (s->owned) {
        etw_providers_capture(s->providers, s->state.handle);
    }
    return !s->consume || !s->targets || etw_targets_go(s->targets, err);
}

static bool enter(struct etw_session *s, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    s->taken_over = 0;
    if (!etw_session_get(s, err)) {
        return false;
    }
    if (s->owned) {
        etw_session_add_extras(s);
    }
    if (!read_it(s, err) || !begin(s, err)) {
        miss_what_was_taken_over(s);
        leave(s, s->owned);
        return false;
    }
    etw_session_remember(s);
    s->was_open = true;
    s->not_ours_now = false;
    etw_session_note(s, INPUT_NOTE_INFO, "%s: %u to %u buffers of %u KB, flushed every %u ms",
        plan->name, s->state.min_buffers, s->state.max_buffers, s->state.buffer_kb,
        s->state.flush_ms);
    return true;
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* Report a gap since its last event. */
static void miss_the_rest(struct etw_session *s, const char *why)
{
    uint64_t newest = s->consume ? etw_consume_newest(s->consume) : 0;
    s->missing_since = newest ? newest : s->loss.since;
    s->missing_why = why;
}

/* Wait for the consumer to end: by itself, else by closing the connection, else by abandoning it.
 * Unread events are then reported as a gap, at once if there was none. */
static void end_consumer(struct etw_session *s, bool ends_by_itself)
{
    uint64_t step = s->timing.stop_ms * NS_PER_MS;
    bool is_news = s->missing_since == 0;
    uint32_t code = 0;
    if (!s->consume) {
        return;
    }
    if (!ends_by_itself || !etw_consume_wait(s->consume, plat_monotonic_ns() + step, NULL)) {
        etw_consume_close(s->consume);
    }
    if (!etw_consume_wait(s->consume, plat_monotonic_ns() + step, &code)) {
        etw_consume_abandon(s->consume);
        etw_session_note(s, INPUT_NOTE_WARNING,
            "Windows does not end the reading of %s; the agent abandons the reader", s->plan->name);
        if (is_news) {
            miss_the_rest(s, "reader_failed");
        }
    } else if (etw_consume_late(s->consume)) {
        etw_session_note(s, INPUT_NOTE_INFO,
            "%s: %llu events arrived late and were delivered after newer ones", s->plan->name,
            (unsigned long long)etw_consume_late(s->consume));
    }
    etw_consume_close(s->consume);
    s->consume = NULL;
    if (code == ETW_ERROR_WMI_INSTANCE_NOT_FOUND) { /* it connected too late */
        miss_what_was_taken_over(s);
    }
    if (is_news && s->missing_since) {
        etw_session_tell_missing(s);
    }
}

/* Disable providers, flush buffers, stop the session, read everything in it: in this order nothing
 * is lost. Stopping a session that was running discards waiting events unless its reader is
 * connected, which only received events prove. */
static void stop_session(struct etw_session *s)
{
    struct etw_session_state last;
    struct error err = {0};
    etw_providers_end(s->providers, s->state.handle);
    if ((s->plan->reads || s->plan->snapshot) && !etw_control_flush(s->plan->name, &err) &&
        s->plan->snapshot) {
        etw_session_note(s, INPUT_NOTE_WARNING, "%s", err.text);
    }
    if (s->consume && s->taken_over) {
        etw_consume_wait_begun(s->consume, s->read_since_ns + s->timing.begin_ms * NS_PER_MS);
    }
    bool known = etw_control_stop(s->plan->name, &last, &err);
    if (!known && err.os_code != ETW_ERROR_WMI_INSTANCE_NOT_FOUND) {
        etw_session_note(s, INPUT_NOTE_WARNING, "%s", err.text);
    }
    end_consumer(s, known);
    etw_session_tell_losses(s, known ? &last : NULL);
    etw_session_tell_numbers(s);
    etw_session_guard_tell_all(s);
    if (known || err.os_code == ETW_ERROR_WMI_INSTANCE_NOT_FOUND) {
        etw_session_delete_note(s);
    }
}

/* True if the session with this name is the one we started; own sessions are found by name. */
static bool is_the_same(const struct etw_session *s)
{
    struct etw_session_state now;
    return s->plan->ours || !etw_control_query(s->plan->name, &now, NULL) ||
           now.handle == s->state.handle;
}

/* The session continues without us. ${same}: it was not replaced by another program's. */
static void let_go(struct etw_session *s, bool same)
{
    struct etw_session_state now;
    end_consumer(s, false);
    etw_session_guard_tell_all(s);
    if (same && etw_control_query(s->plan->name, &now, NULL)) {
        etw_session_tell_losses(s, &now);
        if (s->owned && !s->plan->ours) {
            s->look = etw_kept_look(&now); /* its flags may have been changed */
        }
    }
    if (same) {
        etw_session_remember(s);
    } else {
        etw_session_delete_note(s);
    }
}

static void leave(struct etw_session *s, bool stop_it)
{
    if (!s->is_open) {
        return;
    }
    bool same = !s->owned || is_the_same(s);
    if (stop_it && s->owned && same) {
        stop_session(s);
    } else {
        let_go(s, same);
    }
    etw_session_detach(s);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Called in this thread's turn. False: the sink stopped. */
static bool pause_sink(struct etw_session *s)
{
    s->sink_stopped = s->sink_stopped || (s->sink.pause && !s->sink.pause(s->sink.self));
    return !s->sink_stopped;
}

/* Check everything once. False: the session has ended, or the sink stopped. */
static bool look(struct etw_session *s)
{
    struct etw_session_state state;
    struct error err = {0};
    uint64_t deadline = plat_monotonic_ns() + s->timing.poll_ms * NS_PER_MS;
    if (s->consume && !etw_consume_ask(s->consume, deadline)) {
        return true; /* the consumer has the turn */
    }
    bool known = etw_control_query(s->plan->name, &state, &err);
    bool gone = known ? state.handle != s->state.handle && s->state.handle
                      : err.os_code == ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
    if (!gone) {
        etw_session_tell_losses(s, known ? &state : NULL);
    }
    if (s->consume) {
        etw_consume_give_held(s->consume);
    }
    etw_session_guard_tell(s);
    bool more = pause_sink(s);
    if (s->consume) {
        etw_consume_adjust(s->consume);
        etw_consume_give(s->consume);
    }
    if (known && s->targets) {
        etw_targets_look(s->targets, &state, plat_monotonic_ns());
    }
    if (!gone && s->owned) {
        etw_providers_tick(s->providers, s->state.handle, plat_monotonic_ns());
    }
    if (!gone) {
        etw_session_guard_look(s, known ? &state : NULL);
    }
    return more && !gone;
}

/* Between two checks: deliver records of raw buffers that are due. False: the sink stopped. */
static bool give_held(struct etw_session *s)
{
    bool more = true;
    if (etw_consume_ask(s->consume, plat_monotonic_ns())) {
        etw_consume_give_held(s->consume);
        more = pause_sink(s);
        etw_consume_give(s->consume);
    }
    return more;
}

/* For a session of heaps: all its processes have ended, but others may follow. */
static bool has_no_targets(struct etw_session *s)
{
    return s->targets && etw_targets_ended(s->targets) == ETW_TARGETS_AWAY;
}

/* Run until the session ends or a stop is requested. True: it is to be stopped. */
static bool serve(struct etw_session *s)
{
    bool more = true;
    uint64_t look_at = 0;
    while (more && !must_stop(s) && !has_no_targets(s)) {
        wait_for_change(s, s->consume && s->plan->raw ? s->timing.held_ms : s->timing.poll_ms);
        bool over = s->consume && etw_consume_wait(s->consume, 0, NULL);
        bool is_due = !s->plan->raw || !s->consume || plat_monotonic_ns() >= look_at;
        if (is_due) {
            look_at = plat_monotonic_ns() + s->timing.poll_ms * NS_PER_MS;
        }
        more = !over && (is_due ? look(s) : give_held(s));
        s->pause_ns = over ? s->pause_ns : s->timing.retry_ms * NS_PER_MS;
    }
    return must_stop(s);
}

static void handle_foreign_stop(struct etw_session *s)
{
    struct etw_session_state state;
    etw_session_note(s, INPUT_NOTE_WARNING, "%s was stopped by another program", s->plan->name);
    miss_the_rest(s, "session_stopped");
    end_consumer(s, true);
    if (etw_control_query(s->plan->name, &state, NULL) && state.handle == s->state.handle) {
        etw_session_tell_losses(s, &state);
    } else if (!s->plan->ours) {
        etw_session_delete_note(s); /* the next session of that name may be another program's */
    }
    etw_session_tell_numbers(s);
    s->not_ours_now = s->owned && s->plan->ours;
    etw_session_guard_stopped(s);
    etw_session_detach(s);
}

/* Wait before the next attempt; the sink is called regularly. False: it stopped. */
static bool rest(struct etw_session *s)
{
    uint64_t until = plat_monotonic_ns() + s->pause_ns;
    uint64_t max = s->timing.retry_max_ms * NS_PER_MS;
    bool more = true;
    s->pause_ns = s->pause_ns * 2 < max ? s->pause_ns * 2 : max;
    while (more && !must_stop(s) && plat_monotonic_ns() < until) {
        uint64_t left_ms = (until - plat_monotonic_ns()) / NS_PER_MS + 1;
        wait_for_change(s, left_ms < s->timing.poll_ms ? left_ms : s->timing.poll_ms);
        more = pause_sink(s);
    }
    return more;
}

/* True if reading ended with an error while the session runs on. ProcessTrace succeeds when its
 * session has ended, even if the name is in use again. */
static bool has_lost_its_reader(const struct etw_session *s, struct error *err)
{
    struct etw_session_state state;
    uint32_t code = 0;
    bool failed = s->consume && etw_consume_wait(s->consume, 0, &code) && code != 0 &&
                  etw_control_query(s->plan->name, &state, NULL) && state.handle == s->state.handle;
    return failed && !error_set(err, ERR_IO, "reading %s has ended: %s (error %u)", s->plan->name,
                         etw_api_reason(code), code);
}

/* How a turn ended: from entering the session to when it has to be entered again. */
enum turn { TURN_AGAIN, TURN_OVER, TURN_FAILED };

/* It could not be entered. */
static enum turn miss(struct etw_session *s, const struct error *why, struct error *err)
{
    if (is_over(s)) {
        return TURN_OVER;
    }
    if (why->code == ERR_CONFIG || s->env.once) {
        *err = *why;
        leave(s, !s->plan->keeps);
        etw_session_end_unclaimed(s);
        return TURN_FAILED;
    }
    etw_session_guard_failed(s, why);
    etw_session_tell_failure(s, why);
    return rest(s) ? TURN_AGAIN : TURN_OVER;
}

/* Reading has ended with ${why}. The session stays open until the next turn: a stop meanwhile ends
 * it in order. */
static enum turn lose_reader(struct etw_session *s, const struct error *why, struct error *err)
{
    struct etw_session_state state;
    if (s->env.once) {
        *err = *why;
        leave(s, !s->plan->keeps);
        return TURN_FAILED;
    }
    etw_session_note(s, INPUT_NOTE_WARNING, "%s", why->text);
    etw_session_tell_trouble(s, why->text);
    miss_the_rest(s, "reader_failed");
    end_consumer(s, true);
    bool known = etw_control_query(s->plan->name, &state, NULL);
    etw_session_tell_losses(s, known ? &state : NULL);
    etw_session_guard_tell(s);
    return rest(s) ? TURN_AGAIN : TURN_OVER;
}

static enum turn take_turn(struct etw_session *s, struct error *err)
{
    struct error why = {0};
    if (!etw_session_guard_allows(s)) {
        return rest(s) ? TURN_AGAIN : TURN_OVER;
    }
    if (!enter(s, &why)) {
        return miss(s, &why, err);
    }
    s->last_failure.text[0] = 0;
    etw_session_tell_trouble(s, NULL);
    if (serve(s) || (s->consume && etw_consume_is_refused(s->consume))) {
        return TURN_OVER;
    }
    if (has_no_targets(s)) {
        leave(s, true);
        return TURN_AGAIN;
    }
    if (has_lost_its_reader(s, &why)) {
        return lose_reader(s, &why, err);
    }
    handle_foreign_stop(s);
    if (s->env.once) {
        error_set(err, ERR_STOPPED, "%s was stopped by another program", s->plan->name);
        return TURN_FAILED;
    }
    return TURN_AGAIN;
}

static void end(struct etw_session *s)
{
    bool passes_on = etw_session_begin_end(s);
    if (s->targets && !passes_on) {
        etw_targets_stop(s->targets);
    }
    leave(s, !s->plan->keeps && !s->passed_on);
    etw_session_guard_tell_all(s);
}

enum input_end etw_session_run(
    struct etw_session *s, const struct input_sink *sink, struct error *err)
{
    if (s->plan->keeps && !s->env.data_dir && s->plan->on_existing != LIVE_EXISTING_ATTACH) {
        etw_session_note(s, INPUT_NOTE_WARNING,
            "keep_on_restart: without agent.data_dir the next run cannot recognise the session, so "
            "it is stopped at the end. add data_dir");
        s->plan->keeps = false;
    }
    s->sink = *sink;
    s->missing_since = s->env.last_time;
    s->missing_why = "not_running";
    /* a handed-over session is read before it ends, even if a stop is requested already */
    bool takes_over = s->env.takeover.size != 0 && !s->targets;
    enum turn turn = TURN_AGAIN;
    while (turn == TURN_AGAIN && (takes_over || !must_stop(s))) {
        takes_over = false;
        turn = take_turn(s, err);
    }
    if (turn == TURN_FAILED) {
        return INPUT_FAILED;
    }
    bool over = is_over(s);
    end(s);
    return over ? INPUT_DONE : INPUT_STOPPED;
}

void etw_session_stop(struct etw_session *s)
{
    plat_mutex_lock(&s->mutex);
    s->asked_to_stop = true;
    plat_cond_broadcast(&s->changed);
    plat_mutex_unlock(&s->mutex);
}

/* ---- creation -------------------------------------------------------------------------------- */

static bool stops(void *self)
{
    return must_stop(self);
}

static bool make_providers(struct etw_session *s, struct error *err)
{
    struct etw_providers_settings settings = {.plan = s->plan,
        .note = pass_note,
        .stops = stops,
        .self = s,
        .enable_ms = s->timing.enable_ms,
        .retry_ns = s->timing.retry_ms * NS_PER_MS,
        .retry_max_ns = s->timing.retry_max_ms * NS_PER_MS,
        .look_ns = s->timing.look_ms * NS_PER_MS,
        .look_max_ns = s->timing.look_max_ms * NS_PER_MS};
    s->providers = etw_providers_create(&settings, err);
    return s->providers != NULL;
}

struct etw_session *etw_session_create(struct etw_plan *plan, const struct input_env *env,
    const struct etw_session_timing *timing, struct error *err)
{
    struct etw_session *s = calloc(1, sizeof(*s));
    if (!s) {
        etw_plan_destroy(plan);
        error_set(err, ERR_MEMORY, "out of memory for a session");
        return NULL;
    }
    struct etw_logfile_header none = {0};
    s->plan = plan;
    s->env = *env;
    s->timing = *timing;
    s->pause_ns = timing->retry_ms * NS_PER_MS;
    etw_trace_init(&s->nothing, plan->name, &none);
    plat_mutex_init(&s->mutex);
    plat_cond_init(&s->changed);
    etw_session_guard_init(s);
    bool good = make_providers(s, err);
    if (good && plan->kind == ETW_PLAN_HEAP) {
        s->targets = etw_targets_create(plan, &s->env, timing->look_ms * NS_PER_MS);
        good = s->targets || error_set(err, ERR_MEMORY, "out of memory for a session");
    }
    if (!good) {
        etw_session_destroy(s);
        return NULL;
    }
    return s;
}

void etw_session_destroy(struct etw_session *s)
{
    if (!s) {
        return;
    }
    etw_consume_reap(0);
    while (s->connections) {
        struct etw_session_connection *older = s->connections->older;
        etw_consume_destroy(s->connections->consume);
        free(s->connections);
        s->connections = older;
    }
    etw_session_guard_fini(s);
    etw_providers_destroy(s->providers);
    etw_targets_destroy(s->targets);
    etw_plan_destroy(s->plan);
    plat_cond_fini(&s->changed);
    plat_mutex_fini(&s->mutex);
    free(s);
}
