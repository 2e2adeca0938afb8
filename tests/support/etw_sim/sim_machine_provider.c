/*
 * Providers in other programs. A registration lasts as long as its connection. A callback is a
 * message that the machine waits for, but not longer than the call's timeout, so that
 * EnableTraceEx2 returns when providers know, wherever they are. It does not wait for notices
 * during the registration: the program gets these before the answer.
 */
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "support/etw_sim/sim_machine_own.h"

struct provider {
    struct sim_visitor *v;
    uint64_t handle;
    struct plat_mutex lock; /* guards what follows */
    struct plat_cond changed;
    bool listening; /* a thread reads the answers of the program */
    bool gone;
    uint64_t number; /* number of the last notice */
    uint64_t told;   /* number of the last notice that the program has received */
};

/* ---- callbacks ------------------------------------------------------------------------------- */

/* Begin the message of a notice; its number is ${ret_number}. */
static void begin(struct provider *p, struct buf *message, uint64_t *ret_number)
{
    plat_mutex_lock(&p->lock);
    *ret_number = ++p->number;
    plat_mutex_unlock(&p->lock);
    buf_init(message, SIM_LINK_MAX_BYTES);
    etl_put_u8(message, SIM_WIRE_TELL);
    etl_put_u64(message, p->handle);
    etl_put_u64(message, *ret_number);
}

/* The timeout of this thread, as long as it enables a provider. */
static _Thread_local uint64_t wait_ms; /* 0: for ever */
static _Thread_local bool has_waited_in_vain;

void sim_machine_wait_begin(uint32_t timeout_ms)
{
    enum { MOMENT_MS = 500 };
    wait_ms = timeout_ms ? timeout_ms : MOMENT_MS;
    has_waited_in_vain = false;
}

bool sim_machine_wait_end(void)
{
    wait_ms = 0;
    return has_waited_in_vain;
}

/* Send the notice, and wait until the program has received it. */
static void tell(struct provider *p, struct buf *message, uint64_t number)
{
    uint64_t deadline_ns = wait_ms ? plat_monotonic_ns() + wait_ms * 1000000 : UINT64_MAX;
    bool in_time = true;
    bool sent = !message->failed && sim_link_send(p->v->link, buf_span(message));
    plat_mutex_lock(&p->lock);
    while (sent && p->listening && !p->gone && p->told < number && in_time) {
        in_time = plat_cond_wait_until(&p->changed, &p->lock, deadline_ns);
    }
    has_waited_in_vain = has_waited_in_vain || !in_time;
    plat_mutex_unlock(&p->lock);
    buf_fini(message);
}

static void on_enable(const struct guid *source_id, uint32_t code, uint8_t level, uint64_t any,
    uint64_t all, const struct etw_filter *filter, void *context)
{
    struct buf message;
    uint64_t number = 0;
    begin(context, &message, &number);
    etl_put_guid(&message, source_id);
    etl_put_u32(&message, code);
    etl_put_u8(&message, level);
    etl_put_u64(&message, any);
    etl_put_u64(&message, all);
    etl_put_u32(&message, filter ? filter->type : 0);
    sim_wire_put_block(
        &message, filter ? (const void *)(uintptr_t)filter->data : NULL, filter ? filter->size : 0);
    tell(context, &message, number);
}

/* clang-format off */
static uint32_t on_classic(uint32_t request, void *context,
    uint32_t *size, /* NOLINT(readability-non-const-parameter): the type is Windows' own */
    void *buffer)
/* clang-format on */
{
    const struct etw_wnode *wnode = buffer;
    struct buf message;
    uint64_t number = 0;
    (void)size;
    begin(context, &message, &number);
    etl_put_u32(&message, request);
    etl_put_u64(&message, wnode->historical_context);
    tell(context, &message, number);
    return 0;
}

/* ---- a registration -------------------------------------------------------------------------- */

static bool answer(struct provider *p, uint32_t code)
{
    struct buf message;
    buf_init(&message, 64);
    etl_put_u8(&message, SIM_WIRE_ANSWER);
    etl_put_u32(&message, code);
    etl_put_u64(&message, p->handle);
    bool sent = sim_link_send(p->v->link, buf_span(&message));
    buf_fini(&message);
    return sent;
}

/* Runs until the program unregisters, or has ended. */
static void listen_to(struct provider *p)
{
    struct sim_visitor *v = p->v;
    while (sim_link_receive(v->link, &v->message)) {
        struct reader in = reader_make(buf_span(&v->message));
        uint8_t op = reader_u8(&in);
        if (op == SIM_WIRE_UNREGISTER) {
            break;
        }
        uint64_t told = reader_u64(&in);
        plat_mutex_lock(&p->lock);
        p->told = told > p->told ? told : p->told;
        plat_cond_broadcast(&p->changed);
        plat_mutex_unlock(&p->lock);
    }
}

static void set_state(struct provider *p, bool listening)
{
    plat_mutex_lock(&p->lock);
    p->listening = listening;
    p->gone = !listening;
    plat_cond_broadcast(&p->changed);
    plat_mutex_unlock(&p->lock);
}

void sim_machine_provider(struct sim_visitor *v)
{
    struct provider p = {.v = v};
    bool classic = reader_u8(&v->in) != 0;
    struct guid guid = reader_guid(&v->in);
    plat_mutex_init(&p.lock);
    plat_cond_init(&p.changed);
    uint32_t code = classic ? etw_sim_RegisterTraceGuidsW(
                                  on_classic, &p, &guid, 0, NULL, NULL, NULL, &p.handle)
                            : etw_sim_EventRegister(&guid, on_enable, &p, &p.handle);
    if (answer(&p, code) && !code) {
        set_state(&p, true);
        listen_to(&p);
    }
    set_state(&p, false); /* callbacks that wait for the program end, or unregistering would wait */
    if (!code) {
        code = classic ? etw_sim_UnregisterTraceGuids(p.handle) : etw_sim_EventUnregister(p.handle);
        answer(&p, code);
    }
    plat_cond_fini(&p.changed);
    plat_mutex_fini(&p.lock);
}

/* ---- events ---------------------------------------------------------------------------------- */

uint32_t sim_machine_write(struct sim_visitor *v)
{
    struct etw_data data[SIM_WIRE_MAX_DATA];
    struct event_descriptor descriptor;
    struct guid related;
    uint64_t handle = reader_u64(&v->in);
    struct span described = sim_wire_block(&v->in);
    uint32_t flags = reader_u32(&v->in);
    struct guid activity = reader_guid(&v->in);
    struct span relates = sim_wire_block(&v->in);
    uint32_t count = reader_u32(&v->in);
    for (uint32_t i = 0; i < count && i < SIM_WIRE_MAX_DATA; i++) {
        data[i] = (struct etw_data){.type = reader_u8(&v->in)};
        struct span bytes = sim_wire_block(&v->in);
        data[i].data = (uint64_t)(uintptr_t)bytes.data;
        data[i].size = (uint32_t)bytes.size;
    }
    if (v->in.failed || count > SIM_WIRE_MAX_DATA || described.size != sizeof(descriptor) ||
        (relates.data && relates.size != sizeof(related))) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    memcpy(&descriptor, described.data, sizeof(descriptor));
    if (relates.data) {
        memcpy(&related, relates.data, sizeof(related));
    }
    return etw_sim_EventWriteEx(
        handle, &descriptor, 0, flags, &activity, relates.data ? &related : NULL, count, data);
}

uint32_t sim_machine_write_string(struct sim_visitor *v)
{
    uint64_t handle = reader_u64(&v->in);
    uint8_t level = reader_u8(&v->in);
    uint64_t keyword = reader_u64(&v->in);
    struct span bytes = sim_wire_block(&v->in);
    etw_char *text = calloc(1, bytes.size + sizeof(*text));
    if (!text) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    if (bytes.size) {
        memcpy(text, bytes.data, bytes.size);
    }
    uint32_t code = etw_sim_EventWriteString(handle, level, keyword, text);
    free(text);
    return code;
}

uint32_t sim_machine_is_enabled(struct sim_visitor *v)
{
    uint64_t handle = reader_u64(&v->in);
    uint8_t level = reader_u8(&v->in);
    etl_put_u8(&v->answer, etw_sim_EventProviderEnabled(handle, level, reader_u64(&v->in)));
    return 0;
}

uint32_t sim_machine_set_provider(struct sim_visitor *v)
{
    uint64_t handle = reader_u64(&v->in);
    uint32_t info_class = reader_u32(&v->in);
    struct span data = sim_wire_block(&v->in);
    return etw_sim_EventSetInformation(handle, info_class, data.data, (uint32_t)data.size);
}

uint32_t sim_machine_trace_event(struct sim_visitor *v)
{
    uint64_t session = reader_u64(&v->in);
    struct span bytes = sim_wire_block(&v->in);
    struct etw_classic_header *event = bytes.size >= sizeof(*event) ? malloc(bytes.size) : NULL;
    if (!event) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    memcpy(event, bytes.data, bytes.size);
    event->size = (uint16_t)bytes.size;
    uint32_t code = etw_sim_TraceEvent(session, event);
    free(event);
    return code;
}

uint32_t sim_machine_trace_message(struct sim_visitor *v)
{
    struct guid guid;
    uint64_t session = reader_u64(&v->in);
    uint32_t flags = reader_u32(&v->in);
    struct span message = sim_wire_block(&v->in);
    uint16_t number = reader_u16(&v->in);
    struct span payload = sim_wire_block(&v->in);
    bool has_guid = message.size == sizeof(guid);
    if (has_guid) {
        memcpy(&guid, message.data, sizeof(guid));
    }
    return etw_sim_TraceMessage(session, flags, has_guid ? &guid : NULL, number,
        (const void *)payload.data, payload.size, (const void *)NULL);
}
