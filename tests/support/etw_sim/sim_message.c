/* TraceMessage, TraceMessageVa (evntrace.h): messages of WPP code. Level and flags are for the
 * provider's own code to look at. */
#include "support/etl_encode.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_remote.h"

enum { KNOWN_FLAGS = 0x3f };

struct writer {
    struct etw_sim *sim;
    const struct etw_sim_message *message;
};

static void encode(void *self, const struct sim_target *target, int64_t raw, struct buf *out)
{
    const struct writer *w = self;
    const struct etw_sim_message *m = w->message;
    const struct sim_session *s = target->session;
    uint32_t last = s->mode & ETW_MODE_USE_GLOBAL_SEQUENCE  ? w->sim->global_sequence
                    : s->mode & ETW_MODE_USE_LOCAL_SEQUENCE ? s->message_sequence
                                                            : UINT32_MAX;
    const struct etl_message header = {.number = m->number,
        .flags = (uint16_t)((m->flags & KNOWN_FLAGS) | ETL_MESSAGE_POINTER64),
        .sequence = last + 1,
        .guid = m->guid,
        .component = m->component,
        .time = raw,
        .thread_id = m->thread_id,
        .process_id = m->process_id};
    etl_encode_message(out, &header, m->payload);
}

/* ${s}->offered is counted already. */
uint32_t sim_message_write(
    struct etw_sim *sim, struct sim_session *s, const struct etw_sim_message *message)
{
    struct writer w = {.sim = sim, .message = message};
    struct sim_target target = {.session = s};
    uint32_t code = sim_write_all(sim, &target, 1, message->cpu, sim_clock_stamp(sim), encode, &w);
    if (message->flags & ETL_MESSAGE_SEQUENCE && !code) {
        if (s->mode & ETW_MODE_USE_GLOBAL_SEQUENCE) {
            sim->global_sequence++;
        } else if (s->mode & ETW_MODE_USE_LOCAL_SEQUENCE) {
            s->message_sequence++;
        }
    }
    return code == SIM_ERROR_ARITHMETIC_OVERFLOW ? ETW_ERROR_MORE_DATA : code;
}

uint32_t etw_sim_write_message(
    struct etw_sim_provider *provider, const struct etw_sim_message *message)
{
    struct etw_sim *sim = provider->sim;
    uint32_t code = 0;
    plat_mutex_lock(&sim->lock);
    sim_session_reap(sim);
    const struct sim_registration *r = provider->registration;
    struct sim_enable *e = r && r->of->enable_count ? r->of->enables[0] : NULL;
    if (e) {
        struct etw_sim_message copy = *message;
        copy.process_id = copy.process_id ? copy.process_id : r->pid;
        copy.thread_id = copy.thread_id ? copy.thread_id : copy.process_id + 4;
        e->session->counts.offered++;
        if (sim_filter_level_keyword(e, message->level, message->keyword)) {
            code = sim_message_write(sim, e->session, &copy);
        } else {
            e->session->counts.filtered++;
        }
    }
    plat_mutex_unlock(&sim->lock);
    return code;
}

/* ---- the functions --------------------------------------------------------------------------- */

static uint32_t write_here(enum sim_call call, uint64_t session, uint32_t flags,
    const struct guid *guid, uint16_t number, const struct buf *payload)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(call, &code);
    if (!sim) {
        return code;
    }
    struct sim_session *s = session ? sim_session_by_handle(sim, session) : NULL;
    if (!s || s->id == SIM_KERNEL_ID) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_HANDLE);
    }
    struct etw_sim_message m = {.number = number,
        .flags = flags,
        .process_id = sim_world_pid(sim),
        .thread_id = sim_world_tid(sim),
        .payload = buf_span(payload)};
    m.cpu = (uint16_t)(m.thread_id / 4 % sim->options.processors);
    if (guid && flags & ETL_MESSAGE_COMPONENT) {
        m.component = load_le32(guid->bytes);
    } else if (guid) {
        m.guid = *guid;
    }
    s->counts.offered++;
    if (payload->failed) {
        s->counts.events_lost++;
        return sim_world_leave(sim, ETW_ERROR_MORE_DATA);
    }
    return sim_world_leave(sim, sim_message_write(sim, s, &m));
}

/* Pairs of pointer and size, up to a NULL pointer. */
static uint32_t trace(enum sim_call call, uint64_t session, uint32_t flags, const struct guid *guid,
    uint16_t number, va_list args)
{
    struct buf payload;
    const void *data;
    buf_init(&payload, SIM_RECORD_ROOM);
    while ((data = va_arg(args, const void *)) != NULL) {
        buf_add(&payload, data, va_arg(args, size_t));
    }
    struct etw_sim *remote = sim_remote_world();
    uint32_t code = remote
                        ? sim_remote_trace_message(remote, session, flags, guid, number, &payload)
                        : write_here(call, session, flags, guid, number, &payload);
    buf_fini(&payload);
    return code;
}

uint32_t etw_sim_TraceMessageVa(
    uint64_t session, uint32_t flags, const struct guid *message, uint16_t number, va_list args)
{
    return trace(SIM_CALL_TraceMessageVa, session, flags, message, number, args);
}

uint32_t etw_sim_TraceMessage(
    uint64_t session, uint32_t flags, const struct guid *message, uint32_t number, ...)
{
    va_list args;
    va_start(args, number);
    uint32_t code = trace(SIM_CALL_TraceMessage, session, flags, message, (uint16_t)number, args);
    va_end(args);
    return code;
}
