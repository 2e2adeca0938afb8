#ifndef ETWSHIP_TESTS_UNIT_INPUT_ETW_RIG_H
#define ETWSHIP_TESTS_UNIT_INPUT_ETW_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "input/windows/session/etw_session.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"
#include "support/await.h"
#include "support/etw_sim/etw_sim.h"
#include "support/test.h"

/*
 * A live session on a thread of its own in a simulated Windows, with a sink that counts. Tests wait
 * for what they expect; if it does not come within a minute, the test fails.
 */
enum { RIG_GAPS = 64, RIG_REPORTS = 256, RIG_WAIT_MS = 60000 };

static const struct etw_session_timing rig_timing = {.poll_ms = 5,
    .held_ms = 5,
    .retry_ms = 5,
    .retry_max_ms = 20,
    .look_ms = 10,
    .look_max_ms = 40,
    .enable_ms = 100,
    .stop_ms = 20000};

struct rig_gap {
    char stage[16];
    char reason[32];
    uint64_t count;
    bool exact;
    uint64_t from;
    uint64_t to;
};

struct rig_report {
    char kind[24];
    enum guard_action action;
    char provider[48];
    uint32_t repairs;
    int64_t shift_ms;
    uint32_t by_pid;
    char by_image[64];
    char by_user[64];
    char detail[400];
};

struct rig {
    struct etw_sim *sim;
    struct etw_session_timing timing;
    struct live_realtime settings;
    const char *data_dir;
    uint64_t last_time;
    struct span takeover;
    struct etw_session *session;
    struct plat_thread *thread;
    enum input_end end;
    struct error error;

    struct plat_mutex mutex;
    struct plat_cond changed;
    uint64_t events;
    uint64_t stop_after; /* the sink stops the session then; 0: never */
    bool pause_ends;     /* the sink stops the session when it is told of a pause */
    struct event_record last;
    uint64_t first_value; /* of the u64 that payloads begin with */
    uint64_t last_value;
    uint64_t disorders; /* values below the previous one */
    struct buf notes;   /* a line each: `! ` warning, `- ` information */
    uint64_t entered;   /* handle of the ETW session, with its providers, that was begun last */
    struct rig_gap gaps[RIG_GAPS];
    size_t gap_count;
    struct rig_report reports[RIG_REPORTS]; /* of the guard */
    size_t report_count;
    bool busy; /* a thread is in the sink; a second one at that time is a failure */
    bool clashed;
};

static void rig_enter(struct rig *rig)
{
    plat_mutex_lock(&rig->mutex);
    rig->clashed = rig->clashed || rig->busy;
    rig->busy = true;
    plat_mutex_unlock(&rig->mutex);
}

static void rig_leave(struct rig *rig)
{
    plat_mutex_lock(&rig->mutex);
    rig->busy = false;
    plat_cond_broadcast(&rig->changed);
    plat_mutex_unlock(&rig->mutex);
}

static bool rig_record(void *self, const struct event_record *record)
{
    struct rig *rig = self;
    rig_enter(rig);
    plat_mutex_lock(&rig->mutex);
    rig->last = *record;
    rig->events++;
    if (record->payload.size >= 8) {
        uint64_t value = load_le64(record->payload.data);
        rig->disorders += rig->events > 1 && value < rig->last_value;
        rig->last_value = value;
        rig->first_value = rig->events == 1 ? rig->last_value : rig->first_value;
    }
    bool more = rig->stop_after == 0 || rig->events < rig->stop_after;
    plat_mutex_unlock(&rig->mutex);
    rig_leave(rig);
    return more;
}

static bool rig_pause(void *self)
{
    struct rig *rig = self;
    rig_enter(rig);
    bool more = !rig->pause_ends;
    rig_leave(rig);
    return more;
}

static void rig_on_gap(void *self, const struct gap *gap)
{
    struct rig *rig = self;
    rig_enter(rig);
    plat_mutex_lock(&rig->mutex);
    if (rig->gap_count < RIG_GAPS) {
        struct rig_gap *to = &rig->gaps[rig->gap_count++];
        snprintf(to->stage, sizeof(to->stage), "%s", gap->stage);
        snprintf(to->reason, sizeof(to->reason), "%s", gap->reason);
        to->count = gap->count;
        to->exact = gap->exact;
        to->from = gap->from;
        to->to = gap->to;
    }
    plat_mutex_unlock(&rig->mutex);
    rig_leave(rig);
}

static void rig_copy(char *to, size_t size, struct span text)
{
    snprintf(to, size, "%.*s", SPAN_ARG(text));
}

static void rig_on_guard(void *self, const struct guard_report *report)
{
    struct rig *rig = self;
    rig_enter(rig);
    plat_mutex_lock(&rig->mutex);
    if (rig->report_count < RIG_REPORTS) {
        struct rig_report *to = &rig->reports[rig->report_count++];
        to->action = report->action;
        to->repairs = report->repairs;
        to->shift_ms = report->shift_ms;
        to->by_pid = report->by_pid;
        rig_copy(to->kind, sizeof(to->kind), span_text(report->kind));
        rig_copy(to->provider, sizeof(to->provider), report->provider);
        rig_copy(to->by_image, sizeof(to->by_image), report->by_image);
        rig_copy(to->by_user, sizeof(to->by_user), report->by_user);
        rig_copy(to->detail, sizeof(to->detail), report->detail);
    }
    plat_mutex_unlock(&rig->mutex);
    rig_leave(rig);
}

static void rig_note(void *self, enum input_note level, const char *text)
{
    struct rig *rig = self;
    const char *settings = strstr(text, ": ");
    struct etw_sim_session_info info = {.handle = 0};
    if (settings && strstr(settings, " flushed every ")) {
        char name[256];
        snprintf(name, sizeof(name), "%.*s", (int)(settings - text), text);
        etw_sim_session_get(rig->sim, name, &info);
    }
    plat_mutex_lock(&rig->mutex);
    rig->entered = info.handle ? info.handle : rig->entered;
    buf_printf(&rig->notes, "%s %s\n", level == INPUT_NOTE_WARNING ? "!" : "-", text);
    plat_cond_broadcast(&rig->changed);
    plat_mutex_unlock(&rig->mutex);
}

static void rig_init(struct rig *rig, const struct etw_sim_options *options)
{
    static const struct etw_sim_options nothing = {.processors = 0};
    struct error err = {0};
    memset(rig, 0, sizeof(*rig));
    rig->sim = etw_sim_create(options ? options : &nothing, &err);
    if (!rig->sim) {
        print_error("%s\n", err.text);
    }
    assert_non_null(rig->sim);
    etw_api_use(etw_sim_api(rig->sim));
    rig->timing = rig_timing;
    rig->settings.session = (struct live_session){
        .buffers = {.size_bytes = 65536, .min = 8}, .flush_ns = 1000000, .independent = true};
    buf_init(&rig->notes, 1 << 20);
    plat_mutex_init(&rig->mutex);
    plat_cond_init(&rig->changed);
}

static inline void rig_run(void *self)
{
    struct rig *rig = self;
    struct input_sink sink = {.self = rig,
        .record = rig_record,
        .pause = rig_pause,
        .gap = rig_on_gap,
        .guard = rig_on_guard};
    rig->end = etw_session_run(rig->session, &sink, &rig->error);
}

/* A session `test` of ${kind} with providers in the compact form; settings NULL: the rig's. */
static inline void rig_start_as(struct rig *rig, enum etw_plan_kind kind, const void *settings,
    const struct provider_spec *providers, size_t count)
{
    struct error err = {0};
    struct input_env env = {.name = "test",
        .providers = providers,
        .provider_count = count,
        .data_dir = rig->data_dir,
        .last_time = rig->last_time,
        .takeover = rig->takeover,
        .note = rig_note,
        .self = rig};
    struct etw_plan *plan = etw_plan_create(kind, settings ? settings : &rig->settings, &env, &err);
    assert_non_null(plan);
    rig->session = etw_session_create(plan, &env, &rig->timing, &err);
    assert_non_null(rig->session);
    rig->thread = plat_thread_start("session", rig_run, rig, &err);
    assert_non_null(rig->thread);
}

static inline struct provider_spec rig_spec(const char *text)
{
    struct provider_spec spec;
    struct error err;
    assert_true(provider_spec_parse(&spec, span_text(text), &err));
    return spec;
}

static inline void rig_join(struct rig *rig)
{
    plat_thread_join(rig->thread);
    rig->thread = NULL;
    assert_false(rig->clashed);
}

static inline void rig_stop(struct rig *rig)
{
    etw_session_stop(rig->session);
    rig_join(rig);
    etw_session_destroy(rig->session);
    rig->session = NULL;
}

static void rig_fini(struct rig *rig)
{
    etw_api_use(NULL);
    etw_sim_destroy(rig->sim);
    buf_fini(&rig->notes);
    plat_cond_fini(&rig->changed);
    plat_mutex_fini(&rig->mutex);
}

typedef bool rig_sees_fn(struct rig *rig, const void *what);

/* Wait until ${sees}, or fail. */
#define rig_await(rig, sees, what) rig_await_at((rig), (sees), (what), #sees, __FILE__, __LINE__)

static inline void rig_await_at(struct rig *rig, rig_sees_fn *sees, const void *what,
    const char *text, const char *file, int line)
{
    uint64_t begun_ns = plat_monotonic_ns();
    while (!sees(rig, what)) {
        if (!await_pause(begun_ns)) {
            print_error("in vain: %s(%s); notes:\n%.*s", text, what ? (const char *)what : "",
                SPAN_ARG(buf_span(&rig->notes)));
            _fail(file, line);
        }
    }
}

static inline bool rig_has_note(struct rig *rig, const void *what)
{
    plat_mutex_lock(&rig->mutex);
    buf_add_byte(&rig->notes, 0);
    bool has = strstr((const char *)rig->notes.data, what) != NULL;
    rig->notes.size--;
    plat_mutex_unlock(&rig->mutex);
    return has;
}

static inline uint64_t rig_events(struct rig *rig)
{
    plat_mutex_lock(&rig->mutex);
    uint64_t events = rig->events;
    plat_mutex_unlock(&rig->mutex);
    return events;
}

/* The lost events of all gaps of ${reason}, and the number of these gaps. */
static inline uint64_t rig_lost(struct rig *rig, const char *reason, size_t *ret_gaps)
{
    uint64_t lost = 0;
    size_t gaps = 0;
    plat_mutex_lock(&rig->mutex);
    for (size_t i = 0; i < rig->gap_count; i++) {
        if (strcmp(rig->gaps[i].reason, reason) == 0) {
            lost += rig->gaps[i].count;
            gaps++;
        }
    }
    plat_mutex_unlock(&rig->mutex);
    if (ret_gaps) {
        *ret_gaps = gaps;
    }
    return lost;
}

static inline bool rig_has_gap(struct rig *rig, const void *reason)
{
    size_t gaps;
    rig_lost(rig, reason, &gaps);
    return gaps > 0;
}

/* Is the session read, and are its providers on? */
static inline bool rig_reads(struct rig *rig, const void *name)
{
    struct etw_sim_session_info info;
    if (!etw_sim_session_get(rig->sim, name, &info) || info.consumers == 0) {
        return false;
    }
    plat_mutex_lock(&rig->mutex);
    bool has_begun = rig->entered == info.handle;
    plat_mutex_unlock(&rig->mutex);
    return has_begun;
}

#endif
