#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "platform/plat_clock.h"
#include "platform/windows/plat_wide.h"
#include "service/windows/service_own.h"

/*
 * A handle of the SCM with the buffer of its notification: the buffer stays in use until the
 * notification or until the handle is closed, so it must not be on the stack. The notification runs
 * on the requesting thread while that waits (NotifyServiceStatusChangeW).
 */
struct handle {
    SC_HANDLE sc;
    SERVICE_NOTIFYW notify;
    bool awaits;
};

static uint32_t wrap(SC_HANDLE sc, void **ret_handle)
{
    struct handle *handle = sc ? calloc(1, sizeof(*handle)) : NULL;
    uint32_t code = !sc ? GetLastError() : !handle ? ERROR_NOT_ENOUGH_MEMORY : ERROR_SUCCESS;
    if (handle) {
        handle->sc = sc;
        *ret_handle = handle;
    } else if (sc) {
        CloseServiceHandle(sc);
    }
    return code;
}

static SC_HANDLE sc_of(void *handle)
{
    return ((struct handle *)handle)->sc;
}

static uint32_t code_of(BOOL ok)
{
    return ok ? ERROR_SUCCESS : GetLastError();
}

static void close_handle(void *self)
{
    struct handle *handle = self;
    CloseServiceHandle(handle->sc);
    SleepEx(0, TRUE); /* deliver pending notifications */
    free(handle);
}

static uint32_t connect_manager(bool creates, void **ret_manager)
{
    DWORD access = SC_MANAGER_CONNECT | (creates ? SC_MANAGER_CREATE_SERVICE : 0);
    return wrap(OpenSCManagerW(NULL, NULL, access), ret_manager);
}

static DWORD start_type(const struct service_plan *plan)
{
    static const DWORD types[] = {[SERVICE_START_DELAYED] = SERVICE_AUTO_START,
        [SERVICE_START_AUTO] = SERVICE_AUTO_START,
        [SERVICE_START_DEMAND] = SERVICE_DEMAND_START,
        [SERVICE_START_DISABLED] = SERVICE_DISABLED};
    return types[plan->start];
}

static uint32_t create(void *manager, const struct service_plan *plan,
    const struct service_logon *logon, void **ret_service)
{
    wchar_t *name = plat_wide_text(plan->name, NULL);
    wchar_t *title = plat_wide_text(plan->title, NULL);
    wchar_t *command = plat_wide_text((const char *)plan->command.data, NULL);
    wchar_t *account = plat_wide_text(logon->account, NULL);
    wchar_t *password = logon->password ? plat_wide_text(logon->password, NULL) : NULL;
    uint32_t code = ERROR_NOT_ENOUGH_MEMORY;
    if (name && title && command && account && (password || !logon->password)) {
        code = wrap(CreateServiceW(sc_of(manager), name, title, SERVICE_ALL_ACCESS,
                        SERVICE_WIN32_OWN_PROCESS, start_type(plan), SERVICE_ERROR_NORMAL, command,
                        NULL, NULL, NULL, account, password),
            ret_service);
    }
    free(password);
    free(account);
    free(command);
    free(title);
    free(name);
    return code;
}

static uint32_t change(
    void *service, const struct service_plan *plan, const struct service_logon *logon)
{
    wchar_t *command = plat_wide_text((const char *)plan->command.data, NULL);
    wchar_t *account = logon ? plat_wide_text(logon->account, NULL) : NULL;
    wchar_t *password = logon && logon->password ? plat_wide_text(logon->password, NULL) : NULL;
    uint32_t code = ERROR_NOT_ENOUGH_MEMORY;
    if (command && (account || !logon) && (password || !logon || !logon->password)) {
        code = code_of(ChangeServiceConfigW(sc_of(service), SERVICE_NO_CHANGE, start_type(plan),
            SERVICE_NO_CHANGE, command, NULL, NULL, NULL, account, password, NULL));
    }
    free(password);
    free(account);
    free(command);
    return code;
}

static uint32_t open_service(void *manager, const char *name, uint32_t access, void **ret_service)
{
    wchar_t *wide = plat_wide_text(name, NULL);
    uint32_t code = wide ? wrap(OpenServiceW(sc_of(manager), wide, access), ret_service)
                         : ERROR_NOT_ENOUGH_MEMORY;
    free(wide);
    return code;
}

/* ---- settings -------------------------------------------------------------------------------- */

static uint32_t set(void *service, DWORD level, void *info)
{
    return code_of(ChangeServiceConfig2W(sc_of(service), level, info));
}

static uint32_t set_description(void *service, const struct service_plan *plan)
{
    SERVICE_DESCRIPTIONW info = {.lpDescription = plat_wide_text(plan->description, NULL)};
    uint32_t code = info.lpDescription ? set(service, SERVICE_CONFIG_DESCRIPTION, &info)
                                       : ERROR_NOT_ENOUGH_MEMORY;
    free(info.lpDescription);
    return code;
}

static uint32_t set_recovery(void *service, const struct service_plan *plan)
{
    SC_ACTION *actions = calloc(plan->restart_count, sizeof(*actions));
    if (!actions) {
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    for (size_t i = 0; i < plan->restart_count; i++) {
        actions[i] = (SC_ACTION){.Type = SC_ACTION_RESTART, .Delay = plan->restart_ms[i]};
    }
    SERVICE_FAILURE_ACTIONSW info = {.dwResetPeriod = plan->reset_s,
        .cActions = (DWORD)plan->restart_count,
        .lpsaActions = actions};
    uint32_t code = set(service, SERVICE_CONFIG_FAILURE_ACTIONS, &info);
    free(actions);
    return code;
}

/* A list of texts, one after the other, and an empty one at its end. */
static uint32_t set_privileges(void *service, const struct service_plan *plan)
{
    enum { MAX_UNITS = 512 };
    wchar_t list[MAX_UNITS] = {0};
    size_t at = 0;
    for (size_t i = 0; plan->privileges[i]; i++) {
        size_t length = strlen(plan->privileges[i]);
        if (length + 2 > MAX_UNITS - at) {
            return ERROR_INSUFFICIENT_BUFFER;
        }
        for (size_t k = 0; k < length; k++) {
            list[at++] = (wchar_t)plan->privileges[i][k];
        }
        at++;
    }
    SERVICE_REQUIRED_PRIVILEGES_INFOW info = {.pmszRequiredPrivileges = list};
    return set(service, SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &info);
}

static uint32_t configure(
    void *service, enum service_setting setting, const struct service_plan *plan)
{
    SERVICE_DELAYED_AUTO_START_INFO delayed = {
        .fDelayedAutostart = plan->start == SERVICE_START_DELAYED};
    SERVICE_FAILURE_ACTIONS_FLAG flag = {.fFailureActionsOnNonCrashFailures = TRUE};
    SERVICE_SID_INFO sid = {.dwServiceSidType = SERVICE_SID_TYPE_UNRESTRICTED};
    SERVICE_PRESHUTDOWN_INFO preshutdown = {.dwPreshutdownTimeout = plan->preshutdown_ms};
    switch (setting) {
    case SERVICE_SETTING_DESCRIPTION:
        return set_description(service, plan);
    case SERVICE_SETTING_DELAYED_START:
        /* Only automatic starts can be delayed. */
        return start_type(plan) != SERVICE_AUTO_START
                   ? ERROR_SUCCESS
                   : set(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed);
    case SERVICE_SETTING_RECOVERY:
        return set_recovery(service, plan);
    case SERVICE_SETTING_RECOVERY_FLAG:
        return set(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &flag);
    case SERVICE_SETTING_SID:
        return set(service, SERVICE_CONFIG_SERVICE_SID_INFO, &sid);
    case SERVICE_SETTING_PRIVILEGES:
        return set_privileges(service, plan);
    case SERVICE_SETTING_PRESHUTDOWN:
        return set(service, SERVICE_CONFIG_PRESHUTDOWN_INFO, &preshutdown);
    case SERVICE_SETTING_COUNT:
        break;
    }
    return ERROR_INVALID_LEVEL;
}

/* ---- control --------------------------------------------------------------------------------- */

static uint32_t start(void *service)
{
    return code_of(StartServiceW(sc_of(service), 0, NULL));
}

static uint32_t stop(void *service)
{
    SERVICE_STATUS status;
    return code_of(ControlService(sc_of(service), SERVICE_CONTROL_STOP, &status));
}

static uint32_t reload(void *service)
{
    SERVICE_STATUS status;
    return code_of(ControlService(sc_of(service), SERVICE_CONTROL_PARAMCHANGE, &status));
}

static uint32_t remove_service(void *service)
{
    return code_of(DeleteService(sc_of(service)));
}

static uint32_t query(void *service, struct service_status *ret_status)
{
    SERVICE_STATUS_PROCESS status;
    DWORD bytes;
    if (!QueryServiceStatusEx(
            sc_of(service), SC_STATUS_PROCESS_INFO, (BYTE *)&status, sizeof(status), &bytes)) {
        return GetLastError();
    }
    *ret_status = (struct service_status){.state = status.dwCurrentState,
        .accepts = status.dwControlsAccepted,
        .exit_code = status.dwWin32ExitCode,
        .specific_code = status.dwServiceSpecificExitCode,
        .checkpoint = status.dwCheckPoint,
        .wait_hint_ms = status.dwWaitHint,
        .process_id = status.dwProcessId};
    return ERROR_SUCCESS;
}

static bool is_delayed(void *service)
{
    SERVICE_DELAYED_AUTO_START_INFO info;
    DWORD bytes;
    return QueryServiceConfig2W(sc_of(service), SERVICE_CONFIG_DELAYED_AUTO_START_INFO,
               (BYTE *)&info, sizeof(info), &bytes) &&
           info.fDelayedAutostart;
}

static uint32_t query_config(void *service, struct service_config *ret_config)
{
    enum { MAX_BYTES = 8192 }; /* maximum size for QueryServiceConfigW */
    QUERY_SERVICE_CONFIGW *found = malloc(MAX_BYTES);
    DWORD bytes;
    if (!found) {
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    uint32_t code = code_of(QueryServiceConfigW(sc_of(service), found, MAX_BYTES, &bytes));
    if (!code) {
        const wchar_t *account = found->lpServiceStartName ? found->lpServiceStartName : L"";
        struct service_config config = {.is_automatic = found->dwStartType == SERVICE_AUTO_START,
            .is_disabled = found->dwStartType == SERVICE_DISABLED,
            .is_delayed = is_delayed(service),
            .command = plat_wide_to_utf8(found->lpBinaryPathName),
            .account = plat_wide_to_utf8(account)};
        if (config.command && config.account) {
            *ret_config = config;
        } else {
            free(config.command);
            free(config.account);
            code = ERROR_NOT_ENOUGH_MEMORY;
        }
    }
    free(found);
    return code;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void CALLBACK on_change(void *parameter)
{
    SERVICE_NOTIFYW *notify = parameter;
    ((struct handle *)notify->pContext)->awaits = false;
}

static uint32_t await_change(void *service, uint32_t state, uint32_t timeout_ms)
{
    enum { ALL_STATES = 0x7f, UNTOLD_MS = 250 };
    struct handle *handle = service;
    if (!handle->awaits) {
        handle->notify = (SERVICE_NOTIFYW){.dwVersion = SERVICE_NOTIFY_STATUS_CHANGE,
            .pfnNotifyCallback = on_change,
            .pContext = handle};
        DWORD code = NotifyServiceStatusChangeW(
            handle->sc, ALL_STATES & ~(1U << (state - 1)), &handle->notify);
        if (code != ERROR_SUCCESS) {
            /* The SCM's notifications are late, or missing for a service that is being removed. */
            SleepEx(timeout_ms < UNTOLD_MS ? timeout_ms : UNTOLD_MS, TRUE);
            return ERROR_SUCCESS;
        }
        handle->awaits = true;
    }
    return SleepEx(timeout_ms, TRUE) == WAIT_IO_COMPLETION ? ERROR_SUCCESS : WAIT_TIMEOUT;
}

static uint32_t open_process(uint32_t id, void **ret_process)
{
    *ret_process = OpenProcess(SYNCHRONIZE, FALSE, id);
    return code_of(*ret_process != NULL);
}

static uint32_t await_process(void *process, uint32_t timeout_ms)
{
    DWORD result = WaitForSingleObject(process, timeout_ms);
    return result == WAIT_FAILED ? GetLastError() : result;
}

static void close_process(void *process)
{
    CloseHandle(process);
}

void service_manager_load(struct service_api *api)
{
    api->connect = connect_manager;
    api->create = create;
    api->change = change;
    api->open = open_service;
    api->configure = configure;
    api->start = start;
    api->stop = stop;
    api->reload = reload;
    api->remove = remove_service;
    api->query = query;
    api->query_config = query_config;
    api->await = await_change;
    api->close = close_handle;
    api->open_process = open_process;
    api->await_process = await_process;
    api->close_process = close_process;
    api->now_ns = plat_monotonic_ns;
}
