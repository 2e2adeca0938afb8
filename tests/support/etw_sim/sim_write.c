/*
 * Writing events. All sessions that want one are first asked for room. One without room fails the
 * event for the others, too, except for those with INDEPENDENT_SESSION (logging-mode-constants).
 */
#include "platform/plat_clock.h"
#include "support/etl_encode.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_state.h"

enum { MAX_FRAMES = 192 };

uint32_t sim_write_all(struct etw_sim *sim, struct sim_target *targets, size_t count, uint16_t cpu,
    uint64_t ticks, sim_encode_fn *encode, void *self)
{
    uint32_t first = 0;
    for (size_t i = 0; i < count; i++) {
        struct sim_target *t = &targets[i];
        buf_reset(&sim->record);
        encode(self, t, sim_clock_raw(t->session, ticks), &sim->record);
        t->code = sim->record.failed ? SIM_ERROR_ARITHMETIC_OVERFLOW
                                     : sim_buffer_prepare(t->session, cpu, sim->record.size);
        first = first ? first : t->code;
    }
    for (size_t i = 0; i < count; i++) {
        struct sim_target *t = &targets[i];
        if (t->code) {
            sim_buffer_lose(t->session, cpu, t->code);
        } else if (first && !(t->session->mode & ETW_MODE_INDEPENDENT_SESSION)) {
            t->session->counts.withheld++;
        } else {
            int64_t raw = sim_clock_raw(t->session, ticks);
            if (count > 1) {
                buf_reset(&sim->record);
                encode(self, t, raw, &sim->record);
            }
            sim_buffer_put(t->session, cpu, raw, buf_span(&sim->record), true);
        }
    }
    return first;
}

/* ---- events with EVENT_HEADER ---------------------------------------------------------------- */

struct writer {
    struct etw_sim *sim;
    const struct etw_sim_event *event;
    const struct sim_registration *by;
    struct sim_item item;
    uint32_t tid;
    uint64_t event_key;
};

/* The items that ${e} asks for. What they point to lives in this. */
struct items {
    struct extended_item list[RECORD_MAX_EXTENDED];
    size_t count;
    uint8_t sid[68];
    uint32_t session_id;
    uint64_t event_key;
    uint64_t start_key;
    uint64_t container[2];
    uint8_t stack[8 + 8 * MAX_FRAMES];
    etw_char package[256];
};

static void add(struct items *x, uint16_t type, const void *data, size_t size)
{
    if (x->count < RECORD_MAX_EXTENDED) {
        x->list[x->count++] = (struct extended_item){type, span_make(data, size)};
    }
}

/* True if the event brings such an item along (as replayed ones do); then none is made up. */
static bool brings(const struct etw_sim_event *event, uint16_t type)
{
    for (size_t i = 0; i < event->extended_count; i++) {
        if (event->extended[i].type == type) {
            return true;
        }
    }
    return false;
}

static bool asks(
    const struct writer *w, const struct sim_enable *e, uint32_t property, uint16_t type)
{
    return e->property & property && !brings(w->event, type);
}

static void add_stack(struct items *x, const struct etw_sim_event *event)
{
    static const uint64_t made_up[] = {UINT64_C(0x7ff812345678), UINT64_C(0x7ff812340010)};
    const uint64_t *frames = event->stack ? event->stack : made_up;
    size_t count = event->stack ? event->stack_count : 2;
    bool narrow = event->pointer_size == 4;
    count = count > MAX_FRAMES ? MAX_FRAMES : count;
    memset(x->stack, 0, 8); /* MatchId: all frames are here */
    for (size_t i = 0; i < count; i++) {
        if (narrow) {
            store_le32(x->stack + 8 + 4 * i, (uint32_t)frames[i]);
        } else {
            store_le64(x->stack + 8 + 8 * i, frames[i]);
        }
    }
    add(x, narrow ? EXTENDED_STACK_TRACE32 : EXTENDED_STACK_TRACE64, x->stack,
        8 + count * (narrow ? 4 : 8));
}

static void add_properties(struct items *x, const struct writer *w, const struct sim_enable *e)
{
    static const uint8_t local_system[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    const struct etw_sim_process *p = &w->item.process->p;
    if (asks(w, e, ETW_ENABLE_SID, EXTENDED_SID)) {
        add(x, EXTENDED_SID, p->sid_size ? p->sid : local_system,
            p->sid_size ? p->sid_size : sizeof(local_system));
    }
    if (asks(w, e, ETW_ENABLE_TS_ID, EXTENDED_TS_ID)) {
        x->session_id = p->session_id;
        add(x, EXTENDED_TS_ID, &x->session_id, sizeof(x->session_id));
    }
    if (sim_filter_wants_stack(e, &w->item) && !brings(w->event, EXTENDED_STACK_TRACE64) &&
        !brings(w->event, EXTENDED_STACK_TRACE32)) {
        add_stack(x, w->event);
    }
    if (asks(w, e, ETW_ENABLE_PSM_KEY, EXTENDED_PSM_KEY) && p->package) {
        sim_text_from_utf8(p->package, x->package, 256);
        add(x, EXTENDED_PSM_KEY, x->package, (sim_text_length(x->package, 256) + 1) * 2);
    }
    if (asks(w, e, ETW_ENABLE_EVENT_KEY, EXTENDED_EVENT_KEY)) {
        x->event_key = w->event_key;
        add(x, EXTENDED_EVENT_KEY, &x->event_key, sizeof(x->event_key));
    }
    if (asks(w, e, ETW_ENABLE_PROCESS_START_KEY, EXTENDED_PROCESS_START_KEY)) {
        x->start_key = p->start_key ? p->start_key : UINT64_C(0x2000000000000) + w->item.pid;
        add(x, EXTENDED_PROCESS_START_KEY, &x->start_key, sizeof(x->start_key));
    }
    if (asks(w, e, ETW_ENABLE_CONTAINER_TRACKING, EXTENDED_CONTAINER_ID) &&
        (p->container[0] || p->container[1])) {
        memcpy(x->container, p->container, sizeof(x->container));
        add(x, EXTENDED_CONTAINER_ID, x->container, sizeof(x->container));
    }
}

static void encode(void *self, const struct sim_target *target, int64_t raw, struct buf *out)
{
    const struct writer *w = self;
    const struct etw_sim_event *event = w->event;
    struct items x;
    x.count = 0;
    if (event->related) {
        add(&x, EXTENDED_RELATED_ACTIVITY_ID, event->related->bytes, 16);
    }
    add_properties(&x, w, target->enable);
    if (event->metadata.size) {
        add(&x, EXTENDED_SCHEMA_TL, event->metadata.data, event->metadata.size);
    }
    if (event->traits.size) {
        add(&x, EXTENDED_PROV_TRAITS, event->traits.data, event->traits.size);
    }
    for (size_t i = 0; i < event->extended_count; i++) {
        add(&x, event->extended[i].type, event->extended[i].data.data,
            event->extended[i].data.size);
    }
    const struct etl_event header = {.pointer_size = event->pointer_size == 4 ? 4 : 8,
        .flags = event->string_only ? EVENT_FLAG_STRING_ONLY : 0,
        .event_property = event->event_property,
        .thread_id = w->tid,
        .process_id = w->item.pid,
        .time = raw,
        .provider = w->by->of->guid,
        .descriptor = event->descriptor,
        .kernel_ticks = event->kernel_ticks,
        .user_ticks = event->user_ticks,
        .activity_id = event->activity,
        .extended = x.list,
        .extended_count = x.count};
    etl_encode_event(out, &header, event->payload);
}

uint32_t sim_write_event(
    struct etw_sim *sim, struct sim_registration *r, const struct etw_sim_event *event)
{
    struct sim_enable *enables[2 * SIM_MAX_ENABLES];
    struct sim_target targets[2 * SIM_MAX_ENABLES];
    size_t count = sim_provider_enables(r, enables);
    size_t wanted = 0;
    if (count == 0) {
        return 0;
    }
    struct writer w = {.sim = sim, .event = event, .by = r, .event_key = sim->next_event_key++};
    uint32_t pid = event->process_id ? event->process_id : r->pid;
    w.tid = event->thread_id ? event->thread_id : pid + 4;
    w.item = (struct sim_item){.descriptor = event->descriptor,
        .tracelogging = event->metadata.size != 0,
        .kernel_mode = r->kernel_mode,
        .in_private = event->in_private,
        .metadata = event->metadata,
        .process = sim_world_process(sim, pid),
        .pid = pid,
        .payload = event->payload};
    for (size_t i = 0; i < count; i++) {
        struct sim_enable *e = enables[i];
        e->session->counts.offered++;
        if (sim_filter_pass(e, &w.item)) {
            targets[wanted++] = (struct sim_target){.session = e->session, .enable = e};
        } else {
            e->session->counts.filtered++;
        }
    }
    return sim_write_all(sim, targets, wanted, event->cpu, sim_clock_stamp(sim), encode, &w);
}

/* ---- by tests -------------------------------------------------------------------------------- */

/* The test of TraceLoggingProvider.h before it writes, with the values that its callback got
 * last. */
static bool would_write(const struct etw_sim_provider_state *told, const struct event_descriptor *d)
{
    bool level = told->level == 0 || d->level <= told->level;
    bool keyword = d->keyword == 0 ||
                   ((d->keyword & told->any) && (d->keyword & told->all) == told->all);
    return told->enabled && level && keyword;
}

static uint32_t write_by(struct etw_sim_provider *p, const struct etw_sim_event *event)
{
    struct etw_sim *sim = p->sim;
    struct sim_registration *r = p->registration;
    if (!r) {
        return ETW_ERROR_INVALID_HANDLE;
    }
    if (r->kind == ETW_SIM_TRACELOGGING && !would_write(&p->state, &event->descriptor)) {
        return 0;
    }
    if (r->kind != ETW_SIM_CLASSIC) {
        return sim_write_event(sim, r, event);
    }
    struct sim_enable *e = r->of->enable_count ? r->of->enables[0] : NULL;
    if (!e) {
        return 0;
    }
    struct etw_sim_event copy = *event;
    if (guid_is_zero(&copy.class_guid)) {
        copy.class_guid = p->options.guid;
    }
    copy.process_id = copy.process_id ? copy.process_id : r->pid;
    e->session->counts.offered++;
    /* A classic provider asks GetTraceEnableLevel and -Flags itself. */
    if (!sim_filter_level_keyword(e, copy.descriptor.level, copy.descriptor.keyword)) {
        e->session->counts.filtered++;
        return 0;
    }
    return sim_classic_write(sim, e->session, &copy);
}

uint32_t etw_sim_write(struct etw_sim_provider *provider, const struct etw_sim_event *event)
{
    plat_mutex_lock(&provider->sim->lock);
    sim_session_reap(provider->sim);
    uint32_t code = write_by(provider, event);
    plat_mutex_unlock(&provider->sim->lock);
    return code;
}

uint64_t etw_sim_burst(struct etw_sim_provider *provider, const struct etw_sim_event *event,
    uint64_t first, uint64_t count, uint32_t per_second)
{
    struct etw_sim *sim = provider->sim;
    struct etw_sim_event copy = *event;
    struct buf payload;
    uint64_t written = 0;
    uint64_t start_ns = plat_monotonic_ns();
    buf_init(&payload, SIM_RECORD_ROOM);
    etl_put_u64(&payload, 0);
    buf_add_span(&payload, event->payload);
    copy.payload = buf_span(&payload);
    plat_mutex_lock(&sim->lock);
    uint64_t start = sim->ticks;
    plat_mutex_unlock(&sim->lock);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t due = per_second
                           ? i / per_second * 1000000000 + i % per_second * 1000000000 / per_second
                           : 0;
        store_le64(payload.data, first + i);
        plat_mutex_lock(&sim->lock);
        sim_session_reap(sim);
        if (due && !sim->options.real_clock) {
            sim_clock_move(sim, start + due / 1000 * sim->options.perf_frequency / 1000000);
        }
        written += write_by(provider, &copy) == 0;
        plat_mutex_unlock(&sim->lock);
        if (due && sim->options.real_clock && due > plat_monotonic_ns() - start_ns + 1000000) {
            plat_sleep_ms((unsigned)((due - (plat_monotonic_ns() - start_ns)) / 1000000));
        }
    }
    buf_fini(&payload);
    return written;
}
