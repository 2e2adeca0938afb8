#include "service/service_api.h"

#include <stdarg.h>
#include <stdio.h>

static struct service_api system_api;
static bool is_loaded;
static const struct service_api *used_api;

const struct service_api *service_api_get(void)
{
    if (used_api) {
        return used_api;
    }
    if (!is_loaded) {
        service_load(&system_api);
        is_loaded = true;
    }
    return &system_api;
}

void service_api_use(const struct service_api *api)
{
    used_api = api;
}

bool service_api_has_services(void)
{
    return service_api_get()->connect != NULL;
}

/* What the codes mean for these calls: createservicew, startservicew, controlservice and
 * deleteservice on learn.microsoft.com. */
static const struct {
    uint32_t code;
    const char *reason;
} reasons[] = {
    {SERVICE_E_ACCESS_DENIED, "Windows does not allow it. run as administrator"},
    {SERVICE_E_NOT_ENOUGH_MEMORY, "out of memory"},
    {SERVICE_E_REQUEST_TIMEOUT,
        "its process does not answer Windows. check whether another program has its name"},
    {SERVICE_E_INVALID_ACCOUNT, "the account does not exist or needs a password. use an account of "
                                "`service install --account`"},
    {SERVICE_E_DISABLED, "it is disabled. `sc config etwship start= delayed-auto` enables it"},
    {SERVICE_E_DOES_NOT_EXIST, "it is not installed. `etwship service install` installs it"},
    {SERVICE_E_CANNOT_ACCEPT_CTRL, "it is busy starting or stopping. try again in a moment"},
    {SERVICE_E_PROCESS_ABORTED,
        "its process has ended without a report. see its log and the Event Log"},
    {SERVICE_E_LOGON_FAILED, "its account may not log on as a service. install it again"},
    {SERVICE_E_MARKED_FOR_DELETE,
        "it is being removed, and a program still has it open. close windows that show services"},
    {SERVICE_E_EXISTS, "it is installed already. `etwship service uninstall` removes it"},
    {SERVICE_E_INCOMPATIBLE_PRIVILEGE, "its account lacks a required privilege. install it again"},
};

static const char *reason_of(uint32_t code)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].code == code) {
            return reasons[i].reason;
        }
    }
    return "Windows refuses it";
}

bool service_api_fail(struct error *err, uint32_t code, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    error_set(err, ERR_IO, "%s: %s (error %u)", what, reason_of(code), code);
    if (err) {
        err->os_code = code;
    }
    return false;
}
