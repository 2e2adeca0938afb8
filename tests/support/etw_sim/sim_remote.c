/*
 * A program's side of a machine. A call takes one of a few open connections, sends its request, and
 * puts the connection back. A trace and a hold have connections of their own, whose end tells the
 * machine that the program has ended, in whatever way.
 */
#include "support/etw_sim/sim_remote.h"

#include <stdlib.h>

#include "support/etw_sim/sim_wire.h"

enum { IDLE_LINKS = 8, NO_MACHINE = 1722 /* RPC_S_SERVER_UNAVAILABLE */ };

struct sim_remote {
    uint16_t port;
    struct plat_mutex lock;
    struct sim_link *idle[IDLE_LINKS];
    size_t idle_count;
};

/* ---- asking ---------------------------------------------------------------------------------- */

void sim_remote_begin(const struct etw_sim *sim, struct sim_remote_call *call, uint8_t op)
{
    buf_init(&call->bytes, SIM_LINK_MAX_BYTES);
    etl_put_u8(&call->bytes, op);
    etl_put_u32(&call->bytes, sim ? sim_world_pid(sim) : 0);
    etl_put_u32(&call->bytes, sim ? sim_world_tid(sim) : 0);
}

void sim_remote_end(struct sim_remote_call *call)
{
    buf_fini(&call->bytes);
}

/* Send ${call} and read the answer's code. */
static uint32_t exchange(struct sim_link *link, struct sim_remote_call *call)
{
    if (call->bytes.failed) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    if (!sim_link_send(link, buf_span(&call->bytes)) || !sim_link_receive(link, &call->bytes)) {
        return NO_MACHINE;
    }
    call->in = reader_make(buf_span(&call->bytes));
    uint32_t code = reader_u32(&call->in);
    return call->in.failed ? NO_MACHINE : code;
}

static struct sim_link *take_link(struct sim_remote *remote)
{
    plat_mutex_lock(&remote->lock);
    struct sim_link *link = remote->idle_count ? remote->idle[--remote->idle_count] : NULL;
    plat_mutex_unlock(&remote->lock);
    return link ? link : sim_link_connect(remote->port, NULL);
}

static void give_link(struct sim_remote *remote, struct sim_link *link)
{
    plat_mutex_lock(&remote->lock);
    bool has_room = remote->idle_count < IDLE_LINKS;
    if (has_room) {
        remote->idle[remote->idle_count++] = link;
    }
    plat_mutex_unlock(&remote->lock);
    if (!has_room) {
        sim_link_close(link);
    }
}

uint32_t sim_remote_ask(struct etw_sim *sim, struct sim_remote_call *call)
{
    struct sim_link *link = take_link(sim->remote);
    if (!link) {
        return NO_MACHINE;
    }
    uint32_t code = exchange(link, call);
    if (code == NO_MACHINE) {
        sim_link_close(link);
    } else {
        give_link(sim->remote, link);
    }
    return code;
}

/* ---- the machine ----------------------------------------------------------------------------- */

bool sim_remote_meet(uint16_t port, struct etw_sim_options *options, struct error *err)
{
    struct sim_link *link = sim_link_connect(port, err);
    struct sim_remote_call call;
    if (!link) {
        return false;
    }
    sim_remote_begin(NULL, &call, SIM_WIRE_HELLO);
    bool ok = exchange(link, &call) == 0;
    if (ok) {
        options->processors = reader_u32(&call.in);
        options->os_build = reader_u32(&call.in);
        options->perf_frequency = reader_u64(&call.in);
        options->cpu_mhz = reader_u32(&call.in);
        options->boot_time = reader_u64(&call.in);
        options->header_event = reader_u8(&call.in) != 0;
        options->odd_pointer_size = reader_u8(&call.in) != 0;
        options->no_raw_delivery = reader_u8(&call.in) != 0;
        ok = !call.in.failed && options->perf_frequency > 0 && options->processors > 0;
    }
    sim_remote_end(&call);
    sim_link_close(link);
    return ok || error_set(err, ERR_FORMAT, "what is at port %u is no simulated machine", port);
}

bool sim_remote_attach(struct etw_sim *sim, struct error *err)
{
    struct sim_remote *remote = calloc(1, sizeof(*remote));
    if (!remote) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    remote->port = sim->options.machine;
    plat_mutex_init(&remote->lock);
    sim->remote = remote;
    return true;
}

void sim_remote_detach(struct etw_sim *sim)
{
    struct sim_remote *remote = sim->remote;
    if (remote) {
        while (remote->idle_count) {
            sim_link_close(remote->idle[--remote->idle_count]);
        }
        plat_mutex_fini(&remote->lock);
        free(remote);
        sim->remote = NULL;
    }
}

struct etw_sim *sim_remote_world(void)
{
    struct etw_sim *sim = etw_sim_world();
    return sim && sim->remote ? sim : NULL;
}

void sim_remote_now(struct etw_sim *sim, int64_t *ret_counter, uint64_t *ret_filetime)
{
    struct sim_remote_call call;
    sim_remote_begin(sim, &call, SIM_WIRE_NOW);
    if (sim_remote_ask(sim, &call) == 0) {
        *ret_counter = (int64_t)reader_u64(&call.in);
        *ret_filetime = reader_u64(&call.in);
    }
    sim_remote_end(&call);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static bool is_block(const struct etw_properties *p)
{
    enum { MOST = 65536 };
    return p && p->wnode.buffer_size >= ETW_PROPERTIES_V1_BYTES && p->wnode.buffer_size <= MOST;
}

static void put_properties(struct sim_remote_call *call, const struct etw_properties *p)
{
    sim_wire_put_block(&call->bytes, p, p->wnode.buffer_size);
}

/* The session in the machine's form. */
static void take_properties(struct sim_remote_call *call, struct etw_properties *p)
{
    struct span block = sim_wire_block(&call->in);
    if (block.size && block.size == p->wnode.buffer_size) {
        memcpy(p, block.data, block.size);
    }
}

uint32_t sim_remote_start(
    struct etw_sim *sim, uint64_t *ret_session, const etw_char *name, struct etw_properties *p)
{
    struct sim_remote_call call;
    if (!ret_session || !name || !p) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (!is_block(p)) {
        return ETW_ERROR_BAD_LENGTH;
    }
    sim_remote_begin(sim, &call, SIM_WIRE_START);
    sim_wire_put_text(&call.bytes, name);
    put_properties(&call, p);
    uint32_t code = sim_remote_ask(sim, &call);
    if (code != NO_MACHINE) {
        uint64_t session = reader_u64(&call.in);
        *ret_session = code ? *ret_session : session;
        take_properties(&call, p);
    }
    sim_remote_end(&call);
    return code;
}

uint32_t sim_remote_control(struct etw_sim *sim, uint64_t session, const etw_char *name,
    struct etw_properties *p, uint32_t control)
{
    struct sim_remote_call call;
    if (!is_block(p)) {
        return p ? ETW_ERROR_BAD_LENGTH : ETW_ERROR_INVALID_PARAMETER;
    }
    sim_remote_begin(sim, &call, SIM_WIRE_CONTROL);
    etl_put_u64(&call.bytes, session);
    sim_wire_put_text(&call.bytes, name);
    etl_put_u32(&call.bytes, control);
    put_properties(&call, p);
    uint32_t code = sim_remote_ask(sim, &call);
    if (code != NO_MACHINE) {
        take_properties(&call, p);
    }
    sim_remote_end(&call);
    return code;
}

uint32_t sim_remote_query_all(
    struct etw_sim *sim, struct etw_properties **list, uint32_t capacity, uint32_t *ret_count)
{
    struct sim_remote_call call;
    if (!list || !ret_count || capacity == 0 || capacity > SIM_MAX_SESSIONS) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    sim_remote_begin(sim, &call, SIM_WIRE_QUERY_ALL);
    etl_put_u32(&call.bytes, capacity);
    bool good = true;
    for (uint32_t i = 0; good && i < capacity; i++) {
        good = is_block(list[i]);
        if (good) {
            put_properties(&call, list[i]);
        }
    }
    uint32_t code = good ? sim_remote_ask(sim, &call) : ETW_ERROR_INVALID_PARAMETER;
    if (code == 0 || code == ETW_ERROR_MORE_DATA) {
        *ret_count = reader_u32(&call.in);
        for (uint32_t i = 0; i < capacity && i < *ret_count; i++) {
            take_properties(&call, list[i]);
        }
    }
    sim_remote_end(&call);
    return code;
}

static uint32_t put_parameters(struct buf *out, const struct etw_enable_parameters *p)
{
    etl_put_u8(out, p != NULL);
    if (!p) {
        return 0;
    }
    const struct etw_filter *filters = (const struct etw_filter *)(uintptr_t)p->filters;
    uint32_t count = p->version == 2 ? p->filter_count : filters ? 1 : 0;
    if (count > ETW_MAX_FILTERS || (count && !filters)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    etl_put_u32(out, p->version);
    etl_put_u32(out, p->enable_property);
    etl_put_u32(out, p->control_flags);
    etl_put_guid(out, &p->source_id);
    etl_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        etl_put_u32(out, filters[i].type);
        sim_wire_put_block(out, (const void *)(uintptr_t)filters[i].data, filters[i].size);
    }
    return 0;
}

uint32_t sim_remote_enable(struct etw_sim *sim, uint64_t session, const struct guid *provider,
    uint32_t control, uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    const struct etw_enable_parameters *parameters)
{
    struct sim_remote_call call;
    if (!provider) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    sim_remote_begin(sim, &call, SIM_WIRE_ENABLE);
    etl_put_u64(&call.bytes, session);
    etl_put_guid(&call.bytes, provider);
    etl_put_u32(&call.bytes, control);
    etl_put_u8(&call.bytes, level);
    etl_put_u64(&call.bytes, any);
    etl_put_u64(&call.bytes, all);
    etl_put_u32(&call.bytes, timeout_ms);
    uint32_t code = put_parameters(&call.bytes, parameters);
    code = code ? code : sim_remote_ask(sim, &call);
    sim_remote_end(&call);
    return code;
}

/* ---- information ----------------------------------------------------------------------------- */

/* An answer of at most ${room} bytes, and its size. */
static uint32_t ask_for_bytes(struct etw_sim *sim, struct sim_remote_call *call, void *out,
    uint32_t room, uint32_t *ret_bytes)
{
    etl_put_u32(&call->bytes, out ? room : 0);
    uint32_t code = sim_remote_ask(sim, call);
    if (code != NO_MACHINE) {
        uint32_t needed = reader_u32(&call->in);
        struct span bytes = sim_wire_block(&call->in);
        if (out && bytes.size && bytes.size <= room) {
            memcpy(out, bytes.data, bytes.size);
        }
        if (ret_bytes) {
            *ret_bytes = needed;
        }
    }
    sim_remote_end(call);
    return code;
}

uint32_t sim_remote_enumerate(struct etw_sim *sim, uint32_t info_class, const void *in,
    uint32_t in_bytes, void *out, uint32_t out_bytes, uint32_t *ret_bytes)
{
    struct sim_remote_call call;
    sim_remote_begin(sim, &call, SIM_WIRE_ENUMERATE);
    etl_put_u32(&call.bytes, info_class);
    sim_wire_put_block(&call.bytes, in, in_bytes);
    return ask_for_bytes(sim, &call, out, out_bytes, ret_bytes);
}

uint32_t sim_remote_query(struct etw_sim *sim, uint64_t session, uint32_t info_class, void *data,
    uint32_t bytes, uint32_t *ret_bytes)
{
    struct sim_remote_call call;
    bool reads = data &&
                 bytes >= sizeof(struct etw_profile_interval); /* some classes read the block */
    sim_remote_begin(sim, &call, SIM_WIRE_QUERY);
    etl_put_u64(&call.bytes, session);
    etl_put_u32(&call.bytes, info_class);
    sim_wire_put_block(
        &call.bytes, reads ? data : NULL, reads ? sizeof(struct etw_profile_interval) : 0);
    return ask_for_bytes(sim, &call, data, bytes, ret_bytes);
}

uint32_t sim_remote_set(
    struct etw_sim *sim, uint64_t session, uint32_t info_class, const void *data, uint32_t bytes)
{
    struct sim_remote_call call;
    sim_remote_begin(sim, &call, SIM_WIRE_SET);
    etl_put_u64(&call.bytes, session);
    etl_put_u32(&call.bytes, info_class);
    sim_wire_put_block(&call.bytes, data, bytes);
    uint32_t code = sim_remote_ask(sim, &call);
    sim_remote_end(&call);
    return code;
}

/* ---- holds ----------------------------------------------------------------------------------- */

struct sim_link *sim_remote_hold(struct etw_sim *sim, const struct guid *name, uint32_t *ret_code)
{
    struct sim_remote_call call;
    struct sim_link *link = sim_link_connect(sim->remote->port, NULL);
    sim_remote_begin(sim, &call, SIM_WIRE_HOLD);
    etl_put_guid(&call.bytes, name);
    *ret_code = link ? exchange(link, &call) : NO_MACHINE;
    sim_remote_end(&call);
    if (*ret_code) {
        sim_link_close(link);
        return NULL;
    }
    return link;
}

bool sim_remote_is_held(struct etw_sim *sim, const struct guid *name)
{
    struct sim_remote_call call;
    sim_remote_begin(sim, &call, SIM_WIRE_HELD);
    etl_put_guid(&call.bytes, name);
    bool held = sim_remote_ask(sim, &call) != 0 || reader_u8(&call.in) != 0;
    sim_remote_end(&call);
    return held;
}
