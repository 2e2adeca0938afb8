#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_RIG_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_RIG_H

#include <stdlib.h>

#include "event/model/record.h"
#include "platform/plat_thread.h"
#include "support/etw_sim/etw_sim.h"
#include "support/etw_sim/etw_sim_calls.h"

/*
 * What a controller and a consumer need around the plain calls: a properties block with room for
 * both names, and a thread that runs ProcessTrace and keeps what it was given. Calls go through the
 * world's table, as those of the agent do.
 */
enum { RIG_TEXT = 256, RIG_KEEP = 4096 };

struct rig_block {
    struct etw_properties p;
    etw_char name[ETW_MAX_NAME_CHARS];
    etw_char file[ETW_MAX_NAME_CHARS];
};

static inline const etw_char *rig_wide(const char *text, etw_char out[RIG_TEXT])
{
    size_t n = 0;
    for (; text[n] && n + 1 < RIG_TEXT; n++) {
        out[n] = (uint8_t)text[n];
    }
    out[n] = 0;
    return out;
}

/* An empty block; ${file} may be NULL. */
static inline void rig_block_init(struct rig_block *b, const char *file)
{
    memset(b, 0, sizeof(*b));
    b->p.wnode.buffer_size = sizeof(*b);
    b->p.wnode.flags = ETW_WNODE_TRACED_GUID;
    b->p.wnode.client_context = TRACE_CLOCK_QPC;
    b->p.logger_name_offset = offsetof(struct rig_block, name);
    if (file) {
        etw_char wide[RIG_TEXT];
        rig_wide(file, wide);
        memcpy(b->file, wide, sizeof(wide));
        b->p.log_file_name_offset = offsetof(struct rig_block, file);
    }
}

static inline uint32_t rig_start_block(
    struct etw_sim *sim, const char *name, struct rig_block *b, uint64_t *ret_session)
{
    etw_char wide[RIG_TEXT];
    return etw_sim_api(sim)->StartTraceW(ret_session, rig_wide(name, wide), &b->p);
}

/* A real-time session with buffers of ${buffer_kb} and ${mode} besides; its handle or 0. */
static inline uint64_t rig_start(
    struct etw_sim *sim, const char *name, uint32_t buffer_kb, uint32_t mode)
{
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.buffer_size = buffer_kb;
    b.p.log_file_mode = ETW_MODE_REAL_TIME | mode;
    return rig_start_block(sim, name, &b, &session) == 0 ? session : 0;
}

/* ControlTrace by name; ${b} is made empty first. */
static inline uint32_t rig_control(
    struct etw_sim *sim, const char *name, uint32_t control, struct rig_block *b)
{
    etw_char wide[RIG_TEXT];
    rig_block_init(b, NULL);
    b->p.log_file_name_offset = offsetof(struct rig_block, file);
    if (control == ETW_CONTROL_FLUSH || control == ETW_CONTROL_UPDATE) {
        b->p.log_file_name_offset = 0;
    }
    return etw_sim_api(sim)->ControlTraceW(0, rig_wide(name, wide), &b->p, control);
}

static inline uint32_t rig_stop(struct etw_sim *sim, const char *name)
{
    struct rig_block b;
    return rig_control(sim, name, ETW_CONTROL_STOP, &b);
}

static inline uint32_t rig_enable(struct etw_sim *sim, uint64_t session, const struct guid *guid,
    uint8_t level, uint64_t any, uint64_t all)
{
    return etw_sim_api(sim)->EnableTraceEx2(
        session, guid, ETW_PROVIDER_ENABLE, level, any, all, 0, NULL);
}

/* Likewise with parameters: filters and properties. */
static inline uint32_t rig_enable_with(struct etw_sim *sim, uint64_t session,
    const struct guid *guid, uint32_t property, const struct etw_filter *filters, uint32_t count)
{
    struct etw_enable_parameters p = {.version = 2,
        .enable_property = property,
        .filters = (uint64_t)(uintptr_t)filters,
        .filter_count = count};
    return etw_sim_api(sim)->EnableTraceEx2(session, guid, ETW_PROVIDER_ENABLE, 5, 0, 0, 0, &p);
}

/* ---- consumer -------------------------------------------------------------------------------- */

struct rig_event {
    struct etw_event_header header;
    uint16_t cpu;
    uint16_t logger_id;
    uint16_t item_types[RECORD_MAX_EXTENDED];
    uint16_t item_count;
    uint16_t payload_size;
    uint8_t payload[64]; /* as much of it as fits */
};

/* Its members but `thread` are read after rig_consumer_wait or etw_sim_settle. */
struct rig_consumer {
    struct etw_sim *sim;
    uint64_t trace;
    uint32_t open_error;
    struct plat_thread *thread;
    uint32_t result; /* of ProcessTrace */
    bool ended;      /* guarded by lock, as all below */
    struct plat_mutex lock;
    struct plat_cond changed;
    struct rig_event *events; /* the first RIG_KEEP, without headers of the session */
    uint64_t count;
    uint64_t headers; /* EventTrace records */
    uint64_t lost[3]; /* RT_LostEvent 32, 33, 34 */
    uint64_t buffers;
    uint32_t buffers_read; /* as the last callback said */
    uint32_t filled;
    uint64_t stop_after; /* buffers; 0: never */
    bool blocked;        /* callbacks wait */
    struct etw_logfile_header header;
};

static inline bool rig_is(const struct guid *guid, const char *text)
{
    struct guid wanted;
    return guid_parse(span_text(text), &wanted) && guid_equal(guid, &wanted);
}

/* EventTrace and RT_LostEvent, as Windows stores GUIDs. */
static const struct guid rig_header_guid = {{0x00, 0xd9, 0xfd, 0x68, 0x3e, 0x4a, 0xd1, 0x11, 0x84,
    0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}};
static const struct guid rig_lost_guid = {{0xe0, 0x9a, 0x39, 0x6a, 0xc6, 0x4b, 0xe9, 0x4d, 0x87,
    0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};

static inline void rig_keep(struct rig_consumer *c, const struct etw_event_record *r)
{
    struct rig_event *e = &c->events[c->count];
    e->header = r->header;
    e->cpu = r->processor_index;
    e->logger_id = r->logger_id;
    e->item_count = r->extended_data_count;
    for (uint16_t i = 0; i < r->extended_data_count; i++) {
        e->item_types[i] = r->extended_data[i].ext_type;
    }
    e->payload_size = r->user_data_length;
    if (r->user_data_length) {
        memcpy(e->payload, r->user_data,
            r->user_data_length < sizeof(e->payload) ? r->user_data_length : sizeof(e->payload));
    }
}

static inline void rig_on_event(struct etw_event_record *r)
{
    struct rig_consumer *c = r->user_context;
    plat_mutex_lock(&c->lock);
    while (c->blocked) {
        plat_cond_wait(&c->changed, &c->lock);
    }
    if (guid_equal(&r->header.provider_id, &rig_header_guid)) {
        c->headers++;
    } else if (guid_equal(&r->header.provider_id, &rig_lost_guid)) {
        c->lost[r->header.descriptor.opcode - 32]++;
    } else {
        if (c->count < RIG_KEEP) {
            rig_keep(c, r);
        }
        c->count++;
    }
    plat_cond_broadcast(&c->changed);
    plat_mutex_unlock(&c->lock);
}

static inline uint32_t rig_on_buffer(struct etw_logfile *logfile)
{
    struct rig_consumer *c = logfile->context;
    plat_mutex_lock(&c->lock);
    c->buffers++;
    c->buffers_read = logfile->buffers_read;
    c->filled = logfile->filled;
    bool go_on = c->stop_after == 0 || c->buffers < c->stop_after;
    plat_mutex_unlock(&c->lock);
    return go_on;
}

static inline void rig_run(void *self)
{
    struct rig_consumer *c = self;
    uint32_t result = etw_sim_api(c->sim)->ProcessTrace(&c->trace, 1, NULL, NULL);
    plat_mutex_lock(&c->lock);
    c->result = result;
    c->ended = true;
    plat_cond_broadcast(&c->changed);
    plat_mutex_unlock(&c->lock);
}

/* OpenTrace only. False with open_error set. */
static inline bool rig_consumer_open(
    struct rig_consumer *c, struct etw_sim *sim, const char *name, uint32_t modes)
{
    etw_char wide[RIG_TEXT];
    memset(c, 0, sizeof(*c));
    c->sim = sim;
    c->events = calloc(RIG_KEEP, sizeof(*c->events));
    plat_mutex_init(&c->lock);
    plat_cond_init(&c->changed);
    struct etw_logfile logfile = {.logger_name = rig_wide(name, wide),
        .process_trace_mode = ETW_PROCESS_REAL_TIME | ETW_PROCESS_EVENT_RECORD | modes,
        .event_callback = rig_on_event,
        .buffer_callback = rig_on_buffer,
        .context = c};
    c->trace = etw_sim_api(sim)->OpenTraceW(&logfile);
    c->open_error = etw_sim_api(sim)->last_error();
    c->header = logfile.header;
    return c->trace != ETW_INVALID_TRACE;
}

/* And run ProcessTrace on its thread; back when it is connected. */
static inline bool rig_consumer_start(
    struct rig_consumer *c, struct etw_sim *sim, const char *name, uint32_t modes)
{
    if (!rig_consumer_open(c, sim, name, modes)) {
        return false;
    }
    enum { LOOK_AGAIN_MS = 50 };
    struct etw_sim_session_info info = {.consumers = 0};
    etw_sim_session_get(sim, name, &info);
    c->thread = plat_thread_start("consumer", rig_run, c, NULL);
    bool ended = !c->thread;
    while (!ended && !etw_sim_await_consumers(sim, name, info.consumers + 1, LOOK_AGAIN_MS)) {
        plat_mutex_lock(&c->lock);
        ended = c->ended;
        plat_mutex_unlock(&c->lock);
    }
    return c->thread != NULL;
}

/* Until ${count} events have come, or it has ended. */
static inline void rig_consumer_await(struct rig_consumer *c, uint64_t count)
{
    plat_mutex_lock(&c->lock);
    while (c->count < count && !c->ended) {
        plat_cond_wait(&c->changed, &c->lock);
    }
    plat_mutex_unlock(&c->lock);
}

static inline void rig_consumer_block(struct rig_consumer *c, bool blocked)
{
    plat_mutex_lock(&c->lock);
    c->blocked = blocked;
    plat_cond_broadcast(&c->changed);
    plat_mutex_unlock(&c->lock);
}

/* Until ProcessTrace has returned. */
static inline uint32_t rig_consumer_wait(struct rig_consumer *c)
{
    plat_thread_join(c->thread);
    c->thread = NULL;
    return c->result;
}

/* Close if it is open, wait, free. */
static inline void rig_consumer_fini(struct rig_consumer *c)
{
    if (c->trace != ETW_INVALID_TRACE) {
        etw_sim_api(c->sim)->CloseTrace(c->trace);
    }
    plat_thread_join(c->thread);
    free(c->events);
    plat_cond_fini(&c->changed);
    plat_mutex_fini(&c->lock);
}

#endif
