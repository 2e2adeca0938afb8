/* EventWrite and its kin (evntprov.h): the caller's descriptors become one event. */
#include "platform/plat_system.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_remote.h"

enum {
    MAX_DATA = 128,
    DATA_EVENT_METADATA = 1,
    DATA_PROVIDER_METADATA = 2,
    DATA_TIMESTAMP_OVERRIDE = 3,
    WRITE_IN_PRIVATE = 2,
};

static _Thread_local struct guid thread_activity;

/*
 * The bytes of ${r}'s descriptors. Their types count once the provider has said so
 * (EventSetInformation); before that, everything is payload. Traits of the registration win over
 * those of a descriptor (event_data_descriptor). A time stamp in a descriptor is ignored.
 */
static uint32_t gather(struct etw_sim *sim, const struct sim_registration *r,
    struct etw_sim_event *event, uint32_t count, const struct etw_data *data)
{
    if (count > MAX_DATA || (count && !data)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    buf_reset(&sim->payload);
    for (uint32_t i = 0; i < count; i++) {
        struct span bytes = span_make((const void *)(uintptr_t)data[i].data, data[i].size);
        uint8_t type = r->uses_types ? data[i].type : 0;
        if (type == DATA_EVENT_METADATA) {
            event->metadata = bytes;
        } else if (type == DATA_PROVIDER_METADATA) {
            event->traits = bytes;
        } else if (type != DATA_TIMESTAMP_OVERRIDE) {
            buf_add_span(&sim->payload, bytes);
        }
    }
    if (r->traits_size) {
        event->traits = span_make(r->traits, r->traits_size);
    }
    event->payload = buf_span(&sim->payload);
    return 0;
}

static uint32_t write(enum sim_call call, uint64_t handle,
    const struct event_descriptor *descriptor, uint32_t flags, const struct guid *activity,
    const struct guid *related, uint32_t count, const struct etw_data *data)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_write(remote, handle, descriptor, flags,
            activity ? activity : &thread_activity, related, count, data);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(call, &code);
    if (!sim) {
        return code;
    }
    struct sim_registration *r = sim_provider_by_handle(sim, handle);
    if (!r) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_HANDLE);
    }
    if (!descriptor) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    struct etw_sim_event event = {.descriptor = *descriptor,
        .process_id = r->pid,
        .thread_id = sim_world_tid(sim),
        .in_private = (flags & WRITE_IN_PRIVATE) != 0,
        .activity = activity ? *activity : thread_activity,
        .related = related};
    event.cpu = (uint16_t)(event.thread_id / 4 % sim->options.processors);
    code = gather(sim, r, &event, count, data);
    if (!code && sim->payload.failed) {
        struct sim_enable *enables[2 * SIM_MAX_ENABLES];
        size_t sessions = sim_provider_enables(r, enables);
        for (size_t i = 0; i < sessions; i++) {
            enables[i]->session->counts.offered++;
            enables[i]->session->counts.events_lost++;
        }
        code = SIM_ERROR_ARITHMETIC_OVERFLOW;
    }
    return sim_world_leave(sim, code ? code : sim_write_event(sim, r, &event));
}

uint32_t etw_sim_EventWriteTransfer(uint64_t handle, const struct event_descriptor *descriptor,
    const struct guid *activity, const struct guid *related, uint32_t data_count,
    const struct etw_data *data)
{
    return write(
        SIM_CALL_EventWriteTransfer, handle, descriptor, 0, activity, related, data_count, data);
}

uint32_t etw_sim_EventWrite(uint64_t handle, const struct event_descriptor *descriptor,
    uint32_t data_count, const struct etw_data *data)
{
    return write(SIM_CALL_EventWrite, handle, descriptor, 0, NULL, NULL, data_count, data);
}

uint32_t etw_sim_EventWriteEx(uint64_t handle, const struct event_descriptor *descriptor,
    uint64_t filter, uint32_t flags, const struct guid *activity, const struct guid *related,
    uint32_t data_count, const struct etw_data *data)
{
    (void)filter;
    return write(
        SIM_CALL_EventWriteEx, handle, descriptor, flags, activity, related, data_count, data);
}

uint32_t etw_sim_EventWriteString(
    uint64_t handle, uint8_t level, uint64_t keyword, const etw_char *text)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_write_string(remote, handle, level, keyword, text);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventWriteString, &code);
    if (!sim) {
        return code;
    }
    struct sim_registration *r = sim_provider_by_handle(sim, handle);
    if (!r || !text) {
        return sim_world_leave(sim, r ? ETW_ERROR_INVALID_PARAMETER : ETW_ERROR_INVALID_HANDLE);
    }
    const struct etw_sim_event event = {.descriptor = {.level = level, .keyword = keyword},
        .process_id = r->pid,
        .thread_id = sim_world_tid(sim),
        .string_only = true,
        .activity = thread_activity,
        .payload = span_make(text, (sim_text_length(text, 32767) + 1) * 2)};
    return sim_world_leave(sim, sim_write_event(sim, r, &event));
}

static uint8_t is_enabled(enum sim_call call, uint64_t handle, uint8_t level, uint64_t keyword)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_is_enabled(remote, handle, level, keyword);
    }
    struct etw_sim *sim = sim_world_enter(call, NULL);
    if (!sim) {
        return 0;
    }
    struct sim_registration *r = sim_provider_by_handle(sim, handle);
    struct sim_enable *enables[2 * SIM_MAX_ENABLES];
    size_t count = r ? sim_provider_enables(r, enables) : 0;
    uint8_t enabled = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sim_process *process = sim_world_process(sim, r->pid);
        if (sim_filter_level_keyword(enables[i], level, keyword) &&
            sim_filter_scope(enables[i], r->kernel_mode, r->pid, process)) {
            enabled = 1;
        }
    }
    return (uint8_t)sim_world_leave(sim, enabled);
}

uint8_t etw_sim_EventEnabled(uint64_t handle, const struct event_descriptor *descriptor)
{
    return is_enabled(SIM_CALL_EventEnabled, handle, descriptor->level, descriptor->keyword);
}

uint8_t etw_sim_EventProviderEnabled(uint64_t handle, uint8_t level, uint64_t keyword)
{
    return is_enabled(SIM_CALL_EventProviderEnabled, handle, level, keyword);
}

uint32_t etw_sim_EventActivityIdControl(uint32_t control, struct guid *activity)
{
    enum { GET = 1, SET, CREATE, GET_SET, CREATE_SET };
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventActivityIdControl, &code);
    if (!sim) {
        return code;
    }
    struct guid before = thread_activity;
    if (!activity || control < GET || control > CREATE_SET) {
        code = ETW_ERROR_INVALID_PARAMETER;
    } else if (control == GET) {
        *activity = before;
    } else if (control == SET) {
        thread_activity = *activity;
    } else if (control == CREATE) {
        plat_random(activity->bytes, sizeof(activity->bytes), NULL);
    } else if (control == GET_SET) {
        thread_activity = *activity;
        *activity = before;
    } else {
        plat_random(thread_activity.bytes, sizeof(thread_activity.bytes), NULL);
        *activity = before;
    }
    return sim_world_leave(sim, code);
}
