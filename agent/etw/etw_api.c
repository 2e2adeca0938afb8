#include "etw/etw_api.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/*
 * The first caller fills the table: two callers at the same moment fill equal tables, and one of
 * them is kept.
 */
static struct etw_api system_api;
static atomic_int system_state; /* 0: empty, 1: being filled, 2: ready */
static _Atomic(const struct etw_api *) used_api;

const struct etw_api *etw_api_get(void)
{
    const struct etw_api *used = atomic_load(&used_api);
    if (used) {
        return used;
    }
    int empty = 0;
    if (atomic_compare_exchange_strong(&system_state, &empty, 1)) {
        etw_load(&system_api);
        atomic_store(&system_state, 2);
    }
    while (atomic_load(&system_state) != 2) {
        /* Another thread is resolving functions: microseconds, once per process. */
    }
    return &system_api;
}

void etw_api_use(const struct etw_api *api)
{
    atomic_store(&used_api, api);
}

bool etw_api_has_sessions(void)
{
    const struct etw_api *api = etw_api_get();
    return api->StartTraceW && api->ControlTraceW && api->EnableTraceEx2 && api->OpenTraceW &&
           api->ProcessTrace && api->CloseTrace;
}

/* winerror.h; what the codes mean for these calls: starttracew, controltracew, enabletraceex2 and
 * opentracew on learn.microsoft.com. */
static const struct {
    uint32_t code;
    const char *reason;
} reasons[] = {
    {ETW_ERROR_INVALID_FUNCTION, "the provider is not registered. is it installed and running?"},
    {ETW_ERROR_FILE_NOT_FOUND, "there is no such file. check the path"},
    {ETW_ERROR_PATH_NOT_FOUND, "the folder does not exist. make it first"},
    {ETW_ERROR_ACCESS_DENIED,
        "Windows does not allow it. run as administrator, or as a member of Performance Log Users"},
    {ETW_ERROR_INVALID_HANDLE, "the session has ended. check whether another program stopped it"},
    {ETW_ERROR_NOT_ENOUGH_MEMORY, "Windows has no memory for it. ask for fewer or smaller buffers"},
    {ETW_ERROR_OUTOFMEMORY, "Windows has no memory for it. ask for fewer or smaller buffers"},
    {ETW_ERROR_BAD_LENGTH, "Windows reports a wrong size. please report this"},
    {ETW_ERROR_NOT_SUPPORTED, "this version of Windows does not support it"},
    {ETW_ERROR_INVALID_PARAMETER, "Windows refuses the settings. try without unusual ones"},
    {ETW_ERROR_DISK_FULL, "the disk is full; Windows needs 200 MB of free space. free some"},
    {ETW_ERROR_CALL_NOT_IMPLEMENTED, "this version of Windows does not support it"},
    {ETW_ERROR_BAD_PATHNAME, "the file is in use, or its name is not valid. use another one"},
    {ETW_ERROR_ALREADY_EXISTS, "a session of this name or GUID runs already. stop it first"},
    {ETW_ERROR_PRIVILEGE_NOT_HELD,
        "a privilege is missing. run as administrator, or grant 'Profile system performance'"},
    {ETW_ERROR_NO_SYSTEM_RESOURCES,
        "every slot is taken: 64 sessions, 8 of them with kernel events, 8 per provider. "
        "`etwship sessions list` shows them"},
    {ETW_ERROR_TIMEOUT, "the provider did not answer in time"},
    {ETW_ERROR_LOG_FILE_FULL, "events arrive faster than they are read"},
    {ETW_ERROR_WMI_GUID_NOT_FOUND, "there is no provider with this GUID"},
    {ETW_ERROR_WMI_INSTANCE_NOT_FOUND, "no session of this name runs"},
    {ETW_ERROR_WMI_ALREADY_ENABLED, "it is in use already"},
};

const char *etw_api_reason(uint32_t code)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].code == code) {
            return reasons[i].reason;
        }
    }
    return "Windows refuses it";
}

bool etw_api_fail(struct error *err, uint32_t code, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    error_set(err, ERR_IO, "%s: %s (error %u)", what, etw_api_reason(code), code);
    if (err) {
        err->os_code = code;
    }
    return false;
}

bool etw_api_missing(struct error *err, const char *function)
{
    return error_set(err, ERR_UNSUPPORTED, "this system has no %s", function);
}
