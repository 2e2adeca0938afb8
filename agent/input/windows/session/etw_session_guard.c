#include <stdlib.h>
#include <string.h>

#include "base/append.h"
#include "base/filetime.h"
#include "base/grow.h"
#include "etw/etw_api.h"
#include "input/windows/session/etw_session_own.h"
#include "platform/plat_clock.h"

/*
 * The guard of a session. etw_guard_judge makes its decisions, etw_guard_policy limits its actions;
 * this file makes the calls. The session's settings are queried with every poll anyway; at the
 * guard's interval there is one more call per provider, and one for the groups of a session with
 * kernel events. No work is done per event.
 *
 * Reports wait in `news` until this thread has the turn at the sink.
 */
enum { MAX_NEWS = 1024 };

/* Starts that may be refused because the stopped session still ends: its name is in use while its
 * buffers are flushed. Each attempt waits twice as long as the one before. */
enum { STILL_STOPPING = 2 };

static bool is_on(const struct etw_session *s)
{
    return s->plan->guard.enabled;
}

static uint64_t time_now(int64_t *ret_counter)
{
    uint64_t now = plat_now_filetime();
    *ret_counter = 0;
    if (etw_api_get()->now) {
        etw_api_get()->now(ret_counter, &now);
    }
    return now;
}

static uint64_t filetime_now(void)
{
    int64_t counter;
    return time_now(&counter);
}

static struct etw_guarded_provider *guarded(struct etw_session_guard *g, const struct guid *guid);

/* ---- reports --------------------------------------------------------------------------------- */

/* The action by another program that ${kind} implies. False: none. */
static bool change_of(const char *kind, enum etw_guard_change_kind *ret_change)
{
    static const struct {
        const char *kind;
        enum etw_guard_change_kind change;
    } rows[] = {{"session_stopped", ETW_GUARD_CHANGE_STOP},
        {"session_changed", ETW_GUARD_CHANGE_CONFIGURE},
        {"provider_disabled", ETW_GUARD_CHANGE_DISABLE},
        {"provider_changed", ETW_GUARD_CHANGE_ENABLE}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].kind, kind) == 0) {
            *ret_change = rows[i].change;
            return true;
        }
    }
    return false;
}

/* Earliest time at which ${change} can have happened. An event may be stamped shortly before the
 * change it reports. */
static uint64_t changed_since(
    struct etw_session_guard *g, enum etw_guard_change_kind change, const struct guid *provider)
{
    const uint64_t slack = FILETIME_PER_S;
    bool of_provider = change == ETW_GUARD_CHANGE_ENABLE || change == ETW_GUARD_CHANGE_DISABLE;
    const struct etw_guarded_provider *one = of_provider ? guarded(g, provider) : NULL;
    uint64_t since = of_provider                            ? (one ? one->whole_at : 0)
                     : change == ETW_GUARD_CHANGE_CONFIGURE ? g->settings_whole_at
                                                            : g->seen_at;
    return since > slack ? since - slack : 0;
}

static void add_news(struct etw_session *s, const struct etw_guard_news *news)
{
    struct etw_session_guard *g = &s->guard;
    etw_session_note(s, INPUT_NOTE_WARNING, "%s%s%s: %s", s->plan->name,
        news->label ? ": provider " : "", news->label ? news->label : "", news->detail);
    if (g->news_count < MAX_NEWS && grow_array(&g->news, g->news_count + 1, sizeof(*g->news))) {
        g->news[g->news_count] = *news;
        struct etw_guard_news *added = &g->news[g->news_count++];
        added->time = plat_now_filetime();
        added->wait_until_ns = 0;
        if (g->actors && change_of(news->kind, &added->change)) {
            added->wait_until_ns = plat_monotonic_ns() + s->timing.actor_ms * NS_PER_MS;
            added->since = changed_since(g, added->change, &added->provider);
        }
    }
}

/* True if it can be reported now, with or without the process that did it. */
static bool is_ripe(const struct etw_session *s, struct etw_guard_news *news, bool all)
{
    return news->wait_until_ns == 0 ||
           etw_guard_actors_find(s->guard.actors, news->change, s->plan->name, &news->provider,
               news->since, &news->by) ||
           all || plat_monotonic_ns() >= news->wait_until_ns;
}

static void tell_one(struct etw_session *s, const struct etw_guard_news *news)
{
    struct guard_report report = {.kind = news->kind,
        .action = news->action,
        .session = span_text(s->plan->name),
        .provider = span_text(news->label ? news->label : ""),
        .provider_guid = news->provider,
        .repairs = news->repairs,
        .detail = span_text(news->detail),
        .shift_ms = news->shift_ms,
        .by_pid = news->by.pid,
        .by_image = span_text(news->by.image),
        .by_user = span_text(news->by.user),
        .time = news->time,
        .trace = s->connections ? etw_consume_trace(s->connections->consume) : &s->nothing.info};
    if (s->sink.guard) {
        s->sink.guard(s->sink.self, &report);
    }
}

static void tell(struct etw_session *s, bool all)
{
    struct etw_session_guard *g = &s->guard;
    size_t left = 0;
    for (size_t i = 0; i < g->news_count; i++) {
        if (is_ripe(s, &g->news[i], all)) {
            tell_one(s, &g->news[i]);
        } else {
            g->news[left++] = g->news[i];
        }
    }
    g->news_count = left;
}

void etw_session_guard_tell(struct etw_session *s)
{
    tell(s, false);
}

void etw_session_guard_tell_all(struct etw_session *s)
{
    tell(s, true);
}

/* Open the session that records which process changes sessions; on failure retry at the next
 * check. */
static void open_actors(struct etw_session *s)
{
    struct etw_session_guard *g = &s->guard;
    uint64_t now = plat_monotonic_ns();
    struct error err = {0};
    if (!s->plan->guard.who || now < g->actors_at_ns) {
        return;
    }
    g->actors_at_ns = now + s->plan->guard.interval_ns;
    if (g->actors) {
        const char *what = etw_guard_actors_keep(g->actors, &g->limits);
        if (what) {
            etw_session_note(s, INPUT_NOTE_WARNING,
                "guard: the session that records which process changes sessions %s", what);
        }
        return;
    }
    g->actors = etw_guard_actors_open(&err);
    if (!g->actors && !g->actors_told) {
        etw_session_note(s, INPUT_NOTE_WARNING,
            "guard: cannot find out which process changes sessions. %s", err.text);
    }
    g->actors_told = true;
}

/* ---- limited repairs ------------------------------------------------------------------------- */

/* ${news} is about an item that must be repaired. True: repair it now. Otherwise the reason is
 * reported once. */
static bool may_repair(struct etw_session *s, struct etw_guard_bound *bound,
    const struct etw_guard_limits *limits, struct etw_guard_news *news)
{
    uint64_t now = plat_monotonic_ns();
    enum etw_guard_verdict verdict = etw_guard_policy_broken(bound, limits, now);
    if (verdict == ETW_GUARD_REPAIR) {
        return true;
    }
    if (verdict != ETW_GUARD_GIVE_UP) {
        return false;
    }
    news->repairs = bound->repairs;
    news->action = limits->repairs ? GUARD_GAVE_UP : GUARD_NONE;
    unsigned long long left_s = (bound->window_until_ns - now) / NS_PER_MS / 1000 + 1;
    if (bound->contested) {
        append_printf(news->detail, sizeof(news->detail),
            ". two repairs were undone by another program; it is left alone for %llu s", left_s);
    } else if (limits->repairs) {
        append_printf(news->detail, sizeof(news->detail),
            ". it was repaired %u times; it is left alone for %llu s", bound->repairs, left_s);
    }
    add_news(s, news);
    return false;
}

/* Report a repair that was attempted; ${err}: the reason if ${done} is false. */
static void tell_repair(struct etw_session *s, struct etw_guard_bound *bound,
    const struct etw_guard_limits *limits, struct etw_guard_news *news, bool done,
    const struct error *err)
{
    etw_guard_policy_repaired(bound, limits, done, plat_monotonic_ns());
    news->repairs = bound->repairs;
    news->action = done ? GUARD_REPAIRED : GUARD_FAILED;
    append_printf(news->detail, sizeof(news->detail), ". %s", done ? "it was repaired" : err->text);
    add_news(s, news);
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool is_system_provider(const struct etw_session *s, size_t index)
{
    struct etw_provider_view view;
    etw_providers_view(s->providers, index, &view);
    return view.enabled && etw_kernel_provider_of(&view.guid);
}

/* Groups that must be on: those of the plan, and those enabled by system providers if Windows lists
 * them as groups. */
static struct etw_groups wanted_groups(const struct etw_session *s)
{
    struct etw_groups wanted = s->plan->groups;
    bool has_providers = false;
    for (size_t i = 0; i < etw_providers_count(s->providers); i++) {
        has_providers = has_providers || is_system_provider(s, i);
    }
    for (size_t i = 0; has_providers && i < ETW_GROUP_WORDS; i++) {
        wanted.words[i] |= s->guard.groups.words[i];
    }
    return wanted;
}

/* Record the groups that are on now as enabled for us. */
static void learn_groups(struct etw_session *s)
{
    struct etw_groups now;
    if (etw_kernel_get_groups(s->state.handle, s->plan->name, &now, NULL)) {
        for (size_t i = 0; i < ETW_GROUP_WORDS; i++) {
            s->guard.groups.words[i] |= now.words[i];
        }
    }
}

/* UPDATE, by any program, disables the session's kernel events: set its groups and enable its
 * system providers again. */
static bool repair_settings(struct etw_session *s, const struct etw_session_state *state,
    struct etw_guard_settings *found, struct error *err)
{
    const struct etw_plan *plan = s->plan;
    struct etw_session_state after;
    found->change.groups = plan->is_system ? &plan->groups : NULL;
    bool good = !found->mends || etw_control_update(plan->name, &found->change, &after, err);
    good = good && (!plan->is_system ||
                       etw_kernel_bring_back(state->handle, plan->name, &plan->groups, err));
    for (size_t i = 0; good && i < etw_providers_count(s->providers); i++) {
        good = !is_system_provider(s, i) ||
               etw_providers_again(s->providers, i, state->handle, plat_monotonic_ns(), err);
    }
    return good;
}

static void look_at_settings(struct etw_session *s, const struct etw_session_state *state)
{
    struct etw_session_guard *g = &s->guard;
    struct etw_guard_news news = {.kind = "session_changed"};
    uint64_t now = filetime_now();
    struct etw_guard_settings found;
    struct etw_groups groups = {.words = {0}};
    struct etw_groups lost = {.words = {0}};
    struct etw_groups wanted = wanted_groups(s);
    etw_guard_judge_settings(&g->was, state, &found);
    bool kernel = s->plan->is_system &&
                  etw_kernel_get_groups(state->handle, s->plan->name, &groups, NULL) &&
                  etw_guard_judge_groups(&wanted, &g->groups, &groups, &lost);
    memcpy(news.detail, found.detail, sizeof(news.detail));
    if (kernel) {
        append_printf(news.detail, sizeof(news.detail),
            "%sgroups of kernel events were switched off", news.detail[0] ? ", " : "");
    }
    if (found.other && !found.worse && !kernel) {
        g->was = *state; /* report once */
        add_news(s, &news);
        g->settings_whole_at = now;
        return;
    }
    if (!found.worse && !kernel) {
        g->settings_whole_at = now;
        etw_guard_policy_whole(&g->settings, &g->limits, plat_monotonic_ns());
        return;
    }
    if (!may_repair(s, &g->settings, &g->limits, &news)) {
        return;
    }
    struct error err = {0};
    bool done = repair_settings(s, state, &found, &err);
    if (done && kernel) { /* groups that other programs enabled are not restored */
        etw_kernel_get_groups(state->handle, s->plan->name, &g->groups, NULL);
    }
    tell_repair(s, &g->settings, &g->limits, &news, done, &err);
    g->settings_whole_at = done ? now : g->settings_whole_at;
}

/* ---- providers ------------------------------------------------------------------------------- */

/* NULL if memory is short; the provider is then not supervised. */
static struct etw_guarded_provider *guarded(struct etw_session_guard *g, const struct guid *guid)
{
    for (size_t i = 0; i < g->provider_count; i++) {
        if (guid_equal(&g->providers[i].guid, guid)) {
            return &g->providers[i];
        }
    }
    if (!grow_array(&g->providers, g->provider_count + 1, sizeof(*g->providers))) {
        return NULL;
    }
    g->providers[g->provider_count] = (struct etw_guarded_provider){.guid = *guid};
    return &g->providers[g->provider_count++];
}

static bool ask(const struct etw_session *s, const struct guid *provider,
    struct etw_provider_enabled *ret_enabled)
{
    uint16_t logger_id = etw_control_logger_id(&s->state);
    *ret_enabled = (struct etw_provider_enabled){.known = false};
    return etw_registrations_query_session(provider, logger_id, ret_enabled, NULL);
}

/* Record what Windows reports for a provider that was just enabled. If it is less than last time,
 * another program has already changed it, which must be detected as undone. */
static void learn_one(struct etw_session *s, struct etw_guarded_provider *provider,
    const struct etw_provider_view *view)
{
    char detail[ETW_GUARD_DETAIL];
    struct etw_provider_enabled now;
    uint64_t asked_at = filetime_now();
    provider->serial = view->serial;
    if (ask(s, &view->guid, &now) && etw_guard_judge_provider(view->request, &provider->was, &now,
                                         detail) == ETW_GUARD_ENABLED) {
        provider->was = now;
        provider->whole_at = asked_at;
    }
}

/* Record that for all providers enabled since the last time. */
static void learn_enabled(struct etw_session *s)
{
    bool is_kernel = false;
    for (size_t i = 0; i < etw_providers_count(s->providers); i++) {
        struct etw_provider_view view;
        etw_providers_view(s->providers, i, &view);
        struct etw_guarded_provider *provider = view.enabled ? guarded(&s->guard, &view.guid)
                                                             : NULL;
        if (provider && provider->serial != view.serial) {
            learn_one(s, provider, &view);
            is_kernel = is_kernel || etw_kernel_provider_of(&view.guid);
        }
    }
    if (is_kernel) {
        learn_groups(s);
    }
}

static void look_at_provider(struct etw_session *s, size_t index)
{
    struct etw_session_guard *g = &s->guard;
    struct etw_provider_view view;
    struct etw_provider_enabled now;
    struct error err = {0};
    etw_providers_view(s->providers, index, &view);
    struct etw_guarded_provider *provider = view.enabled ? guarded(g, &view.guid) : NULL;
    uint64_t asked_at = filetime_now();
    if (!provider || !ask(s, &view.guid, &now)) {
        return;
    }
    struct etw_guard_news news = {.provider = view.guid, .label = view.label};
    enum etw_guard_enabled found = etw_guard_judge_provider(
        view.request, &provider->was, &now, news.detail);
    if (found == ETW_GUARD_ENABLED) {
        provider->whole_at = asked_at;
        if (provider->was.entries == 0 && now.entries) {
            provider->was = now; /* it was registered in between */
        }
        etw_guard_policy_whole(&provider->bound, &g->limits, plat_monotonic_ns());
        return;
    }
    bool disabled = found == ETW_GUARD_DISABLED;
    news.kind = disabled ? "provider_disabled" : "provider_changed";
    if (disabled) {
        append_printf(news.detail, sizeof(news.detail), "it was disabled by another program");
    }
    if (!may_repair(s, &provider->bound, &g->limits, &news)) {
        return;
    }
    bool done = etw_providers_again(
        s->providers, index, s->state.handle, plat_monotonic_ns(), &err);
    tell_repair(s, &provider->bound, &g->limits, &news, done, &err);
    learn_enabled(s);
}

/* ---- consumer and clock ---------------------------------------------------------------------- */

/* ${time_was_set}: ages by earlier time stamps are meaningless. */
static void look_at_pace(
    struct etw_session *s, const struct etw_session_state *state, bool time_was_set)
{
    struct etw_guard_news news = {.kind = "consumer_behind"};
    uint64_t lag_ms = etw_consume_take_lag_ms(s->consume);
    struct etw_guard_reading reading = {.lag_ms = time_was_set ? 0 : lag_ms,
        .limit_ms = (uint64_t)state->flush_ms + s->timing.behind_ms,
        .state = state};
    if (etw_guard_judge_pace(&s->guard.pace, &reading, news.detail)) {
        add_news(s, &news);
    }
}

/* True if the system time was set. */
static bool look_at_clock(struct etw_session *s)
{
    int64_t counter;
    uint64_t now = time_now(&counter);
    struct etw_guard_news news = {.kind = "clock_jumped"};
    news.shift_ms = etw_guard_judge_clock(&s->guard.clock, counter, now,
        etw_api_get()->now ? etw_consume_frequency(s->consume) : 0, s->timing.clock_ms);
    if (news.shift_ms) {
        int64_t ms = news.shift_ms < 0 ? -news.shift_ms : news.shift_ms;
        append_printf(news.detail, sizeof(news.detail),
            "the system's time was set %s by %lld.%03lld s", news.shift_ms < 0 ? "back" : "forward",
            (long long)(ms / 1000), (long long)(ms % 1000));
        add_news(s, &news);
    }
    return news.shift_ms != 0;
}

/* ---- life cycle of the session --------------------------------------------------------------- */

void etw_session_guard_prepare(struct etw_session *s)
{
    if (is_on(s)) {
        open_actors(s);
    }
}

void etw_session_guard_entered(struct etw_session *s)
{
    struct etw_session_guard *g = &s->guard;
    if (!is_on(s)) {
        return;
    }
    g->was = s->state;
    g->pace = (struct etw_guard_pace){.known = false};
    g->look_at_ns = plat_monotonic_ns() + s->plan->guard.interval_ns;
    g->last_failure.text[0] = 0;
    g->refusals = 0;
    if (s->plan->is_system && s->owned) {
        g->groups = s->plan->groups; /* all, if Windows does not report them */
        etw_kernel_get_groups(s->state.handle, s->plan->name, &g->groups, NULL);
    }
    if (s->owned) {
        learn_enabled(s);
    }
    if (g->stopped && s->owned) {
        struct etw_guard_news news = {.kind = "session_stopped"};
        append_printf(news.detail, sizeof(news.detail), "it was stopped by another program");
        tell_repair(s, &g->stop, &g->stop_limits, &news, true, NULL);
    }
    g->stopped = false;
    g->seen_at = g->settings_whole_at = filetime_now();
}

void etw_session_guard_look(struct etw_session *s, const struct etw_session_state *state)
{
    struct etw_session_guard *g = &s->guard;
    uint64_t now = plat_monotonic_ns();
    if (!is_on(s)) {
        return;
    }
    g->seen_at = state ? filetime_now() : g->seen_at;
    if (s->owned) {
        learn_enabled(s);
    }
    if (now < g->look_at_ns) {
        return;
    }
    g->look_at_ns = now + s->plan->guard.interval_ns;
    open_actors(s);
    bool time_was_set = s->consume && look_at_clock(s);
    if (s->consume && state) {
        look_at_pace(s, state, time_was_set);
    }
    if (!s->owned) {
        return;
    }
    etw_guard_policy_whole(&g->stop, &g->stop_limits, now);
    if (state) {
        look_at_settings(s, state);
    }
    for (size_t i = 0; i < etw_providers_count(s->providers); i++) {
        look_at_provider(s, i);
    }
}

void etw_session_guard_stopped(struct etw_session *s)
{
    struct etw_session_guard *g = &s->guard;
    if (!is_on(s)) {
        return;
    }
    g->stopped = s->owned;
    if (!s->owned) {
        struct etw_guard_news news = {.kind = "session_stopped"};
        append_printf(news.detail, sizeof(news.detail),
            "it was stopped by its owner. reading continues when it is started again");
        add_news(s, &news);
    }
    etw_session_guard_tell(s);
}

bool etw_session_guard_allows(struct etw_session *s)
{
    struct etw_session_guard *g = &s->guard;
    if (!is_on(s) || !g->stopped) {
        return true;
    }
    struct etw_guard_news news = {.kind = "session_stopped"};
    append_printf(news.detail, sizeof(news.detail), "it was stopped by another program");
    bool allowed = may_repair(s, &g->stop, &g->stop_limits, &news);
    etw_session_guard_tell(s);
    return allowed;
}

void etw_session_guard_failed(struct etw_session *s, const struct error *err)
{
    struct etw_session_guard *g = &s->guard;
    bool is_taken = s->not_ours_now && err->code == ERR_STOPPED;
    if (!is_on(s) || !g->stopped || strcmp(err->text, g->last_failure.text) == 0) {
        return;
    }
    if (is_taken && g->refusals++ < STILL_STOPPING) {
        return;
    }
    struct etw_guard_news news = {.kind = "session_stopped",
        .action = is_taken ? GUARD_GAVE_UP : GUARD_FAILED,
        .repairs = g->stop.repairs};
    append_printf(
        news.detail, sizeof(news.detail), "it was stopped by another program. %.300s", err->text);
    g->last_failure = *err;
    add_news(s, &news);
    etw_session_guard_tell(s);
}

/* ---- creation -------------------------------------------------------------------------------- */

void etw_session_guard_init(struct etw_session *s)
{
    const struct live_guard *options = &s->plan->guard;
    s->guard.limits = etw_guard_policy_limits(
        (uint32_t)options->repairs, options->window_ns, options->interval_ns);
    s->guard.stop_limits = etw_guard_policy_limits(
        (uint32_t)options->repairs, options->window_ns, s->timing.retry_ms * NS_PER_MS);
}

void etw_session_guard_fini(struct etw_session *s)
{
    etw_guard_actors_close(s->guard.actors);
    free(s->guard.providers);
    free(s->guard.news);
}
