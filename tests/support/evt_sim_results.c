#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etw/etw_text.h"
#include "support/evt_sim_own.h"
#include "support/evt_sim_signal.h"

/* Subscriptions of the simulated Event Log, their results, and bookmarks. */

static bool has(const struct sim_channel *channel, uint64_t id)
{
    for (size_t i = 0; i < channel->count; i++) {
        if (channel->records[i].id == id) {
            return true;
        }
    }
    return false;
}

evt_handle evt_sim_subscribe(evt_handle session, evt_handle signal, const evt_char *name,
    const evt_char *query, evt_handle bookmark, void *context, void *callback, uint32_t flags)
{
    enum { HOW = 3 };
    struct evt_sim_event nothing = {.provider = ""};
    bool valid;
    (void)session;
    (void)context;
    (void)callback;
    evt_sim_enter();
    struct sim_channel *channel = evt_sim_find_wide(name);
    if (!channel) {
        return evt_sim_fail_handle(EVT_ERROR_CHANNEL_NOT_FOUND);
    }
    if (channel->denied) {
        return evt_sim_fail_handle(EVT_ERROR_ACCESS_DENIED);
    }
    if (channel->type >= EVT_CHANNEL_ANALYTIC) {
        return evt_sim_fail_handle(EVT_ERROR_NOT_SUPPORTED);
    }
    etw_text_decode(query, QUERY_BYTES, evt_sim_state.query, sizeof(evt_sim_state.query));
    evt_sim_selects(evt_sim_state.query, &nothing, &valid);
    if (!valid) {
        return evt_sim_fail_handle(EVT_ERROR_INVALID_QUERY);
    }
    uint64_t at = 0;
    bool strict = flags & EVT_SUBSCRIBE_STRICT;
    if ((flags & HOW) == EVT_SUBSCRIBE_TO_FUTURE_EVENTS) {
        at = channel->next_id - 1;
    } else if ((flags & HOW) == EVT_SUBSCRIBE_START_AFTER_BOOKMARK) {
        at = bookmark ? ((struct sim_handle *)bookmark)->record.id : 0;
        if (!bookmark || !has(channel, at)) {
            if (!bookmark || strict) {
                return evt_sim_fail_handle(
                    bookmark ? EVT_ERROR_NOT_FOUND : EVT_ERROR_INVALID_PARAMETER);
            }
            at = 0;
        }
    }
    struct sim_handle *handle = evt_sim_make(SIM_RESULTS, channel);
    handle->at = at ? at : (channel->count ? channel->records[0].id - 1 : channel->next_id - 1);
    handle->life = channel->life;
    handle->strict = strict;
    handle->signal = signal;
    handle->query = memcpy(
        malloc(sizeof(evt_sim_state.query)), evt_sim_state.query, sizeof(evt_sim_state.query));
    evt_sim_state.subscriptions[evt_sim_state.subscription_count++] = handle;
    evt_sim_state.subscribed++;
    plat_mutex_unlock(&evt_sim_state.mutex);
    if (channel->count) {
        evt_sim_signal_raise(signal);
    }
    return handle;
}

/* True if records left the log before the results reached them. */
static bool has_lost(const struct sim_handle *results)
{
    const struct sim_channel *channel = results->channel;
    uint64_t oldest = channel->count ? channel->records[0].id : channel->next_id;
    return results->life != channel->life || oldest > results->at + 1;
}

int32_t evt_sim_next(evt_handle handle, uint32_t size, evt_handle *ret_events, uint32_t timeout_ms,
    uint32_t flags, uint32_t *ret_count)
{
    struct sim_handle *results = handle;
    bool valid;
    (void)timeout_ms;
    (void)flags;
    *ret_count = 0;
    evt_sim_enter();
    if (evt_sim_state.fail_times) {
        evt_sim_state.fail_times--;
        return evt_sim_leave(evt_sim_fail(evt_sim_state.fail_next));
    }
    results->stale |= results->strict && has_lost(results);
    if (results->stale) {
        return evt_sim_leave(evt_sim_fail(EVT_ERROR_QUERY_RESULT_STALE));
    }
    struct sim_channel *channel = results->channel;
    uint64_t oldest = channel->count ? channel->records[0].id : 0;
    size_t from = results->at + 1 > oldest ? (size_t)(results->at + 1 - oldest) : 0;
    for (size_t i = from; i < channel->count && *ret_count < size; i++) {
        const struct sim_record *record = &channel->records[i];
        results->at = record->id;
        if (evt_sim_selects(results->query, &record->event, &valid)) {
            struct sim_handle *event = evt_sim_make(SIM_EVENT, channel);
            event->record.id = record->id;
            event->record.event = evt_sim_copy_event(&record->event);
            event->record.event.time = record->event.time;
            ret_events[(*ret_count)++] = event;
        }
    }
    return evt_sim_leave(*ret_count ? 1 : evt_sim_fail(EVT_ERROR_NO_MORE_ITEMS));
}

/* ---- bookmarks ------------------------------------------------------------------------------- */

evt_handle evt_sim_create_bookmark(const evt_char *xml)
{
    char text[NAME_BYTES * 8];
    char name[NAME_BYTES];
    unsigned long long id = 0;
    evt_sim_enter();
    struct sim_handle *handle = evt_sim_make(SIM_BOOKMARK, NULL);
    if (xml) {
        etw_text_decode(xml, sizeof(text), text, sizeof(text));
        if (sscanf(text,
                "<BookmarkList><Bookmark Channel='%255[^']' RecordId='%llu' IsCurrent='true'/>",
                name, &id) != 2 ||
            !evt_sim_find(name)) {
            free(handle);
            evt_sim_state.handles--;
            return evt_sim_fail_handle(EVT_ERROR_INVALID_PARAMETER);
        }
        handle->channel = evt_sim_find(name);
        handle->record.id = id;
    }
    evt_sim_leave(0);
    return handle;
}

int32_t evt_sim_update_bookmark(evt_handle bookmark, evt_handle event)
{
    struct sim_handle *to = bookmark;
    const struct sim_handle *from = event;
    to->channel = from->channel;
    to->record.id = from->record.id;
    return 1;
}
