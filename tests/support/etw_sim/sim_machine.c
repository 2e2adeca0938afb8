/*
 * A server owns the world, instead of memory that processes share or a file that they write. The
 * world is full of pointers, locks and threads; its providers continue to write while no program
 * runs; and a killed program must leave nothing half done. The system closes that program's
 * connections. Objects of a connection end with it, as Windows ends a process's objects, and
 * everything else stays.
 *
 * One thread accepts. Each connection has a thread that makes its calls, one after the other, by
 * the functions that any program calls.
 */
#include <stdlib.h>

#include "support/etw_sim/sim_machine_own.h"

enum { MOST_BYTES = 65536, ANSWER_BYTES = 1024 * 1024 };

struct sim_machine {
    struct etw_sim *sim;
    struct sim_listener *listener;
    struct plat_thread *thread;
    struct plat_mutex lock;
    struct sim_visitor *visitors; /* with those that have gone, until the next one comes */
    bool ending;
};

/* ---- calls ----------------------------------------------------------------------------------- */

static uint32_t hello(struct sim_visitor *v)
{
    const struct etw_sim_options *o = &v->sim->options;
    etl_put_u32(&v->answer, o->processors);
    etl_put_u32(&v->answer, o->os_build);
    etl_put_u64(&v->answer, o->perf_frequency);
    etl_put_u32(&v->answer, o->cpu_mhz);
    etl_put_u64(&v->answer, v->sim->boot_time);
    etl_put_u8(&v->answer, o->header_event);
    etl_put_u8(&v->answer, o->odd_pointer_size);
    etl_put_u8(&v->answer, o->no_raw_delivery);
    return 0;
}

static uint32_t now(struct sim_visitor *v)
{
    etl_put_u64(&v->answer, etw_sim_qpc(v->sim));
    etl_put_u64(&v->answer, etw_sim_filetime(v->sim));
    return 0;
}

/* A copy that may be written; NULL: it is no block of properties, or there is no memory. */
static struct etw_properties *take_properties(struct sim_visitor *v)
{
    struct span block = sim_wire_block(&v->in);
    if (block.size < ETW_PROPERTIES_V1_BYTES || block.size > MOST_BYTES) {
        return NULL;
    }
    /* Never less than the structure of this version; a caller with a smaller one does not read its
     * end. */
    struct etw_properties *p = calloc(1, block.size + sizeof(*p));
    if (p) {
        memcpy(p, block.data, block.size);
        if (p->wnode.buffer_size != block.size) {
            free(p);
            return NULL;
        }
    }
    return p;
}

static uint32_t start(struct sim_visitor *v)
{
    etw_char room[ETW_MAX_NAME_CHARS + 1];
    uint64_t session = 0;
    const etw_char *name = sim_wire_text(&v->in, room);
    struct etw_properties *p = take_properties(v);
    if (!p) {
        return ETW_ERROR_BAD_LENGTH;
    }
    uint32_t code = etw_sim_StartTraceW(&session, name, p);
    etl_put_u64(&v->answer, session);
    sim_wire_put_block(&v->answer, p, p->wnode.buffer_size);
    free(p);
    return code;
}

static uint32_t control(struct sim_visitor *v)
{
    etw_char room[ETW_MAX_NAME_CHARS + 1];
    uint64_t session = reader_u64(&v->in);
    const etw_char *name = sim_wire_text(&v->in, room);
    uint32_t what = reader_u32(&v->in);
    struct etw_properties *p = take_properties(v);
    if (!p) {
        return ETW_ERROR_BAD_LENGTH;
    }
    uint32_t code = etw_sim_ControlTraceW(session, name, p, what);
    sim_wire_put_block(&v->answer, p, p->wnode.buffer_size);
    free(p);
    return code;
}

static uint32_t query_all(struct sim_visitor *v)
{
    struct etw_properties *list[SIM_MAX_SESSIONS] = {NULL};
    uint32_t capacity = reader_u32(&v->in);
    uint32_t taken = 0;
    uint32_t count = 0;
    uint32_t code = ETW_ERROR_INVALID_PARAMETER;
    while (taken < capacity && taken < SIM_MAX_SESSIONS &&
           (list[taken] = take_properties(v)) != NULL) {
        taken++;
    }
    if (taken && taken == capacity) {
        code = etw_sim_QueryAllTracesW(list, capacity, &count);
    }
    etl_put_u32(&v->answer, count);
    for (uint32_t i = 0; i < taken; i++) {
        if (i < count) {
            sim_wire_put_block(&v->answer, list[i], list[i]->wnode.buffer_size);
        }
        free(list[i]);
    }
    return code;
}

static uint32_t enable(struct sim_visitor *v)
{
    struct etw_filter filters[ETW_MAX_FILTERS];
    struct etw_enable_parameters p = {.filters = (uint64_t)(uintptr_t)filters};
    uint64_t session = reader_u64(&v->in);
    struct guid provider = reader_guid(&v->in);
    uint32_t what = reader_u32(&v->in);
    uint8_t level = reader_u8(&v->in);
    uint64_t any = reader_u64(&v->in);
    uint64_t all = reader_u64(&v->in);
    uint32_t timeout_ms = reader_u32(&v->in);
    bool has_parameters = reader_u8(&v->in) != 0;
    if (has_parameters) {
        p.version = reader_u32(&v->in);
        p.enable_property = reader_u32(&v->in);
        p.control_flags = reader_u32(&v->in);
        p.source_id = reader_guid(&v->in);
        p.filter_count = reader_u32(&v->in);
    }
    for (uint32_t i = 0; i < p.filter_count && i < ETW_MAX_FILTERS; i++) {
        filters[i].type = reader_u32(&v->in);
        struct span data = sim_wire_block(&v->in);
        filters[i].data = (uint64_t)(uintptr_t)data.data;
        filters[i].size = (uint32_t)data.size;
    }
    if (v->in.failed || p.filter_count > ETW_MAX_FILTERS) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (p.version == 1 && p.filter_count == 0) {
        p.filters = 0;
    }
    sim_machine_wait_begin(timeout_ms);
    uint32_t code = etw_sim_EnableTraceEx2(
        session, &provider, what, level, any, all, timeout_ms, has_parameters ? &p : NULL);
    return sim_machine_wait_end() && timeout_ms && !code ? ETW_ERROR_TIMEOUT : code;
}

/* Put what a call has made of ${bytes} of ${out} after what it needs. Takes ${out}. */
static uint32_t give_bytes(
    struct sim_visitor *v, uint32_t code, void *out, uint32_t bytes, uint32_t needed)
{
    etl_put_u32(&v->answer, needed);
    sim_wire_put_block(&v->answer, out, code || needed > bytes ? 0 : needed);
    free(out);
    return code;
}

static void *make_room(struct sim_visitor *v, uint32_t *ret_bytes)
{
    uint32_t bytes = reader_u32(&v->in);
    *ret_bytes = bytes < ANSWER_BYTES ? bytes : ANSWER_BYTES;
    return calloc(1, *ret_bytes ? *ret_bytes : 1);
}

static uint32_t enumerate(struct sim_visitor *v)
{
    uint32_t room = 0;
    uint32_t needed = 0;
    uint32_t info_class = reader_u32(&v->in);
    struct span in = sim_wire_block(&v->in);
    void *out = make_room(v, &room);
    if (!out) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    uint32_t code = etw_sim_EnumerateTraceGuidsEx(info_class, (void *)(uintptr_t)in.data,
        (uint32_t)in.size, room ? out : NULL, room, &needed);
    return give_bytes(v, code, out, room, needed);
}

static uint32_t query(struct sim_visitor *v)
{
    uint32_t room = 0;
    uint32_t needed = 0;
    uint64_t session = reader_u64(&v->in);
    uint32_t info_class = reader_u32(&v->in);
    struct span asked = sim_wire_block(&v->in);
    void *out = make_room(v, &room);
    if (!out) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    if (asked.size && asked.size <= room) {
        memcpy(out, asked.data, asked.size);
    }
    uint32_t code = etw_sim_TraceQueryInformation(
        session, info_class, room ? out : NULL, room, &needed);
    return give_bytes(v, code, out, room, needed);
}

static uint32_t set(struct sim_visitor *v)
{
    uint64_t session = reader_u64(&v->in);
    uint32_t info_class = reader_u32(&v->in);
    struct span data = sim_wire_block(&v->in);
    return etw_sim_TraceSetInformation(
        session, info_class, (void *)(uintptr_t)data.data, (uint32_t)data.size);
}

/* ---- holds ----------------------------------------------------------------------------------- */

static bool is_held(const struct sim_machine *m, const struct guid *name)
{
    for (const struct sim_visitor *v = m->visitors; v; v = v->next) {
        if (guid_equal(&v->held, name)) {
            return true;
        }
    }
    return false;
}

static uint32_t hold(struct sim_visitor *v)
{
    struct guid name = reader_guid(&v->in);
    plat_mutex_lock(&v->machine->lock);
    uint32_t code = is_held(v->machine, &name) ? ETW_ERROR_ALREADY_EXISTS : 0;
    if (!code) {
        v->held = name;
    }
    plat_mutex_unlock(&v->machine->lock);
    return code;
}

static uint32_t held(struct sim_visitor *v)
{
    struct guid name = reader_guid(&v->in);
    plat_mutex_lock(&v->machine->lock);
    etl_put_u8(&v->answer, is_held(v->machine, &name));
    plat_mutex_unlock(&v->machine->lock);
    return 0;
}

/* ---- connections ----------------------------------------------------------------------------- */

static uint32_t (*const calls[])(struct sim_visitor *v) = {
    [SIM_WIRE_HELLO] = hello,
    [SIM_WIRE_NOW] = now,
    [SIM_WIRE_START] = start,
    [SIM_WIRE_CONTROL] = control,
    [SIM_WIRE_QUERY_ALL] = query_all,
    [SIM_WIRE_ENABLE] = enable,
    [SIM_WIRE_ENUMERATE] = enumerate,
    [SIM_WIRE_SET] = set,
    [SIM_WIRE_QUERY] = query,
    [SIM_WIRE_WRITE] = sim_machine_write,
    [SIM_WIRE_STRING] = sim_machine_write_string,
    [SIM_WIRE_ENABLED] = sim_machine_is_enabled,
    [SIM_WIRE_SET_PROVIDER] = sim_machine_set_provider,
    [SIM_WIRE_TRACE_EVENT] = sim_machine_trace_event,
    [SIM_WIRE_TRACE_MESSAGE] = sim_machine_trace_message,
    [SIM_WIRE_HOLD] = hold,
    [SIM_WIRE_HELD] = held,
};

bool sim_machine_answer(struct sim_visitor *v, uint32_t code)
{
    struct buf whole;
    buf_init(&whole, SIM_LINK_MAX_BYTES);
    etl_put_u32(&whole, v->answer.failed ? ETW_ERROR_NOT_ENOUGH_MEMORY : code);
    buf_add_span(&whole, buf_span(&v->answer));
    bool sent = !whole.failed && sim_link_send(v->link, buf_span(&whole));
    buf_fini(&whole);
    return sent;
}

static void serve(void *self)
{
    struct sim_visitor *v = self;
    while (sim_link_receive(v->link, &v->message)) {
        v->in = reader_make(buf_span(&v->message));
        uint8_t op = reader_u8(&v->in);
        uint32_t pid = reader_u32(&v->in);
        uint32_t tid = reader_u32(&v->in);
        buf_reset(&v->answer);
        etw_sim_as(pid, tid);
        if (op == SIM_WIRE_TRACE) {
            sim_machine_trace(v);
            break;
        }
        if (op == SIM_WIRE_PROVIDER) {
            sim_machine_provider(v);
            break;
        }
        if (op >= sizeof(calls) / sizeof(calls[0]) || !calls[op] ||
            !sim_machine_answer(v, calls[op](v))) {
            break;
        }
    }
    plat_mutex_lock(&v->machine->lock);
    v->held = (struct guid){{0}};
    v->gone = true;
    sim_link_shut(v->link); /* the other side notices it, also if it sent nonsense */
    plat_mutex_unlock(&v->machine->lock);
}

static void free_visitor(struct sim_visitor *v)
{
    plat_thread_join(v->thread);
    sim_link_close(v->link);
    buf_fini(&v->message);
    buf_fini(&v->answer);
    free(v);
}

/* Take the first of those that have gone out of the list; NULL: there is none. */
static struct sim_visitor *take_gone(struct sim_machine *m)
{
    plat_mutex_lock(&m->lock);
    struct sim_visitor **at = &m->visitors;
    while (*at && !(*at)->gone) {
        at = &(*at)->next;
    }
    struct sim_visitor *v = *at;
    if (v) {
        *at = v->next;
    }
    plat_mutex_unlock(&m->lock);
    return v;
}

/* Takes ${link}. */
static void welcome(struct sim_machine *m, struct sim_link *link)
{
    struct sim_visitor *v = calloc(1, sizeof(*v));
    if (!v) {
        sim_link_close(link);
        return;
    }
    v->machine = m;
    v->sim = m->sim;
    v->link = link;
    buf_init(&v->message, SIM_LINK_MAX_BYTES);
    buf_init(&v->answer, SIM_LINK_MAX_BYTES);
    plat_mutex_lock(&m->lock);
    v->next = m->visitors;
    m->visitors = v;
    bool ending = m->ending;
    v->thread = ending ? NULL : plat_thread_start("visitor", serve, v, NULL);
    plat_mutex_unlock(&m->lock);
    if (!v->thread) {
        sim_link_shut(link);
    }
}

static void receive_visitors(void *self)
{
    struct sim_machine *m = self;
    struct sim_link *link;
    while ((link = sim_link_accept(m->listener)) != NULL) {
        struct sim_visitor *gone;
        while ((gone = take_gone(m)) != NULL) {
            free_visitor(gone);
        }
        welcome(m, link);
    }
}

struct sim_machine *sim_machine_start(struct etw_sim *sim, uint16_t *ret_port, struct error *err)
{
    struct sim_machine *m = calloc(1, sizeof(*m));
    if (!m) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    m->sim = sim;
    plat_mutex_init(&m->lock);
    m->listener = sim_link_listen(ret_port, err);
    m->thread = m->listener ? plat_thread_start("machine", receive_visitors, m, err) : NULL;
    if (!m->thread) {
        sim_machine_stop(m);
        return NULL;
    }
    return m;
}

void sim_machine_stop(struct sim_machine *m)
{
    if (!m) {
        return;
    }
    plat_mutex_lock(&m->lock);
    m->ending = true;
    for (struct sim_visitor *v = m->visitors; v; v = v->next) {
        sim_link_shut(v->link);
    }
    plat_mutex_unlock(&m->lock);
    if (m->listener) {
        sim_link_shut_listener(m->listener);
    }
    plat_thread_join(m->thread);
    while (m->visitors) {
        struct sim_visitor *v = m->visitors;
        m->visitors = v->next;
        free_visitor(v);
    }
    sim_link_close_listener(m->listener);
    plat_mutex_fini(&m->lock);
    free(m);
}
