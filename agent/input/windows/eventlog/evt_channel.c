#include "input/windows/eventlog/evt_channel.h"

#include <stdio.h>

#include "etw/etw_text.h"

enum { QUERY_BYTES = 16 * 1024 };

bool evt_channel_init(struct evt_channel *channel, const struct evt_rule *rule, struct span name)
{
    *channel = (struct evt_channel){.rule = rule, .batch = EVT_CHANNEL_BATCH};
    if (name.size >= sizeof(channel->name) ||
        !etw_text_encode(name, channel->wide, EVT_CHANNEL_NAME_CHARS, NULL)) {
        return false;
    }
    memcpy(channel->name, name.data, name.size);
    return true;
}

void evt_channel_close(struct evt_channel *channel)
{
    if (channel->results) {
        evt_api_get()->EvtClose(channel->results);
        channel->results = NULL;
    }
}

/* ---- the log --------------------------------------------------------------------------------- */

/* The records in a log. */
struct extent {
    uint64_t oldest;
    uint64_t count;
};

static bool get(evt_handle log, uint32_t property, uint64_t *ret_value)
{
    struct evt_variant value = {.type = 0};
    uint32_t used;
    if (!evt_api_get()->EvtGetLogInfo(log, property, sizeof(value), &value, &used)) {
        return false;
    }
    *ret_value = value.type ? value.value.u64 : 0; /* no value: the log is empty */
    return true;
}

static bool look(const struct evt_channel *channel, struct extent *ret_extent)
{
    evt_handle log = evt_api_get()->EvtOpenLog(NULL, channel->wide, EVT_OPEN_CHANNEL_PATH);
    bool good = log && get(log, EVT_LOG_OLDEST_RECORD_NUMBER, &ret_extent->oldest) &&
                get(log, EVT_LOG_NUMBER_OF_RECORDS, &ret_extent->count);
    if (log) {
        evt_api_get()->EvtClose(log);
    }
    return good;
}

/* ---- what is missing ------------------------------------------------------------------------- */

static bool takes_all(const struct evt_rule *rule)
{
    return !rule->query && !rule->ids.range_count && !rule->has_levels && !rule->providers.count &&
           !rule->max_age_ns && !evt_rule_is_narrowed(rule);
}

/* The log begins after the record read last, so the records in between are gone. With a query, it
 * is unknown how many of them it would have selected. */
static void lose(
    const struct evt_channel *channel, uint64_t oldest, struct evt_channel_loss *ret_loss)
{
    *ret_loss = (struct evt_channel_loss){.reason = "overwritten",
        .count = takes_all(channel->rule) ? oldest - channel->last - 1 : 0,
        .last_missing = oldest - 1};
}

/* Set ${ret_loss} from the records in the log. False: record `last` is not in the log, so no
 * bookmark can be used. */
static bool judge(struct evt_channel *channel, struct evt_channel_loss *ret_loss)
{
    struct extent extent;
    if (!look(channel, &extent)) {
        return true; /* unknown: the subscription may fail with the reason */
    }
    if (extent.count == 0) {
        channel->looks_at_first = true;
        return false;
    }
    if (extent.oldest > channel->last) {
        if (extent.oldest > channel->last + 1) {
            lose(channel, extent.oldest, ret_loss);
        }
        return false;
    }
    if (extent.oldest + extent.count - 1 < channel->last) {
        *ret_loss = (struct evt_channel_loss){.reason = "log_made_anew"};
        channel->last = 0;
        return false;
    }
    return true;
}

bool evt_channel_examine(struct evt_channel *channel)
{
    struct extent extent;
    uint64_t before = channel->newest;
    if (takes_all(channel->rule)) {
        return false;
    }
    channel->newest = channel->results && look(channel, &extent) && extent.count
                          ? extent.oldest + extent.count - 1
                          : 0;
    if (!channel->newest || before <= evt_channel_position(channel)) {
        return false;
    }
    channel->examined = before;
    return true;
}

uint64_t evt_channel_position(const struct evt_channel *channel)
{
    return channel->examined > channel->last ? channel->examined : channel->last;
}

/* ---- subscribing ----------------------------------------------------------------------------- */

static evt_handle make_bookmark(const struct evt_channel *channel)
{
    char text[EVT_CHANNEL_NAME_BYTES * 6 + 128];
    evt_char wide[sizeof(text)];
    char name[EVT_CHANNEL_NAME_BYTES * 6];
    size_t size = 0;
    for (const char *c = channel->name; *c; c++) {
        const char *special = *c == '&'    ? "&amp;"
                              : *c == '<'  ? "&lt;"
                              : *c == '\'' ? "&apos;"
                                           : NULL;
        size += (size_t)snprintf(
            name + size, sizeof(name) - size, special ? "%s" : "%.1s", special ? special : c);
    }
    name[size] = 0;
    int length = snprintf(text, sizeof(text),
        "<BookmarkList><Bookmark Channel='%s' RecordId='%llu' IsCurrent='true'/></BookmarkList>",
        name, (unsigned long long)channel->last);
    if (length < 0 || !etw_text_encode(span_make(text, (size_t)length), wide,
                          sizeof(wide) / sizeof(wide[0]), NULL)) {
        return NULL;
    }
    return evt_api_get()->EvtCreateBookmark(wide);
}

/* Returns 0, or the Win32 error. */
static uint32_t select_from(struct evt_channel *channel, evt_handle signal, evt_handle bookmark)
{
    const struct evt_api *api = evt_api_get();
    evt_char query[QUERY_BYTES];
    struct buf text;
    buf_init(&text, QUERY_BYTES);
    evt_rule_write_query(channel->rule, &text);
    bool good = !text.failed && etw_text_encode(buf_span(&text), query, QUERY_BYTES, NULL);
    buf_fini(&text);
    if (!good) {
        return EVT_ERROR_INVALID_QUERY;
    }
    channel->results = api->EvtSubscribe(NULL, signal, channel->wide, query, bookmark, NULL, NULL,
        bookmark ? EVT_SUBSCRIBE_START_AFTER_BOOKMARK | EVT_SUBSCRIBE_STRICT
                 : EVT_SUBSCRIBE_START_AT_OLDEST_RECORD | EVT_SUBSCRIBE_STRICT);
    return channel->results ? EVT_OK : api->last_error();
}

static uint32_t select_after(
    struct evt_channel *channel, evt_handle signal, struct evt_channel_loss *ret_loss)
{
    evt_handle bookmark = make_bookmark(channel);
    uint32_t code = bookmark ? select_from(channel, signal, bookmark) : evt_api_get()->last_error();
    if (bookmark) {
        evt_api_get()->EvtClose(bookmark);
    }
    if (code != EVT_ERROR_NOT_FOUND && code != EVT_ERROR_QUERY_RESULT_INVALID_POSITION &&
        code != EVT_ERROR_QUERY_RESULT_STALE) {
        return code;
    }
    /* The record has just left the log, or Windows does not find it: the query need not select it.
     * Reading from the oldest record misses nothing, and records that were read before are skipped
     * by their numbers. */
    if (judge(channel, ret_loss) && !ret_loss->reason && takes_all(channel->rule)) {
        *ret_loss = (struct evt_channel_loss){.reason = "bookmark_lost"};
    }
    return select_from(channel, signal, NULL);
}

bool evt_channel_subscribe(struct evt_channel *channel, evt_handle signal,
    enum evt_channel_start start, bool is_stale, struct evt_channel_loss *ret_loss,
    struct error *err)
{
    struct extent extent;
    *ret_loss = (struct evt_channel_loss){.reason = NULL};
    channel->last = evt_channel_position(channel);
    channel->examined = channel->newest = 0;
    if (channel->last == 0 && start == EVT_CHANNEL_NOW && look(channel, &extent) && extent.count) {
        channel->last = extent.oldest + extent.count - 1;
    }
    bool is_after = channel->last && judge(channel, ret_loss);
    uint32_t code = is_after ? select_after(channel, signal, ret_loss)
                             : select_from(channel, signal, NULL);
    if (code != EVT_OK) {
        return evt_api_fail(err, code, "channel %.200s", channel->name);
    }
    if (ret_loss->last_missing) {
        channel->last = ret_loss->last_missing;
    }
    if (is_stale && !ret_loss->reason) {
        *ret_loss = (struct evt_channel_loss){.reason = "stale"};
    }
    return true;
}

void evt_channel_look_at_first(
    struct evt_channel *channel, uint64_t id, struct evt_channel_loss *ret_loss)
{
    *ret_loss = (struct evt_channel_loss){.reason = NULL};
    if (!channel->looks_at_first) {
        return;
    }
    channel->looks_at_first = false;
    struct extent extent;
    if (id <= channel->last) {
        *ret_loss = (struct evt_channel_loss){.reason = "log_made_anew"};
        channel->last = 0;
    } else if (look(channel, &extent) && extent.count && extent.oldest > channel->last + 1) {
        lose(channel, extent.oldest, ret_loss);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

enum evt_channel_step evt_channel_next(struct evt_channel *channel,
    evt_handle ret_events[EVT_CHANNEL_BATCH], uint32_t *ret_count, struct error *err)
{
    const struct evt_api *api = evt_api_get();
    *ret_count = 0;
    if (api->EvtNext(channel->results, channel->batch, ret_events, 0, 0, ret_count) && *ret_count) {
        return EVT_CHANNEL_EVENTS;
    }
    uint32_t code = api->last_error();
    switch (code) {
    case EVT_OK:
    case EVT_ERROR_NO_MORE_ITEMS:
    case EVT_ERROR_TIMEOUT:
    case EVT_ERROR_INVALID_OPERATION: /* older systems return this when there is no event */
        return EVT_CHANNEL_NOTHING;
    case EVT_ERROR_QUERY_RESULT_STALE:
        evt_channel_close(channel);
        return EVT_CHANNEL_STALE;
    default:
        evt_channel_close(channel);
        if (code == EVT_ERROR_RPC_INVALID_BOUND && channel->batch > 1) {
            channel->batch /= 2; /* the events are too large for one call */
            return EVT_CHANNEL_SMALLER;
        }
        evt_api_fail(err, code, "channel %.200s", channel->name);
        return EVT_CHANNEL_FAILED;
    }
}
