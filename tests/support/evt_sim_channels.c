#include <string.h>

#include "etw/etw_text.h"
#include "support/evt_sim_own.h"

/* The list of channels of the simulated Event Log, with their logs and settings. */

evt_handle evt_sim_open_channels(evt_handle session, uint32_t flags)
{
    (void)session;
    (void)flags;
    evt_sim_enter();
    struct sim_handle *handle = evt_sim_make(SIM_CHANNELS, NULL);
    evt_sim_leave(0);
    return handle;
}

int32_t evt_sim_next_channel(evt_handle channels, uint32_t size, evt_char *path, uint32_t *ret_used)
{
    struct sim_handle *handle = channels;
    size_t units;
    evt_sim_enter();
    if (handle->at == evt_sim_state.channel_count) {
        return evt_sim_leave(evt_sim_fail(EVT_ERROR_NO_MORE_ITEMS));
    }
    const char *name = evt_sim_state.channels[handle->at].name;
    *ret_used = (uint32_t)strlen(name) + 1;
    if (!etw_text_encode(span_text(name), path, size, &units)) {
        return evt_sim_leave(evt_sim_fail(EVT_ERROR_INSUFFICIENT_BUFFER));
    }
    handle->at++;
    return evt_sim_leave(1);
}

static evt_handle open_of(enum sim_kind kind, const evt_char *path)
{
    evt_sim_enter();
    struct sim_channel *channel = evt_sim_find_wide(path);
    if (!channel) {
        return evt_sim_fail_handle(EVT_ERROR_CHANNEL_NOT_FOUND);
    }
    if (channel->denied && kind == SIM_LOG) {
        return evt_sim_fail_handle(EVT_ERROR_ACCESS_DENIED);
    }
    struct sim_handle *handle = evt_sim_make(kind, channel);
    evt_sim_leave(0);
    return handle;
}

evt_handle evt_sim_open_log(evt_handle session, const evt_char *path, uint32_t flags)
{
    (void)session;
    (void)flags;
    return open_of(SIM_LOG, path);
}

evt_handle evt_sim_open_config(evt_handle session, const evt_char *path, uint32_t flags)
{
    (void)session;
    (void)flags;
    return open_of(SIM_CONFIG, path);
}

int32_t evt_sim_log_info(
    evt_handle log, uint32_t property, uint32_t size, struct evt_variant *value, uint32_t *ret_used)
{
    const struct sim_channel *channel = ((struct sim_handle *)log)->channel;
    *ret_used = sizeof(*value);
    if (size < sizeof(*value)) {
        return evt_sim_fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    evt_sim_enter();
    *value = (struct evt_variant){.type = 10};
    if (property == EVT_LOG_NUMBER_OF_RECORDS) {
        value->value.u64 = channel->count;
    } else if (property == EVT_LOG_OLDEST_RECORD_NUMBER && channel->count) {
        value->value.u64 = channel->records[0].id;
    } else if (property == EVT_LOG_FILE_SIZE) {
        value->value.u64 = 69632;
    } else {
        value->type = 0;
    }
    return evt_sim_leave(1);
}

int32_t evt_sim_config_property(evt_handle config, uint32_t property, uint32_t flags, uint32_t size,
    struct evt_variant *value, uint32_t *ret_used)
{
    const struct sim_channel *channel = ((struct sim_handle *)config)->channel;
    (void)flags;
    *ret_used = sizeof(*value);
    if (size < sizeof(*value)) {
        return evt_sim_fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    *value = (struct evt_variant){.type = 0};
    if (property == EVT_CHANNEL_CONFIG_TYPE) {
        value->type = 8;
        value->value.u32 = channel->type;
    } else if (property == EVT_CHANNEL_CONFIG_ENABLED) {
        value->type = 13;
        value->value.u32 = 1;
    } else if (property == EVT_CHANNEL_LOGGING_CONFIG_MAX_SIZE) {
        value->type = 10;
        value->value.u64 = 20971520;
    }
    return 1;
}
