#include "support/evt_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etw/etw_text.h"
#include "platform/plat_clock.h"
#include "support/evt_sim_own.h"
#include "support/evt_sim_signal.h"

struct evt_sim_state evt_sim_state;

#ifdef _WIN32
static __thread uint32_t error_code;
#else
static _Thread_local uint32_t error_code;
#endif

int32_t evt_sim_fail(uint32_t code)
{
    error_code = code;
    return 0;
}

void *evt_sim_fail_handle(uint32_t code)
{
    error_code = code;
    plat_mutex_unlock(&evt_sim_state.mutex);
    return NULL;
}

void evt_sim_enter(void)
{
    plat_mutex_lock(&evt_sim_state.mutex);
}

int32_t evt_sim_leave(int32_t result)
{
    plat_mutex_unlock(&evt_sim_state.mutex);
    return result;
}

/* ---- events ---------------------------------------------------------------------------------- */

static const char *copy(const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    return text ? memcpy(malloc(size), text, size) : NULL;
}

struct evt_sim_event evt_sim_copy_event(const struct evt_sim_event *from)
{
    struct evt_sim_event event = *from;
    event.provider = copy(from->provider ? from->provider : "");
    event.computer = copy(from->computer ? from->computer : "SIM-PC");
    event.message = copy(from->message);
    for (size_t i = 0; i < event.data_count; i++) {
        event.data[i].name = copy(from->data[i].name);
        event.data[i].text = copy(from->data[i].text);
    }
    return event;
}

void evt_sim_free_event(struct evt_sim_event *event)
{
    free((void *)(uintptr_t)event->provider);
    free((void *)(uintptr_t)event->computer);
    free((void *)(uintptr_t)event->message);
    for (size_t i = 0; i < event->data_count; i++) {
        free((void *)(uintptr_t)event->data[i].name);
        free((void *)(uintptr_t)event->data[i].text);
    }
}

struct sim_channel *evt_sim_find(const char *name)
{
    for (size_t i = 0; i < evt_sim_state.channel_count; i++) {
        if (etw_text_same_name(evt_sim_state.channels[i].name, name)) {
            return &evt_sim_state.channels[i];
        }
    }
    return NULL;
}

struct sim_channel *evt_sim_find_wide(const evt_char *name)
{
    char text[NAME_BYTES];
    etw_text_decode(name, NAME_BYTES, text, sizeof(text));
    return evt_sim_find(text);
}

static void drop_first(struct sim_channel *channel, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        evt_sim_free_event(&channel->records[i].event);
    }
    channel->count -= count;
    memmove(channel->records, channel->records + count, channel->count * sizeof(struct sim_record));
}

uint64_t evt_sim_write(const char *name, const struct evt_sim_event *event)
{
    evt_sim_enter();
    struct sim_channel *channel = evt_sim_find(name);
    if (channel->count == channel->max_records) {
        drop_first(channel, 1);
    }
    struct sim_record *record = &channel->records[channel->count++];
    *record = (struct sim_record){.id = channel->next_id++, .event = evt_sim_copy_event(event)};
    record->event.time = event->time ? event->time : plat_now_filetime();
    uint64_t id = record->id;
    for (size_t i = 0; i < evt_sim_state.subscription_count; i++) {
        if (evt_sim_state.subscriptions[i]->channel == channel) {
            evt_sim_signal_raise(evt_sim_state.subscriptions[i]->signal);
        }
    }
    evt_sim_leave(0);
    return id;
}

void evt_sim_clear(const char *name)
{
    evt_sim_enter();
    struct sim_channel *channel = evt_sim_find(name);
    drop_first(channel, channel->count);
    evt_sim_leave(0);
}

void evt_sim_recreate(const char *name)
{
    evt_sim_clear(name);
    evt_sim_enter();
    evt_sim_find(name)->next_id = 1;
    evt_sim_find(name)->life++;
    evt_sim_leave(0);
}

void evt_sim_channel(const char *name, uint32_t type, size_t max_records)
{
    evt_sim_enter();
    struct sim_channel *channel = &evt_sim_state.channels[evt_sim_state.channel_count++];
    *channel = (struct sim_channel){.type = type, .max_records = max_records, .next_id = 1};
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    channel->records = calloc(max_records + 1, sizeof(struct sim_record));
    evt_sim_leave(0);
}

void evt_sim_set_denied(const char *name, bool denied)
{
    evt_sim_enter();
    evt_sim_find(name)->denied = denied;
    evt_sim_leave(0);
}

/* ---- handles --------------------------------------------------------------------------------- */

struct sim_handle *evt_sim_make(enum sim_kind kind, struct sim_channel *channel)
{
    struct sim_handle *handle = calloc(1, sizeof(*handle));
    handle->kind = kind;
    handle->channel = channel;
    evt_sim_state.handles++;
    return handle;
}

static int32_t close_handle(evt_handle h)
{
    struct sim_handle *handle = h;
    evt_sim_enter();
    for (size_t i = 0; i < evt_sim_state.subscription_count; i++) {
        if (evt_sim_state.subscriptions[i] == handle) {
            evt_sim_state.subscriptions[i] =
                evt_sim_state.subscriptions[--evt_sim_state.subscription_count];
        }
    }
    if (handle->kind == SIM_EVENT) {
        evt_sim_free_event(&handle->record.event);
    }
    free(handle->query);
    free(handle);
    evt_sim_state.handles--;
    return evt_sim_leave(1);
}

/* ---- the system ------------------------------------------------------------------------------ */

static uint32_t last_error(void)
{
    return error_code;
}

const struct evt_api *evt_sim_api(void)
{
    static const struct evt_api api = {.EvtSubscribe = evt_sim_subscribe,
        .EvtNext = evt_sim_next,
        .EvtRender = evt_sim_render,
        .EvtCreateRenderContext = evt_sim_create_context,
        .EvtCreateBookmark = evt_sim_create_bookmark,
        .EvtUpdateBookmark = evt_sim_update_bookmark,
        .EvtClose = close_handle,
        .EvtOpenChannelEnum = evt_sim_open_channels,
        .EvtNextChannelPath = evt_sim_next_channel,
        .EvtOpenLog = evt_sim_open_log,
        .EvtGetLogInfo = evt_sim_log_info,
        .EvtOpenChannelConfig = evt_sim_open_config,
        .EvtGetChannelConfigProperty = evt_sim_config_property,
        .EvtOpenPublisherMetadata = evt_sim_open_publisher,
        .EvtFormatMessage = evt_sim_format_message,
        .last_error = last_error,
        .locale = evt_sim_locale_find,
        .make_signal = evt_sim_signal_make,
        .raise_signal = evt_sim_signal_raise,
        .wait_signal = evt_sim_signal_wait,
        .close_signal = evt_sim_signal_close};
    return &api;
}

void evt_sim_start(void)
{
    memset(&evt_sim_state, 0, sizeof(evt_sim_state));
    plat_mutex_init(&evt_sim_state.mutex);
    evt_api_use(evt_sim_api());
}

size_t evt_sim_end(void)
{
    size_t left = evt_sim_state.handles;
    for (size_t i = 0; i < evt_sim_state.channel_count; i++) {
        drop_first(&evt_sim_state.channels[i], evt_sim_state.channels[i].count);
        free(evt_sim_state.channels[i].records);
    }
    evt_api_use(NULL);
    plat_mutex_fini(&evt_sim_state.mutex);
    return left;
}

void evt_sim_fail_next(uint32_t code, unsigned times)
{
    evt_sim_enter();
    evt_sim_state.fail_next = code;
    evt_sim_state.fail_times = times;
    evt_sim_leave(0);
}

void evt_sim_slow_render(uint32_t ms)
{
    evt_sim_state.slow_ms = ms;
}

void evt_sim_fail_render(uint64_t id)
{
    evt_sim_state.fail_render = id;
}

void evt_sim_wrong_values(bool wrong)
{
    evt_sim_state.wrong_values = wrong;
}

void evt_sim_refuse_publishers(uint32_t code)
{
    evt_sim_enter();
    evt_sim_state.publisher_code = code;
    evt_sim_leave(0);
}

size_t evt_sim_opened_publishers(void)
{
    return evt_sim_state.publishers;
}

uint32_t evt_sim_locale(void)
{
    return evt_sim_state.locale;
}

size_t evt_sim_subscriptions(void)
{
    evt_sim_enter();
    size_t count = evt_sim_state.subscribed;
    evt_sim_leave(0);
    return count;
}

const char *evt_sim_query(void)
{
    return evt_sim_state.query;
}
