#include <stdatomic.h>

#include "cli/selftest/selftest_probes.h"
#include "etw/enable/etw_enable.h"
#include "etw/session/etw_control.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * Is a provider enabled at once though its process does not answer? The callback of a provider in
 * this process returns only after both calls: without a timeout, and with a short one. A suspended
 * process would never answer.
 */
#define PROVIDER_NAME "Etwship.Selftest.Waiting"

enum { HELD_MS = 2000, AT_ONCE_MS = 1000, TIMEOUT_MS = 300 };

/* True if this is the thread that enables the provider: a callback on it would wait for itself. */
static _Thread_local bool is_enabling;

struct held {
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool called; /* under the mutex, as are all below */
    bool called_within;
    bool released;
};

static void on_changed(void *self, bool enabled, uint64_t keywords)
{
    (void)enabled;
    (void)keywords;
    struct held *held = self;
    uint64_t deadline_ns = plat_monotonic_ns() + HELD_MS * NS_PER_MS;
    bool in_time = true;
    plat_mutex_lock(&held->mutex);
    held->called = true;
    held->called_within = held->called_within || is_enabling;
    plat_cond_broadcast(&held->changed);
    while (in_time && !held->released && !is_enabling) {
        in_time = plat_cond_wait_until(&held->changed, &held->mutex, deadline_ns);
    }
    plat_mutex_unlock(&held->mutex);
}

static bool wait_for_call(struct held *held)
{
    uint64_t deadline_ns = plat_monotonic_ns() + HELD_MS * NS_PER_MS;
    bool in_time = true;
    plat_mutex_lock(&held->mutex);
    while (in_time && !held->called) {
        in_time = plat_cond_wait_until(&held->changed, &held->mutex, deadline_ns);
    }
    bool called = held->called;
    plat_mutex_unlock(&held->mutex);
    return called;
}

static void release(struct held *held)
{
    plat_mutex_lock(&held->mutex);
    held->released = true;
    plat_cond_broadcast(&held->changed);
    plat_mutex_unlock(&held->mutex);
}

struct timed {
    bool good;
    struct etw_outcome outcome;
    uint64_t took_ms;
};

static struct timed enable(
    uint64_t session, const struct guid *provider, uint32_t timeout_ms, struct error *err)
{
    struct timed timed = {.good = false};
    const struct etw_request request = {.provider = *provider, .timeout_ms = timeout_ms};
    uint64_t begun_ns = plat_monotonic_ns();
    is_enabling = true;
    timed.good = etw_enable_provider(session, PROVIDER_NAME, &request, &timed.outcome, err);
    is_enabling = false;
    timed.took_ms = (plat_monotonic_ns() - begun_ns) / NS_PER_MS;
    return timed;
}

static void compare(struct held *held, uint64_t session, const struct guid *provider,
    struct selftest_answer *answer)
{
    struct error err = {0};
    struct timed at_once = enable(session, provider, 0, &err);
    if (!at_once.good) {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
        return;
    }
    if (!wait_for_call(held) || held->called_within) {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN,
            held->called_within ? "Windows calls this provider within the call that enables it"
                                : "a provider in this process was not enabled");
        return;
    }
    struct timed waiting = enable(session, provider, TIMEOUT_MS, &err);
    selftest_probes_answer(answer,
        at_once.took_ms < AT_ONCE_MS ? SELFTEST_AS_EXPECTED : SELFTEST_OTHERWISE,
        "a provider that does not answer was enabled in %llu ms; a call that waits %d ms took "
        "%llu ms and %s",
        (unsigned long long)at_once.took_ms, TIMEOUT_MS, (unsigned long long)waiting.took_ms,
        !waiting.good               ? "failed"
        : waiting.outcome.timed_out ? "reported a timeout"
                                    : "reported no timeout");
}

static void ask(struct held *held, const struct guid *provider, struct selftest_answer *answer)
{
    char name[SELFTEST_PROBE_NAME_BYTES];
    struct etw_session_state session;
    if (selftest_probes_start("waiting", name, &session, answer)) {
        compare(held, session.handle, provider, answer);
    }
    release(held);
    etw_control_stop(name, NULL, NULL);
}

void selftest_probe_waiting_run(struct selftest_answer *ret_answer)
{
    struct held held = {.called = false};
    struct selftest_provider provider = {.changed = on_changed, .self = &held};
    struct guid guid = guid_from_name(span_text(PROVIDER_NAME));
    plat_mutex_init(&held.mutex);
    plat_cond_init(&held.changed);
    if (selftest_probes_register(&provider, &guid, ret_answer)) {
        ask(&held, &guid, ret_answer);
        selftest_provider_unregister(&provider);
    }
    plat_cond_fini(&held.changed);
    plat_mutex_fini(&held.mutex);
}
