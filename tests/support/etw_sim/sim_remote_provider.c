/*
 * Providers of this program on a machine. A registration has a connection, over which the machine
 * enables and disables it, and a thread that makes the callbacks. Notices during the registration
 * are called back from within that call, as in Windows. Events are ordinary calls.
 */
#include <stdlib.h>

#include "support/etw_sim/sim_remote.h"
#include "support/etw_sim/sim_wire.h"

struct sim_far {
    struct sim_far *next;
    struct sim_far_provider p;
    uint64_t handle;
    struct sim_link *link;
    struct plat_thread *thread;
    struct buf message;
    bool left; /* unregistered by its own callback: the thread frees itself */
};

static _Thread_local const struct sim_far *inside; /* whose callback this thread runs */

static void free_far(struct sim_far *far)
{
    sim_link_close(far->link);
    buf_fini(&far->message);
    free(far->p.classes);
    free(far);
}

/* ---- notices of the machine ------------------------------------------------------------------ */

static void call_classic(struct sim_far *far, struct reader *in)
{
    uint32_t request = reader_u32(in);
    struct etw_wnode wnode = {
        .buffer_size = sizeof(wnode), .guid = far->p.guid, .historical_context = reader_u64(in)};
    uint32_t size = sizeof(wnode);
    far->p.classic(request, far->p.context, &size, &wnode);
}

static void call(struct sim_far *far, struct reader *in)
{
    struct guid source = reader_guid(in);
    uint32_t code = reader_u32(in);
    uint8_t level = reader_u8(in);
    uint64_t any = reader_u64(in);
    uint64_t all = reader_u64(in);
    uint32_t type = reader_u32(in);
    struct span data = sim_wire_block(in);
    const struct etw_filter filter = {
        .data = (uint64_t)(uintptr_t)data.data, .size = (uint32_t)data.size, .type = type};
    if (far->p.callback) {
        far->p.callback(&source, code, level, any, all, data.data ? &filter : NULL, far->p.context);
    }
}

/* A message that is SIM_WIRE_TELL. */
static void hear(struct sim_far *far, struct reader *in)
{
    struct buf answer;
    const struct sim_far *outer = inside;
    uint64_t number = reader_u64(in);
    inside = far;
    if (far->p.classic) {
        call_classic(far, in);
    } else {
        call(far, in);
    }
    inside = outer;
    buf_init(&answer, 64);
    etl_put_u8(&answer, SIM_WIRE_TOLD);
    etl_put_u64(&answer, number);
    sim_link_send(far->link, buf_span(&answer));
    buf_fini(&answer);
}

/* Wait for an answer; returns its code, or that the machine is gone. ${ret_handle}: it is being
 * registered, and its handle is known before a callback runs. NULL: it is registered. */
static uint32_t listen_to(struct sim_far *far, uint64_t *ret_handle)
{
    while (sim_link_receive(far->link, &far->message)) {
        struct reader in = reader_make(buf_span(&far->message));
        uint8_t op = reader_u8(&in);
        uint32_t code = op == SIM_WIRE_ANSWER ? reader_u32(&in) : 0;
        uint64_t handle = reader_u64(&in);
        if (ret_handle) {
            *ret_handle = far->handle = handle;
        }
        if (op == SIM_WIRE_ANSWER) {
            return code;
        }
        hear(far, &in);
    }
    return ETW_ERROR_NO_SYSTEM_RESOURCES;
}

static void run(void *self)
{
    struct sim_far *far = self;
    listen_to(far, NULL);
    if (far->left) {
        free_far(far);
    }
}

/* ---- registering ----------------------------------------------------------------------------- */

uint32_t sim_remote_register(
    struct etw_sim *sim, const struct sim_far_provider *provider, uint64_t *ret_handle)
{
    struct sim_far *far = calloc(1, sizeof(*far));
    if (!far) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    far->p = *provider;
    buf_init(&far->message, SIM_LINK_MAX_BYTES);
    far->link = sim_link_connect(sim->options.machine, NULL);
    etl_put_u8(&far->message, SIM_WIRE_PROVIDER);
    etl_put_u32(&far->message, sim_world_pid(sim));
    etl_put_u32(&far->message, sim_world_tid(sim));
    etl_put_u8(&far->message, provider->classic != NULL);
    etl_put_guid(&far->message, &provider->guid);
    uint32_t code = ETW_ERROR_NO_SYSTEM_RESOURCES;
    if (far->link && sim_link_send(far->link, buf_span(&far->message))) {
        code = listen_to(far, ret_handle);
    }
    if (!code) {
        plat_mutex_lock(&sim->lock);
        far->thread = plat_thread_start("provider", run, far, NULL);
        code = far->thread ? 0 : ETW_ERROR_NO_SYSTEM_RESOURCES;
        if (!code) {
            far->next = sim->far;
            sim->far = far;
        }
        plat_mutex_unlock(&sim->lock);
    }
    if (code) {
        far->p.classes = NULL; /* still the caller's */
        free_far(far);
    }
    return code;
}

static struct sim_far *take_far(struct etw_sim *sim, uint64_t handle)
{
    plat_mutex_lock(&sim->lock);
    struct sim_far **at = &sim->far;
    while (*at && (*at)->handle != handle) {
        at = &(*at)->next;
    }
    struct sim_far *far = *at;
    if (far) {
        *at = far->next;
    }
    plat_mutex_unlock(&sim->lock);
    return far;
}

uint32_t sim_remote_unregister(struct etw_sim *sim, uint64_t handle)
{
    const uint8_t op = SIM_WIRE_UNREGISTER;
    struct sim_far *far = take_far(sim, handle);
    if (!far) {
        return ETW_ERROR_INVALID_HANDLE;
    }
    far->left = inside == far;
    struct plat_thread *thread = far->thread;
    bool left = far->left;
    sim_link_send(far->link, span_make(&op, 1));
    if (left) {
        plat_thread_detach(thread); /* this one */
    } else {
        plat_thread_join(thread);
        free_far(far);
    }
    return 0;
}

void sim_remote_unregister_all(struct etw_sim *sim)
{
    while (sim->far) {
        sim_remote_unregister(sim, sim->far->handle);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

uint32_t sim_remote_write(struct etw_sim *sim, uint64_t handle,
    const struct event_descriptor *descriptor, uint32_t flags, const struct guid *activity,
    const struct guid *related, uint32_t count, const struct etw_data *data)
{
    struct sim_remote_call call;
    if (!descriptor || count > SIM_WIRE_MAX_DATA || (count && !data)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    sim_remote_begin(sim, &call, SIM_WIRE_WRITE);
    etl_put_u64(&call.bytes, handle);
    sim_wire_put_block(&call.bytes, descriptor, sizeof(*descriptor));
    etl_put_u32(&call.bytes, flags);
    etl_put_guid(&call.bytes, activity);
    sim_wire_put_block(&call.bytes, related, sizeof(*related));
    etl_put_u32(&call.bytes, count);
    for (uint32_t i = 0; i < count; i++) {
        etl_put_u8(&call.bytes, data[i].type);
        sim_wire_put_block(&call.bytes, (const void *)(uintptr_t)data[i].data, data[i].size);
    }
    uint32_t code = sim_remote_ask(sim, &call);
    sim_remote_end(&call);
    return code;
}

uint32_t sim_remote_write_string(
    struct etw_sim *sim, uint64_t handle, uint8_t level, uint64_t keyword, const etw_char *text)
{
    struct sim_remote_call call;
    if (!text) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    sim_remote_begin(sim, &call, SIM_WIRE_STRING);
    etl_put_u64(&call.bytes, handle);
    etl_put_u8(&call.bytes, level);
    etl_put_u64(&call.bytes, keyword);
    sim_wire_put_block(&call.bytes, text, (sim_text_length(text, 32767) + 1) * sizeof(*text));
    uint32_t code = sim_remote_ask(sim, &call);
    sim_remote_end(&call);
    return code;
}

bool sim_remote_is_enabled(struct etw_sim *sim, uint64_t handle, uint8_t level, uint64_t keyword)
{
    struct sim_remote_call call;
    sim_remote_begin(sim, &call, SIM_WIRE_ENABLED);
    etl_put_u64(&call.bytes, handle);
    etl_put_u8(&call.bytes, level);
    etl_put_u64(&call.bytes, keyword);
    bool enabled = sim_remote_ask(sim, &call) == 0 && reader_u8(&call.in) != 0;
    sim_remote_end(&call);
    return enabled;
}

uint32_t sim_remote_set_provider(
    struct etw_sim *sim, uint64_t handle, uint32_t info_class, const void *data, uint32_t bytes)
{
    struct sim_remote_call call;
    sim_remote_begin(sim, &call, SIM_WIRE_SET_PROVIDER);
    etl_put_u64(&call.bytes, handle);
    etl_put_u32(&call.bytes, info_class);
    sim_wire_put_block(&call.bytes, data, bytes);
    uint32_t code = sim_remote_ask(sim, &call);
    sim_remote_end(&call);
    return code;
}

uint32_t sim_remote_trace_event(struct etw_sim *sim, uint64_t session,
    const struct etw_classic_header *header, struct span payload)
{
    struct sim_remote_call call;
    struct etw_classic_header whole = *header;
    if (payload.size > UINT16_MAX - sizeof(whole)) {
        return ETW_ERROR_MORE_DATA;
    }
    whole.size = (uint16_t)(sizeof(whole) + payload.size);
    sim_remote_begin(sim, &call, SIM_WIRE_TRACE_EVENT);
    etl_put_u64(&call.bytes, session);
    etl_put_u32(&call.bytes, whole.size);
    buf_add(&call.bytes, &whole, sizeof(whole));
    buf_add_span(&call.bytes, payload);
    uint32_t code = sim_remote_ask(sim, &call);
    sim_remote_end(&call);
    return code;
}

uint32_t sim_remote_trace_message(struct etw_sim *sim, uint64_t session, uint32_t flags,
    const struct guid *guid, uint16_t number, const struct buf *payload)
{
    struct sim_remote_call call;
    if (payload->failed) {
        return ETW_ERROR_MORE_DATA;
    }
    sim_remote_begin(sim, &call, SIM_WIRE_TRACE_MESSAGE);
    etl_put_u64(&call.bytes, session);
    etl_put_u32(&call.bytes, flags);
    sim_wire_put_block(&call.bytes, guid, sizeof(*guid));
    etl_put_u16(&call.bytes, number);
    sim_wire_put_block(&call.bytes, payload->data, payload->size);
    uint32_t code = sim_remote_ask(sim, &call);
    sim_remote_end(&call);
    return code;
}
