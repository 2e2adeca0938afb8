#include "evt/evt_channels.h"

#include <stdlib.h>
#include <string.h>

enum { TYPE_TEXT = 1, TYPE_NUMBER = 8, TYPE_WIDE = 10 }; /* EVT_VARIANT_TYPE */

const char *evt_channels_type(uint32_t type)
{
    static const char *const names[] = {"admin", "operational", "analytic", "debug"};
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

static uint64_t log_number(evt_handle log, uint32_t property)
{
    struct evt_variant value = {.type = 0};
    uint32_t used;
    bool good = evt_api_get()->EvtGetLogInfo(log, property, sizeof(value), &value, &used);
    return good && value.type == TYPE_WIDE ? value.value.u64 : 0;
}

static void look_at_log(struct evt_channel_info *info)
{
    const struct evt_api *api = evt_api_get();
    evt_handle log = api->EvtOpenLog(NULL, info->name, EVT_OPEN_CHANNEL_PATH);
    info->is_readable = log != NULL;
    if (!log) {
        info->reason = api->last_error();
        return;
    }
    info->record_count = log_number(log, EVT_LOG_NUMBER_OF_RECORDS);
    info->oldest_record = log_number(log, EVT_LOG_OLDEST_RECORD_NUMBER);
    info->file_bytes = log_number(log, EVT_LOG_FILE_SIZE);
    api->EvtClose(log);
}

/* Read a text property. Windows writes the text after its variant. */
static void take_access(evt_handle config, struct evt_channel_info *info)
{
    struct {
        struct evt_variant value;
        evt_char text[EVT_CHANNELS_ACCESS_CHARS];
    } room;
    uint32_t used;
    room.value.type = 0;
    if (!evt_api_get()->EvtGetChannelConfigProperty(
            config, EVT_CHANNEL_CONFIG_ACCESS, 0, sizeof(room), &room.value, &used) ||
        room.value.type != TYPE_TEXT || !room.value.value.text) {
        return;
    }
    const evt_char *text = room.value.value.text;
    size_t size = 0;
    while (size + 1 < EVT_CHANNELS_ACCESS_CHARS && text[size]) {
        info->access[size] = text[size];
        size++;
    }
    info->access[size] = 0;
}

static void look_at_config(struct evt_channel_info *info)
{
    const struct evt_api *api = evt_api_get();
    if (!api->EvtOpenChannelConfig || !api->EvtGetChannelConfigProperty) {
        return;
    }
    evt_handle config = api->EvtOpenChannelConfig(NULL, info->name, 0);
    struct evt_variant value = {.type = 0};
    uint32_t used;
    if (!config) {
        return;
    }
    if (api->EvtGetChannelConfigProperty(
            config, EVT_CHANNEL_CONFIG_TYPE, 0, sizeof(value), &value, &used) &&
        value.type == TYPE_NUMBER) {
        info->type = value.value.u32;
    }
    if (api->EvtGetChannelConfigProperty(
            config, EVT_CHANNEL_CONFIG_ENABLED, 0, sizeof(value), &value, &used)) {
        info->is_enabled = value.value.u32 != 0;
    }
    if (api->EvtGetChannelConfigProperty(
            config, EVT_CHANNEL_LOGGING_CONFIG_MAX_SIZE, 0, sizeof(value), &value, &used) &&
        value.type == TYPE_WIDE) {
        info->max_bytes = value.value.u64;
    }
    take_access(config, info);
    api->EvtClose(config);
}

void evt_channels_look(struct evt_channel_info *ret_info)
{
    ret_info->type = UINT32_MAX;
    ret_info->access[0] = 0;
    look_at_log(ret_info);
    look_at_config(ret_info);
}

bool evt_channels_each(
    bool (*each)(void *self, struct evt_channel_info *info), void *self, struct error *err)
{
    const struct evt_api *api = evt_api_get();
    if (!api->EvtOpenChannelEnum) {
        return error_set(
            err, ERR_UNSUPPORTED, "cannot list channels: this system has no Windows Event Log");
    }
    struct evt_channel_info *info = calloc(1, sizeof(*info));
    evt_handle all = info ? api->EvtOpenChannelEnum(NULL, 0) : NULL;
    uint32_t code = info ? EVT_OK : EVT_ERROR_NOT_ENOUGH_MEMORY;
    uint32_t used;
    if (info && !all) {
        code = api->last_error();
    }
    while (code == EVT_OK) {
        if (!api->EvtNextChannelPath(all, EVT_CHANNELS_NAME_CHARS, info->name, &used)) {
            code = api->last_error();
        } else if (!each(self, info)) {
            break;
        } else {
            memset(info, 0, sizeof(*info));
        }
    }
    if (all) {
        api->EvtClose(all);
    }
    free(info);
    bool is_good = code == EVT_OK || code == EVT_ERROR_NO_MORE_ITEMS;
    return is_good || evt_api_fail(err, code, "cannot list channels");
}
