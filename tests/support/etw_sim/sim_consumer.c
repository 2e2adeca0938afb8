/*
 * OpenTrace, ProcessTrace, CloseTrace (evntrace.h). A consumer is connected to its session while
 * ProcessTrace runs: `unread` is its place in the session's queue, and every buffer from there on
 * counts it among its readers. Buffers are read without the lock: a queued one is never changed,
 * and one with readers is never freed.
 */
#include "support/etw_sim/sim_remote.h"

#include <stdlib.h>

#include "support/etw_sim/sim_link.h"

static struct sim_trace *find(struct etw_sim *sim, uint64_t handle)
{
    struct sim_trace *t = sim->traces;
    while (t && t->handle != handle) {
        t = t->next;
    }
    return t && !atomic_load(&t->closing) ? t : NULL;
}

static void free_trace(struct etw_sim *sim, struct sim_trace *t)
{
    struct sim_trace **at = &sim->traces;
    while (*at != t) {
        at = &(*at)->next;
    }
    *at = t->next;
    if (t->link) {
        sim_link_close(t->link);
        free(t->session);
    } else if (t->session) {
        sim_session_release(t->session);
    }
    sim_trace_file_close(t);
    free(t);
}

void sim_consumer_free_all(struct etw_sim *sim)
{
    while (sim->traces) {
        free_trace(sim, sim->traces);
    }
    while (sim->trace_callbacks) {
        struct sim_trace_callback *c = sim->trace_callbacks;
        sim->trace_callbacks = c->next;
        free(c);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct sim_trace *make(struct etw_sim *sim, enum sim_trace_kind kind)
{
    struct sim_trace *t = calloc(1, sizeof(*t));
    if (t) {
        t->kind = kind;
        t->handle = 0x100 + ++sim->last_trace;
        t->next = sim->traces;
        sim->traces = t;
    }
    return t;
}

static uint32_t find_session(
    struct etw_sim *sim, const etw_char *name, struct sim_session **ret_session)
{
    struct sim_session *s = sim_session_by_name(sim, name);
    if (!s) {
        return ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    if (s->open_error || sim->options.not_administrator) {
        return s->open_error ? s->open_error : ETW_ERROR_ACCESS_DENIED;
    }
    *ret_session = s;
    return 0;
}

static uint32_t open_session(struct etw_sim *sim, const etw_char *name, enum sim_trace_kind kind,
    struct sim_trace **ret_trace)
{
    struct sim_session *s = NULL;
    struct sim_link *link = NULL;
    uint32_t code = sim->remote ? sim_remote_open(sim, name, &s, &link)
                                : find_session(sim, name, &s);
    struct sim_trace *t = code ? NULL : make(sim, kind);
    if (!t) {
        if (link) {
            sim_link_close(link);
            free(s);
        }
        return code ? code : ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    t->session = s;
    t->link = link;
    s->users++;
    sim_deliver_fill_info(s, &t->info);
    *ret_trace = t;
    return 0;
}

static uint32_t open_logfile(
    struct etw_sim *sim, struct etw_logfile *logfile, struct sim_trace **ret_trace)
{
    if (!logfile || (!logfile->log_file_name && !logfile->logger_name) ||
        (logfile->logger_name && !(logfile->process_trace_mode & ETW_PROCESS_REAL_TIME))) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct sim_trace *t = NULL;
    uint32_t code = 0;
    if (logfile->logger_name) {
        code = open_session(sim, logfile->logger_name, SIM_TRACE_LIVE, &t);
    } else {
        t = make(sim, SIM_TRACE_FILE);
        code = t ? 0 : ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    if (code) {
        return code;
    }
    t->log = *logfile;
    t->log.buffers_read = 0;
    if (t->kind == SIM_TRACE_LIVE) {
        t->log.logger_name = t->session->name16;
        t->log.buffer_size = t->session->buffer_bytes;
        sim_deliver_fill_header(t->session, &t->log.header);
    } else {
        t->path = malloc(SIM_TEXT_BYTES);
        if (t->path) {
            sim_text_to_utf8(logfile->log_file_name, t->path, SIM_TEXT_BYTES);
        }
        t->log.log_file_name = NULL;
        code = t->path ? sim_trace_file_open(t) : ETW_ERROR_NOT_ENOUGH_MEMORY;
        if (code) {
            free_trace(sim, t);
            return code;
        }
    }
    logfile->header = t->log.header;
    logfile->buffer_size = t->log.buffer_size;
    *ret_trace = t;
    return 0;
}

/* A handle, or INVALID_PROCESSTRACE_HANDLE; the last error says which, and is 0 after success. */
static uint64_t opened(struct etw_sim *sim, uint32_t code, const struct sim_trace *t)
{
    uint64_t handle = t && !code ? t->handle : ETW_INVALID_TRACE;
    if (sim) {
        sim_world_leave(sim, 0);
    }
    sim_world_set_last_error(code);
    return handle;
}

uint64_t etw_sim_OpenTraceW(struct etw_logfile *logfile)
{
    uint32_t code = 0;
    struct sim_trace *t = NULL;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_OpenTraceW, &code);
    if (sim) {
        code = open_logfile(sim, logfile, &t);
    }
    return opened(sim, code, t);
}

uint64_t etw_sim_OpenTraceFromRealTimeLogger(const etw_char *name,
    const struct etw_open_options *options, struct etw_logfile_header *ret_header)
{
    uint32_t code = 0;
    struct sim_trace *t = NULL;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_OpenTraceFromRealTimeLogger, &code);
    if (sim) {
        code = name && options ? open_session(sim, name, SIM_TRACE_RAW, &t)
                               : ETW_ERROR_INVALID_PARAMETER;
    }
    if (t) {
        t->raw = *options;
        t->log.process_trace_mode = ETW_PROCESS_REAL_TIME | ETW_PROCESS_EVENT_RECORD |
                                    (options->modes & 1 ? ETW_PROCESS_RAW_TIMESTAMP : 0);
        t->log.event_callback = options->event_callback;
        t->log.context = options->event_context;
        sim_deliver_fill_header(t->session, &t->log.header);
        if (ret_header) {
            *ret_header = t->log.header;
        }
    }
    return opened(sim, code, t);
}

uint64_t sim_consumer_open_away(struct etw_sim *sim, const etw_char *name,
    const struct sim_away *away, void (*tell)(void *self, const struct sim_session *s), void *self,
    uint32_t *ret_code)
{
    struct sim_trace *t = NULL;
    plat_mutex_lock(&sim->lock);
    *ret_code = name ? open_session(sim, name, SIM_TRACE_RAW, &t) : ETW_ERROR_INVALID_PARAMETER;
    if (t) {
        t->away = away;
        tell(self, t->session);
    }
    uint64_t handle = t ? t->handle : 0;
    plat_mutex_unlock(&sim->lock);
    return handle;
}

/* ---- real time ------------------------------------------------------------------------------- */

void sim_consumer_queued(struct sim_session *s, struct sim_chunk *chunk)
{
    for (struct sim_trace *t = s->consumers; t && chunk; t = t->next_reader) {
        chunk->readers++;
        t->unread = t->unread ? t->unread : chunk;
    }
    plat_cond_broadcast(&s->sim->changed);
}

static void connect_to(struct sim_session *s, struct sim_trace *t)
{
    t->next_reader = s->consumers;
    s->consumers = t;
    s->consumer_count++;
    t->unread = s->queue.head;
    for (struct sim_chunk *c = s->queue.head; c; c = c->next) {
        c->readers++;
    }
}

static void disconnect(struct sim_session *s, struct sim_trace *t)
{
    struct sim_trace **at = &s->consumers;
    while (*at != t) {
        at = &(*at)->next_reader;
    }
    *at = t->next_reader;
    s->consumer_count--;
    while (t->unread) {
        struct sim_chunk *chunk = t->unread;
        t->unread = chunk->next;
        sim_buffer_read(s, chunk, false);
    }
}

/* The buffers to read now; a consumer that closes leaves the rest. */
static size_t take_batch(struct sim_trace *t, struct sim_chunk **ret_chunks)
{
    size_t count = 0;
    size_t most = SIM_MAX_BATCH;
    if (t->away && t->away->most_bytes / t->session->buffer_bytes < most) {
        most = t->away->most_bytes / t->session->buffer_bytes;
        most = most ? most : 1;
    }
    while (t->unread && count < most &&
           (!atomic_load(&t->closing) || t->unread->index <= t->last_wanted)) {
        ret_chunks[count++] = t->unread;
        t->unread = t->unread->next;
    }
    return count;
}

/* Hand ${chunks} over; false if no more may follow. The lock is held, and released meanwhile. */
static bool hand_over(
    struct etw_sim *sim, struct sim_trace *t, struct sim_chunk *const *chunks, size_t count)
{
    uint64_t late = 0;
    bool taken = true;
    t->log.header.events_lost = (uint32_t)t->session->counts.events_lost;
    t->log.header.buffers_written = t->session->buffers_written;
    plat_mutex_unlock(&sim->lock);
    bool go_on = t->away ? t->away->take(t->away->self, t, chunks, count, &taken)
                         : sim_deliver_batch(t, chunks, count, &late);
    plat_mutex_lock(&sim->lock);
    sim->late_events += late;
    for (size_t i = 0; i < count; i++) {
        sim_buffer_read(t->session, chunks[i], taken);
    }
    return go_on;
}

static uint32_t run_session(struct etw_sim *sim, struct sim_trace *t)
{
    struct sim_session *s = t->session;
    struct sim_chunk *chunks[SIM_MAX_BATCH];
    if (!s->running || !(s->mode & ETW_MODE_REAL_TIME)) {
        return ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    connect_to(s, t);
    plat_cond_broadcast(&sim->changed);
    plat_mutex_unlock(&sim->lock);
    sim_deliver_header(t);
    plat_mutex_lock(&sim->lock);
    bool go_on = true;
    while (go_on) {
        size_t count = take_batch(t, chunks);
        if (count == 0) {
            if (atomic_load(&t->closing) || !s->running) {
                break;
            }
            plat_cond_wait(&sim->changed, &sim->lock);
            continue;
        }
        go_on = hand_over(sim, t, chunks, count);
    }
    disconnect(s, t);
    /* A consumer that closed the handle was not stopped by its buffer callback. */
    return go_on || atomic_load(&t->closing) ? 0 : ETW_ERROR_CANCELLED;
}

static uint32_t check_handles(
    struct etw_sim *sim, const uint64_t *handles, uint32_t count, struct sim_trace **ret_traces)
{
    uint32_t live = 0;
    if (!handles) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (count == 0 || count > SIM_MAX_HANDLES) {
        return ETW_ERROR_BAD_LENGTH;
    }
    for (uint32_t i = 0; i < count; i++) {
        ret_traces[i] = find(sim, handles[i]);
        if (!ret_traces[i] || ret_traces[i]->processing) {
            return ETW_ERROR_INVALID_HANDLE;
        }
        live += ret_traces[i]->kind != SIM_TRACE_FILE;
    }
    if (live > 1) {
        return ETW_ERROR_WMI_ALREADY_ENABLED;
    }
    return live && count > 1 ? ETW_ERROR_INVALID_PARAMETER : 0;
}

uint32_t etw_sim_ProcessTrace(
    const uint64_t *handles, uint32_t count, const int64_t *start, const int64_t *end)
{
    uint32_t code = 0;
    struct sim_trace *traces[SIM_MAX_HANDLES];
    struct etw_sim *sim = sim_world_enter(SIM_CALL_ProcessTrace, &code);
    if (!sim) {
        return code;
    }
    code = check_handles(sim, handles, count, traces);
    if (code == 0 && start && end && *start > *end) {
        code = ETW_ERROR_INVALID_TIME;
    }
    if (code) {
        return sim_world_leave(sim, code);
    }
    for (uint32_t i = 0; i < count; i++) {
        traces[i]->processing = true;
        traces[i]->start = start ? *start : 0;
        traces[i]->end = end && *end ? *end : INT64_MAX;
    }
    if (traces[0]->kind == SIM_TRACE_FILE) {
        plat_mutex_unlock(&sim->lock);
        code = sim_trace_file_run(traces, count);
        plat_mutex_lock(&sim->lock);
    } else {
        code = traces[0]->link ? sim_remote_run(sim, traces[0]) : run_session(sim, traces[0]);
    }
    for (uint32_t i = 0; i < count; i++) {
        traces[i]->processing = false;
        if (atomic_load(&traces[i]->closing)) {
            free_trace(sim, traces[i]);
        }
    }
    plat_cond_broadcast(&sim->changed);
    return sim_world_leave(sim, code);
}

/* A consumer that closes still gets what lies in its own memory, not what is in the playback
 * file. */
static void close_live(struct sim_trace *t)
{
    for (struct sim_chunk *c = t->unread; c && c->place == SIM_IN_CONSUMER; c = c->next) {
        t->last_wanted = c->index;
    }
    atomic_store(&t->closing, true);
}

uint32_t etw_sim_CloseTrace(uint64_t handle)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_CloseTrace, &code);
    if (!sim) {
        return code;
    }
    struct sim_trace *t = find(sim, handle);
    if (!t) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_HANDLE);
    }
    if (!t->processing) {
        free_trace(sim, t);
        return sim_world_leave(sim, 0);
    }
    close_live(t);
    if (t->link) {
        sim_remote_close(t);
    }
    plat_cond_broadcast(&sim->changed);
    return sim_world_leave(sim, ETW_ERROR_CTX_CLOSE_PENDING);
}

/* ---- SetTraceCallback ------------------------------------------------------------------------ */

static struct sim_trace_callback **callback_of(struct etw_sim *sim, const struct guid *guid)
{
    struct sim_trace_callback **at = &sim->trace_callbacks;
    while (*at && !guid_equal(&(*at)->guid, guid)) {
        at = &(*at)->next;
    }
    return at;
}

uint32_t etw_sim_SetTraceCallback(
    const struct guid *guid, void (*callback)(struct etw_event_trace *event))
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_SetTraceCallback, &code);
    if (!sim) {
        return code;
    }
    if (!guid || !callback) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    struct sim_trace_callback **at = callback_of(sim, guid);
    if (!*at) {
        *at = calloc(1, sizeof(**at));
    }
    if (*at) {
        (*at)->guid = *guid;
        (*at)->callback = callback;
    }
    return sim_world_leave(sim, *at ? 0 : ETW_ERROR_NOT_ENOUGH_MEMORY);
}

uint32_t etw_sim_RemoveTraceCallback(const struct guid *guid)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_RemoveTraceCallback, &code);
    if (!sim) {
        return code;
    }
    struct sim_trace_callback **at = guid ? callback_of(sim, guid) : NULL;
    if (!at || !*at) {
        return sim_world_leave(
            sim, at ? ETW_ERROR_WMI_GUID_NOT_FOUND : ETW_ERROR_INVALID_PARAMETER);
    }
    struct sim_trace_callback *c = *at;
    *at = c->next;
    free(c);
    return sim_world_leave(sim, 0);
}

/* ---- for tests ------------------------------------------------------------------------------- */

uint32_t etw_sim_open_traces(struct etw_sim *sim)
{
    uint32_t count = 0;
    plat_mutex_lock(&sim->lock);
    for (struct sim_trace *t = sim->traces; t; t = t->next) {
        count += !atomic_load(&t->closing);
    }
    plat_mutex_unlock(&sim->lock);
    return count;
}

uint64_t etw_sim_late_events(struct etw_sim *sim)
{
    plat_mutex_lock(&sim->lock);
    uint64_t events = sim->late_events;
    plat_mutex_unlock(&sim->lock);
    return events;
}
