#include "support/evt_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "etw/etw_text.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"
#include "support/evt_sim_signal.h"
#include "support/evt_sim_xml.h"

enum { MAX_CHANNELS = 64, NAME_BYTES = 256, QUERY_BYTES = 16 * 1024, XML_BYTES = 256 * 1024 };

struct record {
    uint64_t id;
    struct evt_sim_event event; /* with texts of its own */
};

struct channel {
    char name[NAME_BYTES];
    uint32_t type;
    size_t max_records;
    bool denied;
    uint64_t next_id;
    uint64_t life; /* of the log: another one after it was made anew */
    struct record *records;
    size_t count;
};

enum kind { RESULTS, EVENT, BOOKMARK, CONTEXT, CHANNELS, LOG, CONFIG, PUBLISHER };

struct handle {
    enum kind kind;
    struct channel *channel;
    uint64_t at; /* of results: the record that was taken last; of channels: the index */
    uint64_t life;
    bool strict;
    bool stale;
    evt_handle signal;
    char *query;          /* of results */
    struct record record; /* of an event; of a bookmark its id */
};

static struct sim {
    struct plat_mutex mutex;
    struct channel channels[MAX_CHANNELS];
    size_t channel_count;
    struct handle *subscriptions[MAX_CHANNELS * 4];
    size_t subscription_count;
    size_t handles;
    size_t subscribed;
    char query[QUERY_BYTES];
    uint32_t fail_next;
    uint32_t slow_ms;
    uint64_t fail_render;
    bool wrong_values;
    size_t publishers;
    uint32_t locale;
} sim;

#ifdef _WIN32
static __thread uint32_t error_code;
#else
static _Thread_local uint32_t error_code;
#endif

static int32_t fail(uint32_t code)
{
    error_code = code;
    return 0;
}

static void *fail_handle(uint32_t code)
{
    error_code = code;
    plat_mutex_unlock(&sim.mutex);
    return NULL;
}

static void enter(void)
{
    plat_mutex_lock(&sim.mutex);
}

static int32_t leave(int32_t result)
{
    plat_mutex_unlock(&sim.mutex);
    return result;
}

/* ---- events -------------------------------------------------------------------------------------------- */

static const char *copy(const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    return text ? memcpy(malloc(size), text, size) : NULL;
}

static struct evt_sim_event copy_event(const struct evt_sim_event *from)
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

static void free_event(struct evt_sim_event *event)
{
    free((void *)(uintptr_t)event->provider);
    free((void *)(uintptr_t)event->computer);
    free((void *)(uintptr_t)event->message);
    for (size_t i = 0; i < event->data_count; i++) {
        free((void *)(uintptr_t)event->data[i].name);
        free((void *)(uintptr_t)event->data[i].text);
    }
}

static struct channel *find(const char *name)
{
    for (size_t i = 0; i < sim.channel_count; i++) {
        if (etw_text_same_name(sim.channels[i].name, name)) {
            return &sim.channels[i];
        }
    }
    return NULL;
}

static struct channel *find_wide(const evt_char *name)
{
    char text[NAME_BYTES];
    etw_text_decode(name, NAME_BYTES, text, sizeof(text));
    return find(text);
}

static void drop_first(struct channel *channel, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free_event(&channel->records[i].event);
    }
    channel->count -= count;
    memmove(channel->records, channel->records + count, channel->count * sizeof(struct record));
}

uint64_t evt_sim_write(const char *name, const struct evt_sim_event *event)
{
    enter();
    struct channel *channel = find(name);
    if (channel->count == channel->max_records) {
        drop_first(channel, 1);
    }
    struct record *record = &channel->records[channel->count++];
    *record = (struct record){.id = channel->next_id++, .event = copy_event(event)};
    record->event.time = event->time ? event->time : plat_now_filetime();
    uint64_t id = record->id;
    for (size_t i = 0; i < sim.subscription_count; i++) {
        if (sim.subscriptions[i]->channel == channel) {
            evt_sim_signal_raise(sim.subscriptions[i]->signal);
        }
    }
    leave(0);
    return id;
}

void evt_sim_clear(const char *name)
{
    enter();
    struct channel *channel = find(name);
    drop_first(channel, channel->count);
    leave(0);
}

void evt_sim_recreate(const char *name)
{
    evt_sim_clear(name);
    enter();
    find(name)->next_id = 1;
    find(name)->life++;
    leave(0);
}

void evt_sim_channel(const char *name, uint32_t type, size_t max_records)
{
    enter();
    struct channel *channel = &sim.channels[sim.channel_count++];
    *channel = (struct channel){.type = type, .max_records = max_records, .next_id = 1};
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    channel->records = calloc(max_records + 1, sizeof(struct record));
    leave(0);
}

void evt_sim_set_denied(const char *name, bool denied)
{
    find(name)->denied = denied;
}

/* ---- handles ------------------------------------------------------------------------------------------- */

static struct handle *make(enum kind kind, struct channel *channel)
{
    struct handle *handle = calloc(1, sizeof(*handle));
    handle->kind = kind;
    handle->channel = channel;
    sim.handles++;
    return handle;
}

static int32_t close_handle(evt_handle h)
{
    struct handle *handle = h;
    enter();
    for (size_t i = 0; i < sim.subscription_count; i++) {
        if (sim.subscriptions[i] == handle) {
            sim.subscriptions[i] = sim.subscriptions[--sim.subscription_count];
        }
    }
    if (handle->kind == EVENT) {
        free_event(&handle->record.event);
    }
    free(handle->query);
    free(handle);
    sim.handles--;
    return leave(1);
}

static bool has(const struct channel *channel, uint64_t id)
{
    for (size_t i = 0; i < channel->count; i++) {
        if (channel->records[i].id == id) {
            return true;
        }
    }
    return false;
}

static evt_handle subscribe(evt_handle session, evt_handle signal, const evt_char *name,
    const evt_char *query, evt_handle bookmark, void *context, void *callback, uint32_t flags)
{
    enum { HOW = 3 };
    struct evt_sim_event nothing = {.provider = ""};
    bool valid;
    (void)session;
    (void)context;
    (void)callback;
    enter();
    struct channel *channel = find_wide(name);
    if (!channel) {
        return fail_handle(EVT_ERROR_CHANNEL_NOT_FOUND);
    }
    if (channel->denied) {
        return fail_handle(EVT_ERROR_ACCESS_DENIED);
    }
    if (channel->type >= EVT_CHANNEL_ANALYTIC) {
        return fail_handle(EVT_ERROR_NOT_SUPPORTED);
    }
    etw_text_decode(query, QUERY_BYTES, sim.query, sizeof(sim.query));
    evt_sim_selects(sim.query, &nothing, &valid);
    if (!valid) {
        return fail_handle(EVT_ERROR_INVALID_QUERY);
    }
    uint64_t at = 0;
    bool strict = flags & EVT_SUBSCRIBE_STRICT;
    if ((flags & HOW) == EVT_SUBSCRIBE_TO_FUTURE_EVENTS) {
        at = channel->next_id - 1;
    } else if ((flags & HOW) == EVT_SUBSCRIBE_START_AFTER_BOOKMARK) {
        at = bookmark ? ((struct handle *)bookmark)->record.id : 0;
        if (!bookmark || !has(channel, at)) {
            if (!bookmark || strict) {
                return fail_handle(bookmark ? EVT_ERROR_NOT_FOUND : EVT_ERROR_INVALID_PARAMETER);
            }
            at = 0;
        }
    }
    struct handle *handle = make(RESULTS, channel);
    handle->at = at ? at : (channel->count ? channel->records[0].id - 1 : channel->next_id - 1);
    handle->life = channel->life;
    handle->strict = strict;
    handle->signal = signal;
    handle->query = memcpy(malloc(sizeof(sim.query)), sim.query, sizeof(sim.query));
    sim.subscriptions[sim.subscription_count++] = handle;
    sim.subscribed++;
    plat_mutex_unlock(&sim.mutex);
    if (channel->count) {
        evt_sim_signal_raise(signal);
    }
    return handle;
}

/* Did records leave the log that the results had not come to? */
static bool has_lost(const struct handle *results)
{
    const struct channel *channel = results->channel;
    uint64_t oldest = channel->count ? channel->records[0].id : channel->next_id;
    return results->life != channel->life || oldest > results->at + 1;
}

static int32_t next(evt_handle handle, uint32_t size, evt_handle *ret_events, uint32_t timeout_ms,
    uint32_t flags, uint32_t *ret_count)
{
    struct handle *results = handle;
    bool valid;
    (void)timeout_ms;
    (void)flags;
    *ret_count = 0;
    enter();
    if (sim.fail_next) {
        uint32_t code = sim.fail_next;
        sim.fail_next = 0;
        return leave(fail(code));
    }
    results->stale |= results->strict && has_lost(results);
    if (results->stale) {
        return leave(fail(EVT_ERROR_QUERY_RESULT_STALE));
    }
    struct channel *channel = results->channel;
    uint64_t oldest = channel->count ? channel->records[0].id : 0;
    size_t from = results->at + 1 > oldest ? (size_t)(results->at + 1 - oldest) : 0;
    for (size_t i = from; i < channel->count && *ret_count < size; i++) {
        const struct record *record = &channel->records[i];
        results->at = record->id;
        if (evt_sim_selects(results->query, &record->event, &valid)) {
            struct handle *event = make(EVENT, channel);
            event->record.id = record->id;
            event->record.event = copy_event(&record->event);
            event->record.event.time = record->event.time;
            ret_events[(*ret_count)++] = event;
        }
    }
    return leave(*ret_count ? 1 : fail(EVT_ERROR_NO_MORE_ITEMS));
}

/* ---- rendering ----------------------------------------------------------------------------------------- */

static int32_t give_text(
    const char *text, uint32_t size, void *buffer, uint32_t *ret_used, uint32_t *ret_count)
{
    static evt_char wide[XML_BYTES];
    size_t units;
    if (!etw_text_encode(span_text(text), wide, XML_BYTES, &units)) {
        return fail(EVT_ERROR_INVALID_PARAMETER);
    }
    uint32_t bytes = (uint32_t)(units + 1) * 2;
    *ret_used = bytes;
    *ret_count = 0;
    if (bytes > size) {
        return fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    memcpy(buffer, wide, bytes);
    return 1;
}

static int32_t give_values(const struct record *record, uint32_t size, uint8_t *buffer,
    uint32_t *ret_used, uint32_t *ret_count)
{
    const struct evt_sim_event *e = &record->event;
    size_t used = e->data_count * sizeof(struct evt_variant);
    for (size_t i = 0; i < e->data_count; i++) {
        used += e->data[i].type == 1 ? 2 * strlen(e->data[i].text) + 2 : 0;
    }
    *ret_used = (uint32_t)used;
    *ret_count = (uint32_t)e->data_count;
    if (used > size) {
        return fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    struct evt_variant *variants = (void *)buffer;
    evt_char *text = (evt_char *)(void *)(variants + e->data_count);
    for (size_t i = 0; i < e->data_count; i++) {
        const struct evt_sim_data *data = &e->data[i];
        variants[i] = (struct evt_variant){.type = data->type};
        variants[i].value.u64 = data->number + (sim.wrong_values ? 1 : 0);
        if (data->type == 1) {
            size_t units;
            etw_text_encode(span_text(data->text), text, 2 * strlen(data->text) + 1, &units);
            variants[i].value.text = text;
            text += units + 1;
        }
    }
    return 1;
}

static int32_t render(evt_handle context, evt_handle fragment, uint32_t flags, uint32_t size,
    void *buffer, uint32_t *ret_used, uint32_t *ret_count)
{
    const struct handle *handle = fragment;
    struct buf out;
    int32_t good;
    if (sim.slow_ms) {
        plat_sleep_ms(sim.slow_ms);
    }
    enter();
    if (flags == EVT_RENDER_EVENT_VALUES) {
        good = context ? give_values(&handle->record, size, buffer, ret_used, ret_count)
                       : fail(EVT_ERROR_INVALID_PARAMETER);
        return leave(good);
    }
    if (flags == EVT_RENDER_EVENT_XML && handle->record.id == sim.fail_render) {
        return leave(fail(EVT_ERROR_INVALID_PARAMETER));
    }
    buf_init(&out, XML_BYTES);
    if (flags == EVT_RENDER_BOOKMARK) {
        buf_printf(&out,
            "<BookmarkList>\r\n  <Bookmark Channel='%s' RecordId='%llu' IsCurrent='true'/>\r\n"
            "</BookmarkList>",
            handle->channel->name, (unsigned long long)handle->record.id);
    } else {
        evt_sim_xml_write(&handle->record.event, handle->record.id, handle->channel->name, &out);
    }
    buf_add_byte(&out, 0);
    good = give_text((const char *)out.data, size, buffer, ret_used, ret_count);
    buf_fini(&out);
    return leave(good);
}

static evt_handle create_context(uint32_t count, const evt_char *const *paths, uint32_t flags)
{
    (void)count;
    (void)paths;
    (void)flags;
    enter();
    struct handle *handle = make(CONTEXT, NULL);
    leave(0);
    return handle;
}

static evt_handle create_bookmark(const evt_char *xml)
{
    char text[NAME_BYTES * 8];
    char name[NAME_BYTES];
    unsigned long long id = 0;
    enter();
    struct handle *handle = make(BOOKMARK, NULL);
    if (xml) {
        etw_text_decode(xml, sizeof(text), text, sizeof(text));
        if (sscanf(text,
                "<BookmarkList><Bookmark Channel='%255[^']' RecordId='%llu' IsCurrent='true'/>",
                name, &id) != 2 ||
            !find(name)) {
            free(handle);
            sim.handles--;
            return fail_handle(EVT_ERROR_INVALID_PARAMETER);
        }
        handle->channel = find(name);
        handle->record.id = id;
    }
    leave(0);
    return handle;
}

static int32_t update_bookmark(evt_handle bookmark, evt_handle event)
{
    struct handle *to = bookmark;
    const struct handle *from = event;
    to->channel = from->channel;
    to->record.id = from->record.id;
    return 1;
}

/* ---- channels and logs --------------------------------------------------------------------------------- */

static evt_handle open_channels(evt_handle session, uint32_t flags)
{
    (void)session;
    (void)flags;
    enter();
    struct handle *handle = make(CHANNELS, NULL);
    leave(0);
    return handle;
}

static int32_t next_channel(evt_handle channels, uint32_t size, evt_char *path, uint32_t *ret_used)
{
    struct handle *handle = channels;
    size_t units;
    enter();
    if (handle->at == sim.channel_count) {
        return leave(fail(EVT_ERROR_NO_MORE_ITEMS));
    }
    const char *name = sim.channels[handle->at].name;
    *ret_used = (uint32_t)strlen(name) + 1;
    if (!etw_text_encode(span_text(name), path, size, &units)) {
        return leave(fail(EVT_ERROR_INSUFFICIENT_BUFFER));
    }
    handle->at++;
    return leave(1);
}

static evt_handle open_of(enum kind kind, const evt_char *path)
{
    enter();
    struct channel *channel = find_wide(path);
    if (!channel) {
        return fail_handle(EVT_ERROR_CHANNEL_NOT_FOUND);
    }
    if (channel->denied && kind == LOG) {
        return fail_handle(EVT_ERROR_ACCESS_DENIED);
    }
    struct handle *handle = make(kind, channel);
    leave(0);
    return handle;
}

static evt_handle open_log(evt_handle session, const evt_char *path, uint32_t flags)
{
    (void)session;
    (void)flags;
    return open_of(LOG, path);
}

static evt_handle open_config(evt_handle session, const evt_char *path, uint32_t flags)
{
    (void)session;
    (void)flags;
    return open_of(CONFIG, path);
}

static int32_t log_info(
    evt_handle log, uint32_t property, uint32_t size, struct evt_variant *value, uint32_t *ret_used)
{
    const struct channel *channel = ((struct handle *)log)->channel;
    *ret_used = sizeof(*value);
    if (size < sizeof(*value)) {
        return fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    enter();
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
    return leave(1);
}

static int32_t config_property(evt_handle config, uint32_t property, uint32_t flags, uint32_t size,
    struct evt_variant *value, uint32_t *ret_used)
{
    const struct channel *channel = ((struct handle *)config)->channel;
    (void)flags;
    *ret_used = sizeof(*value);
    if (size < sizeof(*value)) {
        return fail(EVT_ERROR_INSUFFICIENT_BUFFER);
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

/* ---- messages ------------------------------------------------------------------------------------------ */

/* Providers whose name begins with `Missing` are not registered. */
static evt_handle open_publisher(evt_handle session, const evt_char *publisher,
    const evt_char *file, uint32_t locale, uint32_t flags)
{
    (void)session;
    (void)file;
    (void)flags;
    enter();
    sim.publishers++;
    sim.locale = locale;
    if (publisher[0] == 'M' && publisher[1] == 'i' && publisher[2] == 's') {
        return fail_handle(EVT_ERROR_PUBLISHER_NOT_FOUND);
    }
    struct handle *handle = make(PUBLISHER, NULL);
    leave(0);
    return handle;
}

static int32_t format_message(evt_handle publisher, evt_handle event, uint32_t message,
    uint32_t value_count, const struct evt_variant *values, uint32_t flags, uint32_t size,
    evt_char *buffer, uint32_t *ret_used)
{
    const struct handle *handle = event;
    size_t units = 0;
    (void)publisher, (void)message, (void)value_count, (void)values;
    if (flags != EVT_FORMAT_MESSAGE_EVENT) {
        return fail(EVT_ERROR_INVALID_PARAMETER);
    }
    if (!handle->record.event.message) {
        return fail(EVT_ERROR_MESSAGE_NOT_FOUND);
    }
    *ret_used = (uint32_t)strlen(handle->record.event.message) + 1;
    if (!etw_text_encode(span_text(handle->record.event.message), buffer, size, &units)) {
        return fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    return 1;
}

/* ---- the system ---------------------------------------------------------------------------------------- */

static uint32_t last_error(void)
{
    return error_code;
}

const struct evt_api *evt_sim_api(void)
{
    static const struct evt_api api = {.EvtSubscribe = subscribe,
        .EvtNext = next,
        .EvtRender = render,
        .EvtCreateRenderContext = create_context,
        .EvtCreateBookmark = create_bookmark,
        .EvtUpdateBookmark = update_bookmark,
        .EvtClose = close_handle,
        .EvtOpenChannelEnum = open_channels,
        .EvtNextChannelPath = next_channel,
        .EvtOpenLog = open_log,
        .EvtGetLogInfo = log_info,
        .EvtOpenChannelConfig = open_config,
        .EvtGetChannelConfigProperty = config_property,
        .EvtOpenPublisherMetadata = open_publisher,
        .EvtFormatMessage = format_message,
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
    memset(&sim, 0, sizeof(sim));
    plat_mutex_init(&sim.mutex);
    evt_api_use(evt_sim_api());
}

size_t evt_sim_end(void)
{
    size_t left = sim.handles;
    for (size_t i = 0; i < sim.channel_count; i++) {
        drop_first(&sim.channels[i], sim.channels[i].count);
        free(sim.channels[i].records);
    }
    evt_api_use(NULL);
    plat_mutex_fini(&sim.mutex);
    return left;
}

void evt_sim_fail_next(uint32_t code)
{
    enter();
    sim.fail_next = code;
    leave(0);
}

void evt_sim_slow_render(uint32_t ms)
{
    sim.slow_ms = ms;
}

void evt_sim_fail_render(uint64_t id)
{
    sim.fail_render = id;
}

void evt_sim_wrong_values(bool wrong)
{
    sim.wrong_values = wrong;
}

size_t evt_sim_opened_publishers(void)
{
    return sim.publishers;
}

uint32_t evt_sim_locale(void)
{
    return sim.locale;
}

size_t evt_sim_subscriptions(void)
{
    return sim.subscribed;
}

const char *evt_sim_query(void)
{
    return sim.query;
}
