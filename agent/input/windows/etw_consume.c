#include "input/windows/etw_consume.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/filetime.h"
#include "etw/etw_api.h"
#include "etw/etw_text.h"
#include "input/windows/etw_order.h"
#include "input/windows/etw_record.h"
#include "input/windows/etw_turn.h"

/*
 * The callback copies and returns: no allocation, lock or system call per event. It takes the turn
 * with the first event of a buffer and gives it back at the buffer's end, where it signals a pause
 * to the sink so that events are not held back. Raw buffers are copied first; their records are
 * delivered when nothing older can arrive any more, by the thread that has the turn then.
 *
 * Threads: the thread of ProcessTrace owns `has_turn`, `last_raw` and `items`. `trace`, `order` and
 * `just_given` belong to the thread that has the turn. `mutex` guards `begun`, `done`, `abandoned`
 * and `code`; atomics may be read by any thread. ETW may call back until ProcessTrace has returned,
 * whatever was closed before, so nothing is freed earlier.
 */
enum { HELD_BYTES = 8 * 1024 * 1024 };

struct etw_consume {
    struct etw_consume_settings settings;
    struct input_sink sink;
    struct etw_turn turn;
    struct etw_trace *trace; /* the newest; the session's thread changes it in its turn */
    size_t trace_count;
    struct etw_logfile_header header;
    etw_char name[ETW_MAX_NAME_CHARS];
    uint64_t handle;
    atomic_bool closed;
    struct plat_thread *thread;
    bool has_turn;
    int64_t last_raw; /* of the latest record; 0: none */
    struct extended_item items[RECORD_MAX_EXTENDED];
    struct etw_order *order; /* of raw buffers; NULL: single events */
    uint64_t last_now;       /* FILETIME when records of it were last delivered */
    uint64_t just_given;     /* FILETIME of the newest record since the lag was measured; 0: none */

    atomic_bool refused;
    atomic_uint_fast64_t newest;
    atomic_uint_fast64_t lag; /* maximum since the last query, in FILETIME units */

    struct plat_mutex mutex;
    struct plat_cond changed; /* signals `begun` or `done` */
    bool begun;
    bool done;
    bool abandoned;
    uint32_t code;

    struct etw_consume *older; /* list of connections that ETW still uses */
};

/* Abandoned connections that still run. */
static _Atomic(struct etw_consume *) held_by_etw;

static void hold(struct etw_consume *c)
{
    bool done = false;
    c->older = atomic_load(&held_by_etw);
    while (!done) {
        done = atomic_compare_exchange_weak(&held_by_etw, &c->older, c);
    }
}

/* ---- thread of ProcessTrace ------------------------------------------------------------------ */

/* Once per buffer. */
static void note_begun(struct etw_consume *c)
{
    plat_mutex_lock(&c->mutex);
    c->begun = true;
    plat_cond_broadcast(&c->changed);
    plat_mutex_unlock(&c->mutex);
}

static bool take_turn(struct etw_consume *c)
{
    if (!c->has_turn) {
        note_begun(c);
        c->has_turn = etw_turn_take(&c->turn);
    }
    return c->has_turn;
}

/* Measure the age of the newest event delivered together, once per buffer, by the clock of the time
 * stamps. */
static void measure_lag(struct etw_consume *c)
{
    uint64_t now = c->just_given ? etw_trace_now(c->trace) : 0;
    uint64_t lag = now > c->just_given ? now - c->just_given : 0;
    if (lag > atomic_load_explicit(&c->lag, memory_order_relaxed)) {
        atomic_store_explicit(&c->lag, lag, memory_order_relaxed);
    }
    c->just_given = 0;
}

static void end_buffer(struct etw_consume *c)
{
    if (!c->has_turn) {
        return;
    }
    measure_lag(c);
    if (c->sink.pause && !c->sink.pause(c->sink.self)) {
        atomic_store(&c->refused, true);
    }
    c->has_turn = false;
    etw_turn_give(&c->turn);
}

static void give(struct etw_consume *c, const struct event_record *record)
{
    c->just_given = record->time > c->just_given ? record->time : c->just_given;
    if (record->time > atomic_load_explicit(&c->newest, memory_order_relaxed)) {
        atomic_store_explicit(&c->newest, record->time, memory_order_relaxed);
    }
    if (record->kind == RECORD_MESSAGE && record->present & RECORD_HAS_SEQUENCE) {
        message_numbers_note(c->settings.numbers, record->message_sequence, record->time);
    }
    if (!c->sink.record(c->sink.self, record)) {
        atomic_store(&c->refused, true);
    }
}

/* PEVENT_RECORD_CALLBACK. */
static void on_event(struct etw_event_record *from)
{
    struct etw_consume *c = from->user_context;
    enum etw_record_role role = etw_record_role(from);
    /* the header takes no turn because no end of a buffer would follow */
    if (role == ETW_RECORD_HEADER || atomic_load_explicit(&c->refused, memory_order_relaxed) ||
        !take_turn(c)) {
        return;
    }
    if (from->header.time_stamp) {
        etw_trace_start(c->trace, from->header.time_stamp);
    }
    struct event_record record;
    etw_record_read(from, &c->trace->info, c->last_raw, c->items, &record);
    c->last_raw = record.time_raw;
    switch (role) {
    case ETW_RECORD_LOST:
        c->settings.lost(c->settings.self, ETW_LOSS_MARK_EVENT, record.time);
        break;
    case ETW_RECORD_LOST_BUFFER:
        c->settings.lost(c->settings.self, ETW_LOSS_MARK_BUFFER, record.time);
        break;
    case ETW_RECORD_LOST_FILE:
        c->settings.lost(c->settings.self, ETW_LOSS_MARK_FILE, record.time);
        break;
    case ETW_RECORD_EVENT:
    case ETW_RECORD_HEADER:
        give(c, &record);
        break;
    }
}

/* PEVENT_TRACE_BUFFER_CALLBACKW. */
static uint32_t on_buffer(struct etw_logfile *logfile)
{
    struct etw_consume *c = logfile->context;
    end_buffer(c);
    return !atomic_load(&c->refused);
}

static bool on_raw_record(void *self, const struct event_record *record)
{
    struct etw_consume *c = self;
    if (!(record->kind == RECORD_KERNEL && record->hook_id == 0)) {
        give(c, record);
    }
    return !atomic_load_explicit(&c->refused, memory_order_relaxed);
}

static void on_raw_problem(void *self, const char *what)
{
    struct etw_consume *c = self;
    c->settings.problem(c->settings.self, what);
}

void etw_consume_give_held(struct etw_consume *c)
{
    if (!c->order || etw_order_is_empty(c->order)) {
        return;
    }
    uint64_t now = etw_trace_now(c->trace);
    bool was_set_back = now < c->last_now;
    c->last_now = now;
    etw_order_give(
        c->order, was_set_back ? UINT64_MAX : now - c->settings.hold_ms * FILETIME_PER_MS);
    measure_lag(c);
}

/* PETW_BUFFER_CALLBACK. */
static uint32_t on_raw_buffer(
    const void *buffer, uint32_t buffer_bytes, const struct etw_buffer_info *info, void *context)
{
    struct etw_consume *c = context;
    (void)info;
    if (atomic_load(&c->refused) || !take_turn(c)) {
        return 0;
    }
    etw_order_add(c->order, span_make(buffer, buffer_bytes), c->trace);
    etw_consume_give_held(c);
    end_buffer(c);
    return !atomic_load(&c->refused);
}

static void run(void *self)
{
    struct etw_consume *c = self;
    uint32_t code = etw_api_get()->ProcessTrace(&c->handle, 1, NULL, NULL);
    if (c->order && take_turn(c)) {
        etw_order_give(c->order, UINT64_MAX);
    }
    end_buffer(c);
    plat_mutex_lock(&c->mutex);
    c->done = true;
    c->code = code;
    if (!c->abandoned) {
        c->settings.ended(c->settings.self);
    }
    plat_cond_broadcast(&c->changed);
    plat_mutex_unlock(&c->mutex);
}

/* ---- thread of the session ------------------------------------------------------------------- */

static uint64_t open_events(struct etw_consume *c, struct etw_logfile_header *ret_header)
{
    struct etw_logfile logfile = {.logger_name = c->name,
        .process_trace_mode = ETW_PROCESS_REAL_TIME | ETW_PROCESS_RAW_TIMESTAMP |
                              ETW_PROCESS_EVENT_RECORD,
        .buffer_callback = on_buffer,
        .event_callback = on_event,
        .context = c};
    uint64_t handle = etw_api_get()->OpenTraceW(&logfile);
    *ret_header = logfile.header;
    return handle;
}

static uint64_t open_raw(struct etw_consume *c, struct etw_logfile_header *ret_header)
{
    struct etw_open_options options = {.modes = 1, /* raw time stamps */
        .buffer_callback = on_raw_buffer,
        .buffer_context = c};
    return etw_api_get()->OpenTraceFromRealTimeLogger(c->name, &options, ret_header);
}

/* Create the trace that later records refer to. */
static bool add_trace(struct etw_consume *c)
{
    struct etw_trace *trace = malloc(sizeof(*trace));
    if (trace) {
        etw_trace_init(trace, c->settings.session, &c->header);
        trace->info.has_stacks = c->settings.kernel;
        trace->older = c->trace;
        c->trace = trace;
        c->trace_count++;
    }
    return trace != NULL;
}

void etw_consume_adjust(struct etw_consume *c)
{
    enum { MAX_TRACES = 10000 }; /* months with an ordinary clock */
    if (c->trace_count < MAX_TRACES && etw_trace_is_off(c->trace)) {
        if (c->order) { /* times of two clocks cannot be ordered */
            etw_order_give(c->order, UINT64_MAX);
            measure_lag(c);
        }
        add_trace(c);
    }
}

static struct etw_consume *create(const struct etw_consume_settings *settings, struct error *err)
{
    struct etw_consume *c = calloc(1, sizeof(*c));
    if (!c) {
        error_set(err, ERR_MEMORY, "out of memory for a session");
        return NULL;
    }
    c->settings = *settings;
    c->sink = *settings->sink;
    plat_mutex_init(&c->mutex);
    plat_cond_init(&c->changed);
    etw_turn_init(&c->turn);
    if (settings->raw) {
        const struct etw_order_settings order = {
            .max_bytes = HELD_BYTES, .self = c, .record = on_raw_record, .problem = on_raw_problem};
        c->order = etw_order_create(&order, err);
    }
    if (settings->raw && !c->order) {
        etw_consume_destroy(c);
        return NULL;
    }
    return c;
}

struct etw_consume *etw_consume_open(const struct etw_consume_settings *settings, struct error *err)
{
    const struct etw_api *api = etw_api_get();
    if (settings->raw && !api->OpenTraceFromRealTimeLogger) {
        etw_api_missing(err, "OpenTraceFromRealTimeLogger");
        return NULL;
    }
    if (!api->OpenTraceW || !api->ProcessTrace || !api->CloseTrace) {
        etw_api_missing(err, "OpenTrace");
        return NULL;
    }
    struct etw_consume *c = create(settings, err);
    if (!c) {
        return NULL;
    }
    if (!etw_text_encode(span_text(settings->session), c->name, ETW_MAX_NAME_CHARS, NULL)) {
        error_set(err, ERR_LIMIT, "the name of the session is too long");
        etw_consume_destroy(c);
        return NULL;
    }
    c->handle = settings->raw ? open_raw(c, &c->header) : open_events(c, &c->header);
    if (c->handle == ETW_INVALID_TRACE) {
        atomic_store(&c->closed, true);
        etw_api_fail(err, api->last_error ? api->last_error() : 0,
            "reading from the session %.100s", settings->session);
        etw_consume_destroy(c);
        return NULL;
    }
    if (c->header.perf_freq <= 0 &&
        api->frequency) { /* the counter always belongs to this machine */
        c->header.perf_freq = (int64_t)api->frequency();
    }
    if (!add_trace(c)) {
        error_set(err, ERR_MEMORY, "out of memory for a session");
        etw_consume_destroy(c);
        return NULL;
    }
    return c;
}

bool etw_consume_start(struct etw_consume *c, struct error *err)
{
    c->thread = plat_thread_start("etw", run, c, err);
    return c->thread != NULL;
}

void etw_consume_close(struct etw_consume *c)
{
    if (c->handle && !atomic_exchange(&c->closed, true)) {
        /* during ProcessTrace this returns ERROR_CTX_CLOSE_PENDING, which is no failure */
        etw_api_get()->CloseTrace(c->handle);
    }
}

bool etw_consume_wait(struct etw_consume *c, uint64_t deadline_ns, uint32_t *ret_code)
{
    bool in_time = true;
    if (!c->thread) {
        return true; /* ProcessTrace was not started */
    }
    plat_mutex_lock(&c->mutex);
    while (!c->done && in_time) {
        in_time = plat_cond_wait_until(&c->changed, &c->mutex, deadline_ns);
    }
    bool done = c->done;
    if (done && ret_code) {
        *ret_code = c->code;
    }
    plat_mutex_unlock(&c->mutex);
    return done;
}

bool etw_consume_wait_begun(struct etw_consume *c, uint64_t deadline_ns)
{
    bool in_time = true;
    plat_mutex_lock(&c->mutex);
    while (!c->begun && !c->done && in_time) {
        in_time = plat_cond_wait_until(&c->changed, &c->mutex, deadline_ns);
    }
    bool begun = c->begun;
    plat_mutex_unlock(&c->mutex);
    return begun;
}

bool etw_consume_is_refused(const struct etw_consume *c)
{
    return atomic_load(&c->refused);
}

uint64_t etw_consume_take_lag_ms(struct etw_consume *c)
{
    return atomic_exchange(&c->lag, 0) / FILETIME_PER_MS;
}

uint64_t etw_consume_late(const struct etw_consume *c)
{
    return c->order ? etw_order_late(c->order) : 0;
}

uint64_t etw_consume_newest(const struct etw_consume *c)
{
    return atomic_load_explicit(&c->newest, memory_order_relaxed);
}

uint64_t etw_consume_frequency(const struct etw_consume *c)
{
    return c->header.perf_freq > 0 ? (uint64_t)c->header.perf_freq : 0;
}

uint32_t etw_consume_build(const struct etw_consume *c)
{
    return c->header.provider_version;
}

bool etw_consume_ask(struct etw_consume *c, uint64_t deadline_ns)
{
    return etw_turn_ask(&c->turn, deadline_ns);
}

void etw_consume_give(struct etw_consume *c)
{
    etw_turn_give(&c->turn);
}

void etw_consume_abandon(struct etw_consume *c)
{
    etw_turn_close(&c->turn);
    plat_mutex_lock(&c->mutex);
    c->abandoned = true;
    plat_mutex_unlock(&c->mutex);
}

const struct trace_info *etw_consume_trace(const struct etw_consume *c)
{
    return &c->trace->info;
}

void etw_consume_destroy(struct etw_consume *c)
{
    if (!c) {
        return;
    }
    etw_consume_close(c);
    if (!etw_consume_wait(c, 0, NULL)) { /* ETW may still use it */
        hold(c);
        return;
    }
    plat_thread_join(c->thread);
    etw_order_destroy(c->order);
    while (c->trace) {
        struct etw_trace *older = c->trace->older;
        free(c->trace);
        c->trace = older;
    }
    etw_turn_fini(&c->turn);
    plat_cond_fini(&c->changed);
    plat_mutex_fini(&c->mutex);
    free(c);
}

bool etw_consume_reap(uint64_t deadline_ns)
{
    struct etw_consume *held = atomic_exchange(&held_by_etw, NULL);
    while (held) {
        struct etw_consume *older = held->older;
        etw_consume_wait(held, deadline_ns, NULL);
        etw_consume_destroy(held); /* frees it or keeps it again */
        held = older;
    }
    return atomic_load(&held_by_etw) == NULL;
}
