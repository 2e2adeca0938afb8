#include "input/windows/session/etw_guard_actors.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/put.h"
#include "base/reader.h"
#include "base/utf.h"
#include "etw/enable/etw_enable.h"
#include "etw/etw_api.h"
#include "etw/etw_hold.h"
#include "etw/session/etw_control.h"
#include "input/windows/etw_consume.h"
#include "platform/plat_clock.h"
#include "platform/plat_processes.h"
#include "platform/plat_self.h"
#include "platform/plat_thread.h"

/*
 * The session's consumer stores changes by other processes in a ring, which guards search. `mutex`
 * guards the ring. `opening` is held, rarely, while the session that all guards share is opened,
 * closed or restarted; a thread that has `mutex` must not wait for it.
 */
enum { MAX_CHANGES = 256, ID_STOP = 11, ID_CONFIGURE = 12, ID_ENABLE = 14, ID_DISABLE = 15 };
enum { BUFFER_KB = 64, MIN_BUFFERS = 2, MAX_BUFFERS = 32, FLUSH_MS = 1000, END_MS = 5000 };

/* Microsoft-Windows-Kernel-EventTracing {b675ec37-bdb6-4648-bc92-f3fdc74d3ca2} */
static const struct guid kernel_event_tracing = {{0x37, 0xec, 0x75, 0xb6, 0xb6, 0xbd, 0x48, 0x46,
    0xbc, 0x92, 0xf3, 0xfd, 0xc7, 0x4d, 0x3c, 0xa2}};

struct recorded {
    bool is_new;
    enum etw_guard_change_kind kind;
    uint64_t time;       /* FILETIME */
    struct guid session; /* derived from its name, ignoring case */
    struct guid provider;
    struct etw_guard_actor by;
};

struct etw_guard_actors {
    size_t shares;
    char name[64];
    struct etw_hold *hold;
    struct etw_consume *consume;
    bool runs;
    struct etw_guard_bound bound; /* limits restarts; guarded by `opening` */
    atomic_bool ended;

    struct plat_mutex mutex;
    struct recorded changes[MAX_CHANGES];
    size_t next;
};

static atomic_flag opening = ATOMIC_FLAG_INIT;
static struct etw_guard_actors *shared;

static void enter(void)
{
    while (atomic_flag_test_and_set(&opening)) {
        plat_sleep_ms(1);
    }
}

static void leave(void)
{
    atomic_flag_clear(&opening);
}

/* ---- events ---------------------------------------------------------------------------------- */

bool etw_guard_actors_read(uint16_t id, struct span payload, struct etw_guard_change *ret_change)
{
    struct reader reader = reader_make(payload);
    struct guid guid = reader_guid(&reader);
    bool is_session = id == ID_STOP || id == ID_CONFIGURE;
    if (!is_session && id != ID_ENABLE && id != ID_DISABLE) {
        return false;
    }
    if (is_session) {
        reader_skip(&reader, 4); /* LoggerMode */
    }
    *ret_change = (struct etw_guard_change){.kind = id == ID_STOP ? ETW_GUARD_CHANGE_STOP
                                                    : id == ID_CONFIGURE
                                                        ? ETW_GUARD_CHANGE_CONFIGURE
                                                    : id == ID_ENABLE ? ETW_GUARD_CHANGE_ENABLE
                                                                      : ETW_GUARD_CHANGE_DISABLE,
        .provider = is_session ? (struct guid){{0}} : guid,
        .session = reader_text16(&reader)};
    return !reader.failed && ret_change->session.size > 0;
}

static struct guid key_of(struct span name)
{
    return guid_from_name(name);
}

static void fill_actor(const struct event_record *record, struct etw_guard_actor *ret_by)
{
    const struct extended_item *sid = record_extended(record, EXTENDED_SID);
    uint8_t text[192];
    uint8_t *end = text;
    ret_by->pid = record->process_id;
    if (!plat_process_image(
            record->process_id, record->time, ret_by->image, sizeof(ret_by->image))) {
        ret_by->image[0] = 0;
    }
    if (sid && put_sid(&end, sid->data)) {
        snprintf(ret_by->user, sizeof(ret_by->user), "%.*s", (int)(end - text), (char *)text);
    }
}

/* Time of the event by the present system time, which may have been set since. */
static uint64_t time_of(const struct event_record *record)
{
    int64_t counter;
    uint64_t now;
    const struct trace_clock *clock = &record->trace->clock;
    if (!etw_api_get()->now || clock->type != TRACE_CLOCK_QPC) {
        return record->time;
    }
    etw_api_get()->now(&counter, &now);
    uint64_t told = trace_clock_filetime(clock, counter);
    uint64_t age = told > record->time ? told - record->time : 0;
    return now > age ? now - age : 0;
}

static bool on_record(void *self, const struct event_record *record)
{
    struct etw_guard_actors *actors = self;
    struct etw_guard_change change;
    uint8_t name[ETW_NAME_BYTES + 16];
    if (!guid_equal(&record->provider, &kernel_event_tracing) ||
        record->process_id == plat_process_id() ||
        !etw_guard_actors_read(record->descriptor.id, record->payload, &change) ||
        utf16_json_bound(change.session.size) > sizeof(name)) {
        return true;
    }
    struct recorded recorded = {
        .is_new = true, .kind = change.kind, .provider = change.provider, .time = time_of(record)};
    recorded.session = key_of(span_make(name, utf16_to_utf8(change.session, name)));
    fill_actor(record, &recorded.by);
    plat_mutex_lock(&actors->mutex);
    actors->changes[actors->next++ % MAX_CHANGES] = recorded;
    plat_mutex_unlock(&actors->mutex);
    return true;
}

static void on_lost(void *self, enum etw_loss_mark mark, uint64_t time)
{
    (void)self; /* the actor then stays unknown */
    (void)mark;
    (void)time;
}

static void on_problem(void *self, const char *what)
{
    (void)self;
    (void)what;
}

static void on_ended(void *self)
{
    struct etw_guard_actors *actors = self;
    atomic_store(&actors->ended, true);
}

bool etw_guard_actors_find(struct etw_guard_actors *actors, enum etw_guard_change_kind kind,
    const char *session, const struct guid *provider, uint64_t since,
    struct etw_guard_actor *ret_actor)
{
    struct guid key = key_of(span_text(session));
    bool found = false;
    plat_mutex_lock(&actors->mutex);
    for (size_t i = 0; i < MAX_CHANGES; i++) { /* oldest first, so that the latest match wins */
        struct recorded *one = &actors->changes[(actors->next + i) % MAX_CHANGES];
        if (one->is_new && one->kind == kind && guid_equal(&one->session, &key) &&
            guid_equal(&one->provider, provider)) {
            one->is_new = false;
            if (one->time >= since) {
                *ret_actor = one->by;
                found = true;
            }
        }
    }
    plat_mutex_unlock(&actors->mutex);
    return found;
}

/* ---- session --------------------------------------------------------------------------------- */

static void stop(struct etw_guard_actors *actors)
{
    if (actors->runs) { /* even if it is not read any more */
        etw_control_stop(actors->name, NULL, NULL);
    }
    actors->runs = false;
    if (actors->consume) {
        uint64_t step = END_MS * UINT64_C(1000000);
        if (!etw_consume_wait(actors->consume, plat_monotonic_ns() + step, NULL)) {
            etw_consume_close(actors->consume);
            etw_consume_abandon(actors->consume);
        }
        etw_consume_close(actors->consume);
        etw_consume_destroy(actors->consume);
        actors->consume = NULL;
    }
}

static bool enable(uint64_t session, struct error *err)
{
    static const uint16_t ids[] = {ID_STOP, ID_CONFIGURE, ID_ENABLE, ID_DISABLE};
    struct etw_outcome outcome;
    struct etw_request *request = calloc(1, sizeof(*request));
    if (!request) {
        return error_set(err, ERR_MEMORY, "out of memory for a provider");
    }
    request->provider = kernel_event_tracing;
    request->properties = ETW_ENABLE_SID;
    request->events.count = sizeof(ids) / sizeof(ids[0]);
    memcpy(request->events.ids, ids, sizeof(ids));
    bool good = etw_enable_provider(
        session, "Microsoft-Windows-Kernel-EventTracing", request, &outcome, err);
    free(request);
    return good;
}

static bool start(struct etw_guard_actors *actors, struct error *err)
{
    const struct input_sink sink = {.self = actors, .record = on_record};
    const struct etw_consume_settings settings = {.session = actors->name,
        .sink = &sink,
        .lost = on_lost,
        .problem = on_problem,
        .ended = on_ended,
        .self = actors};
    const struct etw_session_spec spec = {.name = actors->name,
        .guid = guid_from_name(span_text(actors->name)),
        .buffer_kb = BUFFER_KB,
        .min_buffers = MIN_BUFFERS,
        .max_buffers = MAX_BUFFERS,
        .flush_ms = FLUSH_MS,
        .mode = ETW_MODE_REAL_TIME | ETW_MODE_INDEPENDENT_SESSION};
    struct etw_session_state state;
    atomic_store(&actors->ended, false);
    if (!etw_control_start(&spec, &state, err)) {
        return false;
    }
    actors->runs = true;
    actors->consume = etw_consume_open(&settings, err);
    if (!actors->consume || !etw_consume_start(actors->consume, err) ||
        !enable(state.handle, err)) {
        stop(actors);
        return false;
    }
    return true;
}

static const char *start_again(
    struct etw_guard_actors *actors, const struct etw_guard_limits *limits)
{
    uint64_t now = plat_monotonic_ns();
    enum etw_guard_verdict verdict = etw_guard_policy_broken(&actors->bound, limits, now);
    if (verdict == ETW_GUARD_GIVE_UP) {
        return "was stopped by another program. until the end of guard.window the agent does not "
               "report which process changes sessions";
    }
    if (verdict != ETW_GUARD_REPAIR) {
        return NULL;
    }
    stop(actors);
    bool done = start(actors, NULL);
    if (!done) {
        atomic_store(&actors->ended, true); /* repeat at a later call */
    }
    etw_guard_policy_repaired(&actors->bound, limits, done, now);
    return done ? "was stopped by another program and has been restarted"
                : "was stopped by another program and cannot be restarted now";
}

const char *etw_guard_actors_keep(
    struct etw_guard_actors *actors, const struct etw_guard_limits *limits)
{
    const char *news = NULL;
    if (atomic_load(&actors->ended)) {
        enter();
        news = atomic_load(&actors->ended) ? start_again(actors, limits) : NULL;
        leave();
    }
    return news;
}

static struct etw_guard_actors *create(struct error *err)
{
    struct etw_guard_actors *actors = calloc(1, sizeof(*actors));
    if (!actors) {
        error_set(err, ERR_MEMORY, "out of memory for a session");
        return NULL;
    }
    plat_mutex_init(&actors->mutex);
    snprintf(actors->name, sizeof(actors->name), "%swho-%u", ETW_OUR_PREFIX,
        (unsigned)plat_process_id());
    actors->hold = etw_hold_take(actors->name, err);
    if (!actors->hold || !start(actors, err)) {
        etw_hold_drop(actors->hold);
        plat_mutex_fini(&actors->mutex);
        free(actors);
        return NULL;
    }
    return actors;
}

struct etw_guard_actors *etw_guard_actors_open(struct error *err)
{
    enter();
    shared = shared ? shared : create(err);
    if (shared) {
        shared->shares++;
    }
    struct etw_guard_actors *actors = shared;
    leave();
    return actors;
}

void etw_guard_actors_close(struct etw_guard_actors *actors)
{
    if (!actors) {
        return;
    }
    enter();
    if (--actors->shares == 0) {
        stop(actors);
        etw_hold_drop(actors->hold);
        plat_mutex_fini(&actors->mutex);
        free(actors);
        shared = NULL;
    }
    leave();
}
