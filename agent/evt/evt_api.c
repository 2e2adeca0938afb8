#include "evt/evt_api.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/* The first caller fills the table, as in etw_api.c. */
static struct evt_api system_api;
static atomic_int system_state; /* 0: empty, 1: being filled, 2: ready */
static _Atomic(const struct evt_api *) used_api;

const struct evt_api *evt_api_get(void)
{
    const struct evt_api *used = atomic_load(&used_api);
    if (used) {
        return used;
    }
    int empty = 0;
    if (atomic_compare_exchange_strong(&system_state, &empty, 1)) {
        evt_load(&system_api);
        atomic_store(&system_state, 2);
    }
    while (atomic_load(&system_state) != 2) {
        /* Another thread is resolving functions: microseconds, once per process. */
    }
    return &system_api;
}

void evt_api_use(const struct evt_api *api)
{
    atomic_store(&used_api, api);
}

bool evt_api_is_there(void)
{
    const struct evt_api *api = evt_api_get();
    return api->EvtSubscribe && api->EvtNext && api->EvtRender && api->EvtCreateBookmark &&
           api->EvtUpdateBookmark && api->EvtClose && api->EvtOpenLog && api->EvtGetLogInfo &&
           api->make_signal;
}

/* winerror.h; what the codes mean for these calls: evtsubscribe, evtnext and evtopenchannelenum on
 * learn.microsoft.com. */
static const struct {
    uint32_t code;
    const char *reason;
} reasons[] = {
    {EVT_ERROR_ACCESS_DENIED,
        "Windows does not allow it. run as administrator, or as a member of Event Log Readers"},
    {EVT_ERROR_INVALID_HANDLE, "the subscription is gone"},
    {EVT_ERROR_NOT_ENOUGH_MEMORY, "Windows has no memory for it"},
    {EVT_ERROR_NOT_SUPPORTED, "analytic and debug channels cannot be subscribed to"},
    {EVT_ERROR_INVALID_PARAMETER, "Windows rejects the settings"},
    {EVT_ERROR_NOT_FOUND, "the bookmarked record is no longer in the log"},
    {EVT_ERROR_RPC_UNAVAILABLE, "the service EventLog is not running. start it"},
    {EVT_ERROR_RPC_FAILED, "the service EventLog does not answer"},
    {EVT_ERROR_INVALID_CHANNEL_PATH,
        "this is not the name of a channel. `etwship eventlog list` has all"},
    {EVT_ERROR_INVALID_QUERY,
        "Windows rejects the query: it supports only a part of XPath 1.0, and at most 22 terms"},
    {EVT_ERROR_PUBLISHER_NOT_FOUND,
        "the program that wrote them is not registered on this machine"},
    {EVT_ERROR_MESSAGE_NOT_FOUND, "its program files do not have the text"},
    {EVT_ERROR_MESSAGE_ID_NOT_FOUND, "its program files do not have the text"},
    {EVT_ERROR_CHANNEL_NOT_FOUND, "there is no such channel. `etwship eventlog list` has all"},
    {EVT_ERROR_QUERY_RESULT_STALE, "records are missing: they were overwritten or cleared"},
    {EVT_ERROR_QUERY_RESULT_INVALID_POSITION, "the bookmarked record is no longer in the log"},
    {EVT_ERROR_PUBLISHER_DISABLED,
        "the channel is disabled. `wevtutil sl NAME /e:true` enables it"},
};

const char *evt_api_reason(uint32_t code)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].code == code) {
            return reasons[i].reason;
        }
    }
    return "Windows refuses it";
}

bool evt_api_fail(struct error *err, uint32_t code, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    error_set(err, ERR_IO, "%s: %s (error %lu)", what, evt_api_reason(code), (unsigned long)code);
    if (err) {
        err->os_code = code;
    }
    return false;
}
