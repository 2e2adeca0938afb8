/* Classic providers: RegisterTraceGuids, TraceEvent, TraceEventInstance (evntrace.h). A trace
 * handle that a provider gets holds the session's id, its level (bits 16 to 23) and flags (32 to
 * 63). */
#include <stdlib.h>

#include "support/etl_encode.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_remote.h"

enum { ERROR_INVALID_FLAG_NUMBER = 186, MAX_MOF_FIELDS = 16, MAX_CLASSES = 64 };

struct writer {
    const struct etw_sim_event *event;
    const struct etl_classic *instance; /* ids and parent, or NULL */
};

static void encode(void *self, const struct sim_target *target, int64_t raw, struct buf *out)
{
    (void)target;
    const struct writer *w = self;
    const struct etw_sim_event *e = w->event;
    struct etl_classic header = w->instance ? *w->instance : (struct etl_classic){0};
    header.pointer_size = e->pointer_size == 4 ? 4 : 8;
    header.opcode = e->descriptor.opcode;
    header.level = e->descriptor.level;
    header.version = e->descriptor.version;
    header.thread_id = e->thread_id ? e->thread_id : e->process_id + 4;
    header.process_id = e->process_id;
    header.time = raw;
    header.class_guid = e->class_guid;
    header.kernel_ticks = e->kernel_ticks;
    header.user_ticks = e->user_ticks;
    etl_encode_classic(out, &header, e->payload);
}

static uint32_t write(struct etw_sim *sim, struct sim_session *s, struct writer *w)
{
    struct sim_target target = {.session = s};
    return sim_write_all(sim, &target, 1, w->event->cpu, sim_clock_stamp(sim), encode, w);
}

uint32_t sim_classic_write(
    struct etw_sim *sim, struct sim_session *s, const struct etw_sim_event *event)
{
    struct writer w = {.event = event};
    return write(sim, s, &w);
}

/* ---- registering ----------------------------------------------------------------------------- */

static uint32_t take_classes(
    struct sim_registration *wanted, uint32_t count, struct etw_guid_registration *guids)
{
    if (count > MAX_CLASSES || (count && !guids)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    wanted->classes = calloc(count ? count : 1, sizeof(struct guid));
    if (!wanted->classes) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    wanted->class_count = count;
    for (uint32_t i = 0; i < count; i++) {
        wanted->classes[i] = guids[i].guid ? *guids[i].guid : (struct guid){{0}};
        guids[i].handle = &wanted->classes[i];
    }
    return 0;
}

static uint32_t register_far(struct etw_sim *sim, etw_classic_fn *callback, void *context,
    const struct guid *control, uint32_t guid_count, struct etw_guid_registration *guids,
    uint64_t *ret_handle)
{
    struct sim_registration wanted = {.kind = ETW_SIM_CLASSIC};
    uint32_t code = callback && control && ret_handle ? take_classes(&wanted, guid_count, guids)
                                                      : ETW_ERROR_INVALID_PARAMETER;
    if (!code) {
        const struct sim_far_provider provider = {
            .guid = *control, .classic = callback, .context = context, .classes = wanted.classes};
        code = sim_remote_register(sim, &provider, ret_handle);
        if (code) {
            free(wanted.classes);
        }
    }
    return code;
}

uint32_t etw_sim_RegisterTraceGuidsW(etw_classic_fn *callback, void *context,
    const struct guid *control, uint32_t guid_count, struct etw_guid_registration *guids,
    const etw_char *image, const etw_char *resource, uint64_t *ret_handle)
{
    (void)image;
    (void)resource;
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return register_far(remote, callback, context, control, guid_count, guids, ret_handle);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_RegisterTraceGuidsW, &code);
    if (!sim) {
        return code;
    }
    struct sim_registration wanted = {.kind = ETW_SIM_CLASSIC,
        .pid = sim_world_pid(sim),
        .classic = callback,
        .context = context};
    code = callback && control && ret_handle ? take_classes(&wanted, guid_count, guids)
                                             : ETW_ERROR_INVALID_PARAMETER;
    if (!code) {
        code = sim_provider_register(sim, control, &wanted, ret_handle);
        if (code) {
            free(wanted.classes);
        }
    }
    return sim_world_leave(sim, code);
}

uint32_t etw_sim_RegisterTraceGuidsA(etw_classic_fn *callback, void *context,
    const struct guid *control, uint32_t guid_count, struct etw_guid_registration *guids,
    const char *image, const char *resource, uint64_t *ret_handle)
{
    (void)image;
    (void)resource;
    return etw_sim_RegisterTraceGuidsW(
        callback, context, control, guid_count, guids, NULL, NULL, ret_handle);
}

uint32_t etw_sim_UnregisterTraceGuids(uint64_t handle)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_unregister(remote, handle);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_UnregisterTraceGuids, &code);
    if (!sim) {
        return code;
    }
    struct sim_registration *r = sim_provider_by_handle(sim, handle);
    if (!r) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    sim_provider_unregister(sim, r);
    return sim_world_leave(sim, 0);
}

uint64_t etw_sim_GetTraceLoggerHandle(void *buffer)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_GetTraceLoggerHandle, &code);
    const struct etw_wnode *wnode = buffer;
    code = sim && !wnode ? ETW_ERROR_INVALID_PARAMETER : code;
    if (sim) {
        sim_world_leave(sim, 0);
    }
    sim_world_set_last_error(code);
    return code ? UINT64_MAX : wnode->historical_context;
}

uint8_t etw_sim_GetTraceEnableLevel(uint64_t session)
{
    return (uint8_t)(session >> 16);
}

uint32_t etw_sim_GetTraceEnableFlags(uint64_t session)
{
    return (uint32_t)(session >> 32);
}

/* ---- TraceEvent ------------------------------------------------------------------------------ */

/* The payload after a header of ${header} bytes: in place, or MOF_FIELDs that point to it. */
static uint32_t take_payload(struct etw_sim *sim, const void *event, size_t header, size_t size,
    uint32_t flags, struct span *ret_payload)
{
    struct mof_field {
        uint64_t data;
        uint32_t length;
        uint32_t type;
    };
    const uint8_t *rest = (const uint8_t *)event + header;
    if (!(flags & ETW_TRACE_USE_MOF_PTR)) {
        *ret_payload = span_make(rest, size - header);
        return 0;
    }
    size_t count = (size - header) / sizeof(struct mof_field);
    if (count > MAX_MOF_FIELDS) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    buf_reset(&sim->payload);
    for (size_t i = 0; i < count; i++) {
        struct mof_field field;
        memcpy(&field, rest + i * sizeof(field), sizeof(field));
        buf_add(&sim->payload, (const void *)(uintptr_t)field.data, field.length);
    }
    *ret_payload = buf_span(&sim->payload);
    return sim->payload.failed ? ETW_ERROR_MORE_DATA : 0;
}

/* The session of a trace handle, unless it is none or the kernel's. */
static struct sim_session *session_of(struct etw_sim *sim, uint64_t handle)
{
    struct sim_session *s = handle ? sim_session_by_handle(sim, handle) : NULL;
    return s && s->id != SIM_KERNEL_ID ? s : NULL;
}

static uint32_t check(uint32_t flags, size_t size, size_t header)
{
    if (size < header) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    return flags & ETW_TRACE_TRACED_GUID ? 0 : ERROR_INVALID_FLAG_NUMBER;
}

/* TraceEvent on a machine: what the event points to is put into one piece. */
static uint32_t trace_far(struct etw_sim *sim, uint64_t session, const struct etw_classic_header *h)
{
    uint32_t flags = h ? (uint32_t)(h->processor_time >> 32) : 0;
    uint32_t code = h ? check(flags, h->size, sizeof(*h)) : ETW_ERROR_INVALID_PARAMETER;
    struct span payload;
    if (code) {
        return code;
    }
    struct etw_classic_header header = *h;
    header.processor_time = (uint64_t)ETW_TRACE_TRACED_GUID << 32;
    if (flags & ETW_TRACE_USE_GUID_PTR) {
        const void *guid = (const void *)(uintptr_t)load_le64(h->guid.bytes);
        memcpy(header.guid.bytes, guid, sizeof(header.guid.bytes));
    }
    struct buf copy;
    buf_init(&copy, SIM_RECORD_ROOM);
    plat_mutex_lock(&sim->lock);
    code = take_payload(sim, h, sizeof(*h), h->size, flags, &payload);
    if (!code) {
        buf_add_span(&copy, payload);
    }
    plat_mutex_unlock(&sim->lock);
    if (!code) {
        code = sim_remote_trace_event(sim, session, &header, buf_span(&copy));
    }
    buf_fini(&copy);
    return code;
}

uint32_t etw_sim_TraceEvent(uint64_t session, struct etw_classic_header *h)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return trace_far(remote, session, h);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_TraceEvent, &code);
    if (!sim) {
        return code;
    }
    struct sim_session *s = session_of(sim, session);
    uint32_t flags = h ? (uint32_t)(h->processor_time >> 32) : 0;
    code = !h   ? ETW_ERROR_INVALID_PARAMETER
           : !s ? ETW_ERROR_INVALID_HANDLE
                : check(flags, h->size, sizeof(*h));
    if (code) {
        return sim_world_leave(sim, code);
    }
    struct etw_sim_event event = {
        .descriptor = {.opcode = h->type, .level = h->level, .version = (uint8_t)h->version},
        .class_guid = h->guid,
        .process_id = sim_world_pid(sim),
        .thread_id = sim_world_tid(sim)};
    if (flags & ETW_TRACE_USE_GUID_PTR) {
        const void *guid = (const void *)(uintptr_t)load_le64(h->guid.bytes);
        memcpy(event.class_guid.bytes, guid, sizeof(event.class_guid.bytes));
    }
    s->counts.offered++;
    code = take_payload(sim, h, sizeof(*h), h->size, flags, &event.payload);
    if (code) {
        s->counts.events_lost++;
        return sim_world_leave(sim, code);
    }
    return sim_world_leave(sim, sim_classic_write(sim, s, &event));
}

uint32_t etw_sim_TraceEventInstance(uint64_t session, struct etw_instance_header *h,
    struct etw_instance *instance, struct etw_instance *parent)
{
    if (sim_remote_world()) {
        return ETW_ERROR_NOT_SUPPORTED;
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_TraceEventInstance, &code);
    if (!sim) {
        return code;
    }
    struct sim_session *s = session_of(sim, session);
    code = !h || !instance || !instance->registration ? ETW_ERROR_INVALID_PARAMETER
           : !s                                       ? ETW_ERROR_INVALID_HANDLE
                                                      : check(h->flags, h->size, sizeof(*h));
    if (code) {
        return sim_world_leave(sim, code);
    }
    struct etw_sim_event event = {
        .descriptor = {.opcode = h->type, .level = h->level, .version = (uint8_t)h->version},
        .process_id = sim_world_pid(sim),
        .thread_id = sim_world_tid(sim)};
    memcpy(event.class_guid.bytes, instance->registration, sizeof(event.class_guid.bytes));
    struct etl_classic ids = {.instance = true, .instance_id = instance->instance_id};
    if (parent && parent->registration) {
        ids.parent_instance_id = parent->instance_id;
        memcpy(ids.parent_guid.bytes, parent->registration, sizeof(ids.parent_guid.bytes));
    }
    s->counts.offered++;
    code = take_payload(sim, h, sizeof(*h), h->size, h->flags, &event.payload);
    if (code) {
        s->counts.events_lost++;
        return sim_world_leave(sim, code);
    }
    struct writer w = {.event = &event, .instance = &ids};
    return sim_world_leave(sim, write(sim, s, &w));
}

uint32_t etw_sim_CreateTraceInstanceId(void *handle, struct etw_instance *ret_instance)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_CreateTraceInstanceId, &code);
    if (!sim) {
        return code;
    }
    if (!handle || !ret_instance) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    ret_instance->registration = handle;
    ret_instance->instance_id = ++sim->last_instance;
    return sim_world_leave(sim, 0);
}
