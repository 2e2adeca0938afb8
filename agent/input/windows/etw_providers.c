#include "input/windows/etw_providers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "etw/enable/etw_known.h"
#include "etw/enable/etw_registrations.h"
#include "etw/etw_api.h"
#include "input/windows/etw_provider_names.h"
#include "input/windows/etw_tell.h"
#include "platform/plat_clock.h"

/* The list of this machine's providers may be as old as this fraction of the look-up interval:
 * sessions that start or look up at about the same time share a list. */
enum { LOOKS_SHARED = 6 };

/*
 * An entry is one item of the configuration's list of providers. A target is one provider in ETW,
 * with one request that combines all its entries. The assignment changes only when a name resolves
 * to another GUID: then the targets are rebuilt, and enabled providers are enabled again.
 */
struct target {
    struct guid guid;
    const char *label;
    struct etw_request request;
    bool optional;
    bool take_over;
    bool enabled;
    bool again;      /* enabled with an earlier request, so it must be enabled again */
    bool taken_over; /* enabled by the previous owner of the session */
    uint64_t serial; /* number of the enabling */
    bool capture_at_start;
    bool told_state;           /* was asked for its state at the start */
    uint64_t capture_every_ns; /* 0: never */
    uint64_t capture_at_ns;
    uint64_t retry_at_ns;
    uint64_t pause_ns;
    uint32_t code; /* last error; reported once */
};

struct etw_providers {
    struct etw_providers_settings settings;
    struct etw_provider_names names;
    struct target *targets;
    size_t target_count;
    struct target *spare; /* of equal size, for rebuilding */
    uint64_t look_at_ns;
    uint64_t look_pause_ns;
    uint64_t wait_until_ns;  /* until when to wait for providers now */
    uint64_t wait_again_ns;  /* from when waiting is allowed again */
    uint64_t serial;         /* number of enablings so far */
    struct guid *taken_over; /* enabled by the previous owner, until etw_providers_begin */
    size_t taken_over_count;
};

#define NOTE(of, ...) etw_tell((of)->settings.note, (of)->settings.self, __VA_ARGS__)

/* The session ends, so pending work can be skipped. */
static bool is_stopping(const struct etw_providers *p)
{
    return p->settings.stops && p->settings.stops(p->settings.self);
}

/* ---- targets --------------------------------------------------------------------------------- */

static struct target *find_target(struct target *targets, size_t count, const struct guid *guid)
{
    for (size_t i = 0; i < count; i++) {
        if (guid_equal(&targets[i].guid, guid)) {
            return &targets[i];
        }
    }
    return NULL;
}

/* The shorter of two intervals, where 0 means never. */
static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a == 0 || (b && b < a) ? b : a;
}

static uint64_t longer_pause(uint64_t pause_ns, uint64_t max_ns)
{
    return pause_ns * 2 < max_ns ? pause_ns * 2 : max_ns;
}

static void add_entry(struct etw_providers *p, struct etw_provider_entry *entry)
{
    const struct provider_spec *spec = entry->plan->spec;
    struct etw_request request = entry->plan->request;
    request.provider = entry->guid;
    if (spec->payload.count) {
        request.payload = entry->payload.count ? entry->payload.filters : NULL;
        request.payload_count = entry->payload.count;
    }
    struct target *target = find_target(p->targets, p->target_count, &entry->guid);
    if (target) {
        etw_enable_merge(&target->request, &request);
        target->optional = target->optional && spec->optional;
        target->take_over = target->take_over || spec->take_over;
        target->capture_at_start = target->capture_at_start || spec->capture_at_start;
        target->capture_every_ns = sooner(target->capture_every_ns, spec->capture_every_ns);
        return;
    }
    p->targets[p->target_count++] = (struct target){.guid = entry->guid,
        .label = entry->plan->label,
        .request = request,
        .optional = spec->optional,
        .take_over = spec->take_over,
        .capture_at_start = spec->capture_at_start,
        .capture_every_ns = spec->capture_every_ns,
        .pause_ns = p->settings.retry_ns};
}

/* Keep the state of an enabled provider, and enable it again because its request may have
 * changed. */
static void keep_state(struct target *target, const struct target *was)
{
    target->enabled = was->enabled;
    target->again = was->enabled;
    target->taken_over = was->taken_over;
    target->serial = was->serial;
    target->told_state = was->told_state;
    target->capture_at_ns = was->capture_at_ns;
    target->retry_at_ns = was->retry_at_ns;
    target->pause_ns = was->pause_ns;
    target->code = was->code;
}

/* Rebuild the targets. ${old}: the previous ones; none at the start. */
static void make_targets(struct etw_providers *p, struct target *old, size_t old_count)
{
    p->target_count = 0;
    for (size_t i = 0; i < p->names.count; i++) {
        struct etw_provider_entry *entry = &p->names.entries[i];
        if (!guid_is_zero(&entry->guid) && !entry->plan->nothing) {
            add_entry(p, entry);
        }
    }
    for (size_t i = 0; i < p->target_count; i++) {
        const struct target *was = find_target(old, old_count, &p->targets[i].guid);
        if (was) {
            keep_state(&p->targets[i], was);
        }
    }
}

/* ---- enabling -------------------------------------------------------------------------------- */

/* True if a classic provider is free; otherwise ${err} names the session that uses it. */
static bool is_free(
    struct etw_providers *p, const struct target *target, uint64_t session, struct error *err)
{
    struct etw_session_list list = {0};
    struct etw_registrations *found = malloc(sizeof(*found));
    bool is_free = true;
    if (found && etw_registrations_query(&target->guid, found, NULL) && found->known &&
        found->is_classic && etw_control_list(&list, NULL)) {
        const struct etw_session_state *owner = etw_registrations_owner(found, &list, session);
        if (owner && target->take_over) {
            NOTE(p, INPUT_NOTE_WARNING, "provider %s is taken over from the session %.200s",
                target->label, owner->name);
        } else if (owner) {
            is_free = error_set(err, ERR_STOPPED,
                "provider %s serves one session at a time, now %.200s. stop that one, or write "
                "take_over: true",
                target->label, owner->name);
        }
        etw_control_list_fini(&list);
    }
    free(found);
    return is_free;
}

static void tell_outcome(
    const struct etw_providers *p, const struct target *target, const struct etw_outcome *outcome)
{
    for (uint32_t kinds = outcome->refused; kinds; kinds &= kinds - 1) {
        NOTE(p, INPUT_NOTE_WARNING,
            "provider %s: this Windows does not filter by %s, so more events arrive", target->label,
            etw_enable_kind_name(kinds & (~kinds + 1)));
    }
    if (outcome->refused_properties) {
        NOTE(p, INPUT_NOTE_WARNING,
            "provider %s: this Windows does not support all of `extended` (0x%x)", target->label,
            outcome->refused_properties);
    }
    bool names_pids = target->request.pid_count && !target->request.pids_are_spare;
    if (names_pids && etw_registrations_have_driver(&target->guid)) {
        NOTE(p, INPUT_NOTE_WARNING,
            "provider %s: Windows leaves out the events that its driver writes, because of `pids`. "
            "use a rule instead",
            target->label);
    }
    if (outcome->timed_out) {
        NOTE(p, INPUT_NOTE_INFO, "provider %s answers slowly; it is enabled", target->label);
    }
}

/*
 * Windows enables a provider at once, but notifying every process that registered it may take time,
 * and suspended processes never answer. So the agent waits only for providers that it will ask for
 * their state: a provider that does not know yet that it is enabled does not report it. All waits
 * together take as long as one may take, and at most a tenth of the time.
 */
static uint32_t wait_ms(struct etw_providers *p, const struct target *target)
{
    uint64_t now_ns = plat_monotonic_ns();
    if (!target->capture_at_start || target->told_state) {
        return 0;
    }
    if (now_ns >= p->wait_again_ns) {
        p->wait_until_ns = now_ns + p->settings.enable_ms * NS_PER_MS;
        p->wait_again_ns = now_ns + p->settings.enable_ms * NS_PER_MS * 10;
    }
    return now_ns < p->wait_until_ns ? (uint32_t)((p->wait_until_ns - now_ns) / NS_PER_MS) : 0;
}

/* Rules name processes, but a driver's events would not come then. Rather all come: the agent
 * applies the rules anyway. */
static void widen_pids(struct target *target)
{
    struct etw_request *request = &target->request;
    if (request->pid_count && request->pids_are_spare &&
        !etw_registrations_are_of_processes(&target->guid)) {
        request->pid_count = 0;
    }
}

static bool try_enable(
    struct etw_providers *p, struct target *target, uint64_t session, struct error *err)
{
    struct etw_outcome outcome = {0};
    target->request.timeout_ms = wait_ms(p, target);
    widen_pids(target);
    if (!is_free(p, target, session, err) ||
        !etw_enable_provider(session, target->label, &target->request, &outcome, err)) {
        return false;
    }
    if (!target->enabled || target->again) {
        tell_outcome(p, target, &outcome);
    }
    if (outcome.timed_out) {
        p->wait_until_ns = 0; /* the budget is used up */
    }
    target->enabled = true;
    target->again = false;
    target->serial = ++p->serial;
    return true;
}

static void enable_one(
    struct etw_providers *p, struct target *target, uint64_t session, uint64_t now_ns)
{
    struct error err = {0};
    if (try_enable(p, target, session, &err)) {
        target->pause_ns = p->settings.retry_ns;
        target->capture_at_ns = now_ns + target->capture_every_ns;
        target->code = 0;
        return;
    }
    uint32_t code = err.os_code ? (uint32_t)err.os_code : UINT32_MAX;
    if (target->code != code) {
        NOTE(p, target->optional ? INPUT_NOTE_INFO : INPUT_NOTE_WARNING, "%s. trying again",
            err.text);
    }
    target->code = code;
    target->retry_at_ns = now_ns + target->pause_ns;
    target->pause_ns = longer_pause(target->pause_ns, p->settings.retry_max_ns);
}

/* Providers that must be waited for are enabled last. */
static void enable_all(struct etw_providers *p, uint64_t session, uint64_t now_ns)
{
    for (int waits = 0; waits <= 1; waits++) {
        for (size_t i = 0; i < p->target_count && !is_stopping(p); i++) {
            if (p->targets[i].capture_at_start == (waits != 0)) {
                enable_one(p, &p->targets[i], session, now_ns);
            }
        }
    }
}

/* ${was_running}: a list of the previous owner may exist, which is cleared even if ours is
 * empty. */
static void disallow(struct etw_providers *p, uint64_t session, bool was_running)
{
    static const size_t most = ETW_MAX_DISALLOWED;
    struct guid guids[ETW_MAX_DISALLOWED];
    size_t count = 0;
    for (size_t i = 0; i < p->names.count; i++) {
        const struct config_strings *list = &p->names.entries[i].plan->spec->disallow;
        for (size_t k = 0; k < list->count && count < most; k++) {
            count += guid_parse(span_text(list->items[k]), &guids[count]);
        }
    }
    struct error err;
    bool has_list = was_running && etw_api_get()->TraceSetInformation;
    if ((count || has_list) && !etw_enable_disallow(session, guids, count, &err)) {
        NOTE(p, count ? INPUT_NOTE_WARNING : INPUT_NOTE_INFO, "%s", err.text);
    }
}

bool etw_providers_take_over(
    struct etw_providers *p, const struct guid *guids, size_t count, struct error *err)
{
    struct guid *copy = malloc((count + 1) * sizeof(*copy));
    if (!copy) {
        return error_set(err, ERR_MEMORY, "out of memory for providers");
    }
    free(p->taken_over);
    p->taken_over = memcpy(copy, guids, count * sizeof(*copy));
    p->taken_over_count = count;
    return true;
}

static bool is_group(const struct target *target)
{
    return target->request.properties & ETW_ENABLE_PROVIDER_GROUP;
}

static void stop_target(uint64_t session, const struct target *target)
{
    etw_enable_stop(session, target->label, &target->guid, is_group(target), NULL);
}

/* Its owner passed on the GUID alone, which may be that of a group. */
static void stop_taken_over(uint64_t session, const struct guid *guid)
{
    etw_enable_stop(session, "of the previous owner", guid, false, NULL);
    etw_enable_stop(session, "of the previous owner", guid, true, NULL);
}

/* Disable providers of the previous owner that are not wanted any more. The others have reported
 * their state already. */
static void settle_taken_over(struct etw_providers *p, uint64_t session)
{
    for (size_t i = 0; i < p->taken_over_count; i++) {
        struct target *target = find_target(p->targets, p->target_count, &p->taken_over[i]);
        if (target) {
            target->taken_over = true;
            target->told_state = true;
        } else {
            stop_taken_over(session, &p->taken_over[i]);
        }
    }
    p->taken_over_count = 0;
}

static void tell_unwanted(const struct etw_providers *p)
{
    for (size_t i = 0; i < p->names.count; i++) {
        if (p->names.entries[i].plan->nothing) {
            NOTE(p, INPUT_NOTE_INFO, "provider %s is not enabled: no rule keeps its events",
                p->names.entries[i].plan->label);
        }
    }
}

void etw_providers_begin(
    struct etw_providers *p, uint64_t session, bool was_running, uint64_t now_ns)
{
    p->look_pause_ns = p->settings.look_ns;
    etw_provider_names_look(&p->names, now_ns, p->look_pause_ns / LOOKS_SHARED);
    make_targets(p, NULL, 0);
    tell_unwanted(p);
    p->look_at_ns = now_ns + p->look_pause_ns;
    disallow(p, session, was_running);
    settle_taken_over(p, session);
    enable_all(p, session, now_ns);
}

/* True if enabled in ETW by this agent or by the previous owner of the session. */
static bool is_on(const struct target *target)
{
    return target->enabled || target->taken_over;
}

void etw_providers_list(const struct etw_providers *p, struct buf *out)
{
    buf_add(out, p->taken_over, p->taken_over_count * sizeof(*p->taken_over));
    for (size_t i = 0; i < p->target_count; i++) {
        if (is_on(&p->targets[i])) {
            buf_add(out, &p->targets[i].guid, sizeof(p->targets[i].guid));
        }
    }
}

/* Ask providers selected by ${is_wanted} for their state. All kernel providers share one state,
 * that of the session: processes, threads and images. */
static void capture(struct etw_providers *p, uint64_t session, uint64_t now_ns,
    bool (*is_wanted)(struct target *target, uint64_t now_ns))
{
    bool asked_kernel = false;
    for (size_t i = 0; i < p->target_count && !is_stopping(p); i++) {
        struct target *target = &p->targets[i];
        struct error err;
        bool is_kernel = etw_kernel_provider_of(&target->guid) != NULL;
        if (!target->enabled || !is_wanted(target, now_ns) || (is_kernel && asked_kernel)) {
            continue;
        }
        asked_kernel = asked_kernel || is_kernel;
        if (!(is_kernel ? etw_kernel_rundown(session, target->label, &err)
                        : etw_enable_capture_state(
                              session, target->label, &target->guid, is_group(target), 0, &err))) {
            NOTE(p, INPUT_NOTE_INFO, "%s", err.text);
        }
    }
}

/* True once if the state is requested at the start. */
static bool is_at_start(struct target *target, uint64_t now_ns)
{
    (void)now_ns;
    bool asks = target->capture_at_start && !target->told_state;
    target->told_state = true;
    return asks;
}

/* True if a repeated request is due, and sets the next time. A provider that could not be enabled
 * with the others is asked once, too. */
static bool is_due(struct target *target, uint64_t now_ns)
{
    bool due = target->capture_every_ns && now_ns >= target->capture_at_ns;
    if (due) {
        target->capture_at_ns = now_ns + target->capture_every_ns;
    }
    return is_at_start(target, now_ns) || due;
}

void etw_providers_capture(struct etw_providers *p, uint64_t session)
{
    capture(p, session, 0, is_at_start);
}

/* A name resolved to another provider. Disable unwanted providers first, because stopping one
 * interrupts the others. */
static void make_targets_anew(struct etw_providers *p, uint64_t session, uint64_t now_ns)
{
    struct target *old = p->targets;
    const size_t count = p->target_count;
    p->targets = p->spare;
    p->spare = old;
    make_targets(p, old, count);
    for (size_t i = 0; i < count; i++) {
        if (is_on(&old[i]) && !find_target(p->targets, p->target_count, &old[i].guid)) {
            stop_target(session, &old[i]);
        }
    }
    enable_all(p, session, now_ns);
}

/* Look up names again that Windows did not know or did not answer for. */
static void look_again(struct etw_providers *p, uint64_t session, uint64_t now_ns)
{
    p->look_pause_ns = longer_pause(p->look_pause_ns, p->settings.look_max_ns);
    if (etw_provider_names_are_missing(&p->names)) {
        const struct etw_provider_names_news news = etw_provider_names_look(
            &p->names, now_ns, p->look_pause_ns / LOOKS_SHARED);
        if (news.soon) {
            p->look_pause_ns = p->settings.look_ns;
        }
        if (news.changed) {
            make_targets_anew(p, session, now_ns);
        }
    }
    p->look_at_ns = now_ns + p->look_pause_ns;
}

void etw_providers_tick(struct etw_providers *p, uint64_t session, uint64_t now_ns)
{
    if (now_ns >= p->look_at_ns) {
        look_again(p, session, now_ns);
    }
    for (size_t i = 0; i < p->target_count && !is_stopping(p); i++) {
        struct target *target = &p->targets[i];
        if ((!target->enabled || target->again) && now_ns >= target->retry_at_ns) {
            enable_one(p, target, session, now_ns);
        }
    }
    capture(p, session, now_ns, is_due);
}

void etw_providers_end(struct etw_providers *p, uint64_t session)
{
    for (size_t i = 0; i < p->taken_over_count; i++) { /* etw_providers_begin was not called */
        stop_taken_over(session, &p->taken_over[i]);
    }
    p->taken_over_count = 0;
    for (size_t i = 0; i < p->target_count; i++) {
        struct target *target = &p->targets[i];
        if (is_on(target)) {
            stop_target(session, target);
        }
        target->enabled = false;
        target->again = false;
        target->taken_over = false;
    }
}

/* ---- for the guard --------------------------------------------------------------------------- */

size_t etw_providers_count(const struct etw_providers *p)
{
    return p->target_count;
}

void etw_providers_view(
    const struct etw_providers *p, size_t index, struct etw_provider_view *ret_view)
{
    const struct target *target = &p->targets[index];
    *ret_view = (struct etw_provider_view){.guid = target->guid,
        .label = target->label,
        .request = &target->request,
        .enabled = target->enabled && !target->again,
        .serial = target->serial};
}

bool etw_providers_again(
    struct etw_providers *p, size_t index, uint64_t session, uint64_t now_ns, struct error *err)
{
    struct target *target = &p->targets[index];
    target->told_state = false;
    if (!try_enable(p, target, session, err)) {
        return false;
    }
    if (target->capture_at_start) { /* report what changed meanwhile */
        target->told_state = true;
        target->capture_at_ns = now_ns + target->capture_every_ns;
        etw_enable_capture_state(session, target->label, &target->guid, is_group(target), 0, NULL);
    }
    return true;
}

/* ---- creation -------------------------------------------------------------------------------- */

struct etw_providers *etw_providers_create(
    const struct etw_providers_settings *settings, struct error *err)
{
    size_t count = settings->plan->entry_count;
    struct etw_providers *p = calloc(1, sizeof(*p));
    if (p) {
        etw_known_open();
        p->settings = *settings;
        p->targets = calloc(count + 1, sizeof(*p->targets));
        p->spare = calloc(count + 1, sizeof(*p->spare));
    }
    if (!p || !p->targets || !p->spare ||
        !etw_provider_names_init(&p->names, settings->plan, settings->note, settings->self)) {
        etw_providers_destroy(p);
        error_set(err, ERR_MEMORY, "out of memory for providers");
        return NULL;
    }
    return p;
}

void etw_providers_destroy(struct etw_providers *p)
{
    if (p) {
        etw_provider_names_fini(&p->names);
        free(p->taken_over);
        free(p->targets);
        free(p->spare);
        free(p);
        etw_known_close();
    }
}
